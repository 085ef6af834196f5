"""The side that kernels run on, chosen once at the edge.

`backend.step("readwarp.align.seed")` is that step's module for this side (`cpu` or `cuda`: same names, same argument
order); `to_device` and `to_host` move the arrays of one of the types in `batches`, and are the only things that do.
A step without a `cuda.py` runs on the host on either side.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from readwarp.errors import DeviceError, UsageError

T = TypeVar("T")
OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


@dataclass(frozen=True, slots=True)
class Backend:
    name: str  # cpu | cuda
    devices: tuple[int, ...] = ()

    def step(self, package: str) -> ModuleType:
        """The step's kernels for this side, or its host ones where it has no other."""
        side = self.name if find_spec(f"{package}.{self.name}") else "cpu"
        return import_module(f"{package}.{side}")

    def device_of(self, worker: int) -> int:
        """The device that a worker's batches run on; workers take turns. 0 on the CPU."""
        return self.devices[worker % len(self.devices)] if self.devices else 0

    def bind(self, device: int) -> None:
        """Make `device` the one that the calling thread uses from here on."""
        if self.name == "cuda":
            from readwarp.device.jit import cuda

            cuda.select_device(device)

    def free_memory(self, share: float) -> int | None:
        """That share of the free bytes of the card with the least; None on the CPU and in the simulator."""
        if self.name == "cpu" or is_simulated():
            return None
        from readwarp.device.jit import cuda

        free = []
        for device in self.devices:
            with cuda.gpus[device]:
                free.append(cuda.current_context().get_memory_info()[0])
        return int(share * min(free))

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether the error says that the card is full, so that half a batch may still fit."""
        return self.name == "cuda" and getattr(error, "code", None) == OUT_OF_MEMORY

    def frame(self) -> AbstractContextManager[object]:
        """Device memory that the calling thread takes inside is given back at the end; nothing on the CPU."""
        if self.name == "cpu":
            return nullcontext()
        from readwarp.device import memory

        return memory.current().frame()

    def resident(self, value: T) -> T:
        """The same value with its arrays on the current device to stay, shared by all threads."""
        if self.name == "cpu":
            return value
        from readwarp.device.jit import cuda

        return _mapped(value, cuda.to_device)

    def to_device(self, value: T, *names: str) -> T:
        """The same value with its arrays (those of these names; none: all) in the calling thread's workspace.

        The value itself on the CPU.
        """
        if self.name == "cpu":
            return value
        from readwarp.device import memory

        return _mapped(value, memory.current().upload, names)

    def to_host(self, value: T) -> T:
        """The same value with its device arrays on the host, all of them brought there at once."""
        if self.name == "cpu":
            return value
        from readwarp.device import memory

        return _downloaded(value, memory.current().download)


def _mapped(value: Any, move: Callable[[np.ndarray], Any], names: tuple[str, ...] = ()) -> Any:
    """The value with its host arrays moved: those of these names, or all."""
    arrays = {f.name: array for f in fields(value) if isinstance(array := getattr(value, f.name), np.ndarray)}
    return replace(value, **{name: move(array) for name, array in arrays.items() if not names or name in names})


def _downloaded(value: Any, download: Callable[..., tuple[np.ndarray, ...]]) -> Any:
    there = {f.name: array for f in fields(value) if hasattr(array := getattr(value, f.name), "copy_to_host")}
    return replace(value, **dict(zip(there, download(*there.values()), strict=True)))


def choose(device: str) -> Backend:
    """auto | cpu | cuda | cuda:0,1 -> Backend. auto takes the GPU when one works. Raises UsageError, DeviceError."""
    if device == "cpu":
        return Backend("cpu")
    kind, _, numbers = device.partition(":")
    if kind == "auto" and not numbers:
        return Backend("cpu") if is_simulated() or unusable() else Backend("cuda", (0,))
    wanted = numbers.split(",") if numbers else ["0"]
    if kind != "cuda" or device.endswith(":") or not all(n.isdecimal() for n in wanted):
        raise UsageError(f"--device {device}: not one of auto, cpu, cuda, cuda:0,1")
    return _cuda(device, tuple(dict.fromkeys(map(int, wanted))))


def _cuda(asked: str, wanted: tuple[int, ...]) -> Backend:
    reason = unusable()
    if reason:
        raise DeviceError(f"--device {asked}: {reason}")
    from readwarp.device.jit import cuda

    present = len(cuda.gpus)
    missing = [n for n in wanted if n >= present]
    if missing:
        raise DeviceError(f"--device {asked}: no device {missing[0]}; this machine shows {present}")
    return Backend("cuda", wanted)


def unusable() -> str | None:
    """Why CUDA cannot be used here, or None. Under the simulator (NUMBA_ENABLE_CUDASIM=1) it can."""
    try:
        from readwarp.device.jit import cuda

        return None if cuda.is_available() else "no CUDA driver or no device was found (see `readwarp doctor`)"
    except Exception as error:  # a broken driver raises many kinds
        return f"CUDA cannot be loaded ({error})"


def is_simulated() -> bool:
    """Whether Numba's CUDA simulator stands in for a card; `auto` never takes it."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
