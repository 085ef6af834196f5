"""The CUDA driver through its C interface, which works without any CUDA package.

Sources: CUDA Driver API (cuInit, cuDriverGetVersion, cuDeviceGetAttribute) and NVML reference manuals, NVIDIA. All that
needs a context is in `cuda_driver`.
"""

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
MULTIPROCESSORS, KILOHERTZ = 16, 13  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CLOCK_RATE
MIN_CUDA, MIN_CAPABILITY = 12, (7, 5)  # needed by our kernels: CUDA version of the driver, compute capability of a card
NVIDIA_VENDOR = "0x10de"


@dataclass(frozen=True, slots=True)
class Device:
    name: str
    compute_capability: tuple[int, int]
    memory: int  # bytes
    free: int | None  # bytes; None if NVML does not say
    uuid: str = ""  # of the card or its visible part (MIG)
    bus: str = ""  # PCI address, by which NVML identifies it
    speed: float = 0.0  # clocks per second of all multiprocessors; 0 if the driver does not say


@dataclass(frozen=True, slots=True)
class Driver:
    cuda: tuple[int, int]  # newest supported CUDA version
    version: str | None
    devices: tuple[Device, ...]


def is_able(device: Device) -> bool:
    """Return whether our kernels can be compiled for the device."""
    return device.compute_capability >= MIN_CAPABILITY


def read_driver() -> Driver | str:
    """Return the driver and the devices that this process sees, or the reason why there is none."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "an NVIDIA card without a driver" if has_card() else "no NVIDIA driver (libcuda.so.1)"
    code = cuda.cuInit(0)
    version = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    supported = version.value // 1000, version.value % 1000 // 10
    if code:
        return f"the driver (CUDA {supported[0]}.{supported[1]}) shows no usable device (cuInit: error {code})"
    number = ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(number))
    return Driver(supported, _driver_version(), tuple(_device(cuda, ordinal) for ordinal in range(number.value)))


@cache
def has_card() -> bool:
    """Return whether the machine has an NVIDIA card, with or without a driver."""
    vendors = Path("/sys/bus/pci/devices").glob("*/vendor")
    displays = (v for v in vendors if v.with_name("class").read_text().startswith("0x03"))
    return any(v.read_text().strip() == NVIDIA_VENDOR for v in displays)


def energy(bus: str) -> float | None:
    """Return the joules used by the whole card since the driver was loaded (Volta or newer); None if NVML lacks it."""
    millijoules = ctypes.c_ulonglong()
    is_known = _ask(bus, "nvmlDeviceGetTotalEnergyConsumption", millijoules)
    return millijoules.value / 1000 if is_known else None


def free_memory(bus: str) -> int | None:
    """Return the bytes that all processes leave free on the card at a PCI address; None if NVML does not say."""
    sizes = (ctypes.c_ulonglong * 3)()  # total, free, used
    return int(sizes[1]) if _ask(bus, "nvmlDeviceGetMemoryInfo", sizes) else None


def _device(cuda: ctypes.CDLL, ordinal: int) -> Device:
    from uuid import UUID

    handle, memory = ctypes.c_int(), ctypes.c_size_t()
    name, bus, uuid = (ctypes.create_string_buffer(size) for size in (256, 64, 16))
    cuda.cuDeviceGet(ctypes.byref(handle), ordinal)
    cuda.cuDeviceGetName(name, 256, handle)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), handle)
    cuda.cuDeviceGetPCIBusId(bus, 64, handle)
    cuda.cuDeviceGetUuid_v2(uuid, handle)
    found = []
    for attribute in (MAJOR, MINOR, MULTIPROCESSORS, KILOHERTZ):
        value = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
        found.append(value.value)
    place, identity = bus.value.decode(), str(UUID(bytes=uuid.raw))
    major, minor, multiprocessors, kilohertz = found
    speed, capability = 1e3 * multiprocessors * kilohertz, (major, minor)
    return Device(name.value.decode(), capability, memory.value, free_memory(place), identity, place, speed)


@cache
def _nvml() -> ctypes.CDLL | None:
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return None if nvml.nvmlInit_v2() else nvml


def _driver_version() -> str | None:
    nvml, text = _nvml(), ctypes.create_string_buffer(96)
    return None if nvml is None or nvml.nvmlSystemGetDriverVersion(text, 96) else text.value.decode()


def _ask(bus: str, function: str, answer: Any) -> bool:
    """Return whether that function of NVML has filled in its answer for the card at a PCI address."""
    nvml, handle = _nvml(), ctypes.c_void_p()
    if not bus or nvml is None or nvml.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), ctypes.byref(handle)):
        return False
    return not getattr(nvml, function)(handle, ctypes.byref(answer))
