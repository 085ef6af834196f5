"""The CUDA driver, through NVIDIA's cuda.bindings: contexts, memory, copies, streams, events and kernels.

Contexts are the primary ones, which other libraries share. Memory, streams and events end with their objects, in the
context of their card; after `keep`, nothing does. Source: CUDA Driver API, NVIDIA.
"""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from cuda.bindings import driver

from readwarp.compiler.machine_code import MachineCode
from readwarp.device.driver import MAJOR, MINOR
from readwarp.device.failure import CudaAPIError, drop_errors

SLEEP = driver.CUctx_flags.CU_CTX_SCHED_BLOCKING_SYNC  # of threads that wait; by default they take cores from the host
NO_BINARY = "CUDA_ERROR_NO_BINARY_FOR_GPU"
_contexts: dict[int, Any] = {}  # by device; retained until the process ends
_lock = threading.Lock()
_is_kept = False


def call(function: Any, *arguments: Any) -> Any:
    """Call a function of the driver and return what it gives. Raises CudaAPIError."""
    code, *results = function(*arguments)
    if code:
        raise CudaAPIError(f"Call to {function.__name__} results in {code.name}")
    return results[0] if len(results) == 1 else results


copy_up = partial(call, driver.cuMemcpyHtoDAsync)  # (address there, pinned address here, bytes, stream)
copy_down = partial(call, driver.cuMemcpyDtoHAsync)  # (pinned address here, address there, bytes, stream)
fill = partial(call, driver.cuMemcpyHtoD)  # (address there, address here, bytes)
wait_for = partial(call, driver.cuStreamSynchronize)  # (stream)


def _enter(device: int) -> None:
    with _lock:
        if device not in _contexts:
            call(driver.cuInit, 0)
            handle = call(driver.cuDeviceGet, device)
            driver.cuDevicePrimaryCtxSetFlags(handle, SLEEP)  # which the driver may refuse
            _contexts[device] = call(driver.cuDevicePrimaryCtxRetain, handle)
    call(driver.cuCtxPushCurrent, _contexts[device])


@contextmanager
def on(device: int) -> Iterator[None]:
    """Make a device the thread's current one within the block."""
    _enter(device)
    try:
        yield
    finally:
        call(driver.cuCtxPopCurrent)


def current_device() -> int:
    """Return the thread's current device: the first one, if it has had none."""
    code, device = driver.cuCtxGetDevice()
    if code:
        _enter(0)
        device = call(driver.cuCtxGetDevice)
    return int(device)


def memory_info() -> tuple[int, int]:
    """Return the free bytes of the thread's current device, and all."""
    current_device()  # the thread may have no context yet
    free, total = call(driver.cuMemGetInfo)
    return free, total


def capability_of(device: int) -> tuple[int, int]:
    """Return the compute capability of a device."""
    handle = call(driver.cuDeviceGet, device)
    major, minor = (
        call(driver.cuDeviceGetAttribute, driver.CUdevice_attribute(each), handle) for each in (MAJOR, MINOR)
    )
    return major, minor


class CardObject:
    """Something that the driver has made on the current device, by its handle."""

    def __init__(self, make: Any, end: Any, *arguments: Any) -> None:
        self.device, self._end = current_device(), end
        self.handle = int(call(make, *arguments))

    def free(self) -> None:
        """End it now, once. Errors of a card that has failed are ignored: the reason is known by then."""
        handle, self.handle = self.handle, 0
        if handle and not _is_kept:
            with drop_errors(), on(self.device):
                call(self._end, handle)

    def __del__(self) -> None:
        if "handle" in vars(self):
            self.free()


class Stream(CardObject):
    """A queue of work on a device."""

    def __init__(self) -> None:
        super().__init__(driver.cuStreamCreate, driver.cuStreamDestroy, 0)

    def synchronize(self) -> None:
        wait_for(self.handle)


class Event(CardObject):
    """A point in time on a stream."""

    def __init__(self) -> None:
        super().__init__(driver.cuEventCreate, driver.cuEventDestroy, 0)

    def record(self, stream: Stream) -> None:
        call(driver.cuEventRecord, self.handle, stream.handle)

    def elapsed_time(self, later: "Event") -> float:
        """Return the milliseconds from this event to a later one."""
        return float(call(driver.cuEventElapsedTime, self.handle, later.handle))


class Memory(CardObject):
    """Bytes of a device."""

    def __init__(self, nbytes: int) -> None:
        super().__init__(driver.cuMemAlloc, driver.cuMemFree, nbytes)


class Pinned(CardObject):
    """Host bytes that a card can copy from and to."""

    def __init__(self, nbytes: int) -> None:
        super().__init__(driver.cuMemHostAlloc, driver.cuMemFreeHost, nbytes, 0)
        self.array = np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(self.handle))


def copy_back(host: int, there: int, nbytes: int) -> None:
    """Copy bytes of a card to any on the host, after all earlier work of the card."""
    current_device()  # the caller's thread may have no context yet
    call(driver.cuCtxSynchronize)
    call(driver.cuMemcpyDtoH, host, there, nbytes)


def keep() -> None:
    """Free nothing from here on: the process is ending, and threads that nobody waits for may still use it."""
    global _is_kept
    _is_kept = True


def load(code: MachineCode) -> int:
    """Load a kernel for all cards and return its handle; the driver compiles its PTX if it refuses the machine code.

    code: of `cuda_jit.compile_kernel`. A kernel stays loaded until the process ends.
    """
    ptx, _, binary = code.object_code.partition(b"\0")
    others: tuple[Any, ...] = [], [], 0, [], [], 0
    try:
        library = call(driver.cuLibraryLoadData, binary, *others)
    except CudaAPIError as error:
        if NO_BINARY not in str(error):
            raise
        library = call(driver.cuLibraryLoadData, ptx + b"\0", *others)
    return int(call(driver.cuLibraryGetKernel, library, code.symbol.encode()))


def launch(kernel: int, blocks: int, threads: int, stream: int, parameters: int) -> None:
    """Launch a kernel on a stream. parameters: the address of their addresses."""
    call(driver.cuLaunchKernel, kernel, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, 0)
