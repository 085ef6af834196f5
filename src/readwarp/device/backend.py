"""The side that kernels run on, chosen once at the edge.

`backend.step("readwarp.align.seed")` is that step's module for this side (`cpu` or `cuda`: same names, same argument
order); `to_device` and `to_host` move the arrays of one of the types in `batches`, and are the only things that do.
A step without a `cuda.py` runs on the host on either side.
"""

from dataclasses import dataclass, fields, replace
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from readwarp.errors import DeviceError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Backend:
    name: str  # cpu | cuda
    devices: tuple[int, ...] = ()

    def step(self, package: str) -> ModuleType:
        """The step's kernels for this side, or its host ones where it has no other."""
        side = self.name if find_spec(f"{package}.{self.name}") else "cpu"
        return import_module(f"{package}.{side}")

    def to_device(self, value: T) -> T:
        """The same value with its arrays on the device (the value itself on the CPU)."""
        if self.name == "cpu":
            return value
        from readwarp.device.jit import cuda

        return _mapped(value, lambda x: cuda.to_device(x) if isinstance(x, np.ndarray) else x)

    def to_host(self, value: T) -> T:
        if self.name == "cpu":
            return value
        return _mapped(value, lambda x: x.copy_to_host() if hasattr(x, "copy_to_host") else x)


def _mapped(value: Any, move: Any) -> Any:
    return replace(value, **{f.name: move(getattr(value, f.name)) for f in fields(value)})


def choose(device: str) -> Backend:
    """auto | cpu | cuda | cuda:0,1 -> Backend. auto takes the GPU when one works. Raises DeviceError."""
    if device == "cpu":
        return Backend("cpu")
    kind, _, numbers = device.partition(":")
    if kind not in ("auto", "cuda") or (numbers and (kind == "auto" or not all(n.isdigit() for n in numbers.split(",")))):
        raise DeviceError(f"--device {device}: not one of auto, cpu, cuda, cuda:0,1")
    reason = unusable()
    if reason:
        if kind == "auto":
            return Backend("cpu")
        raise DeviceError(f"--device {device}: {reason}")
    from readwarp.device.jit import cuda

    present = len(cuda.gpus)
    wanted = tuple(int(n) for n in numbers.split(",")) if numbers else (0,)
    missing = [n for n in wanted if n >= present]
    if missing:
        raise DeviceError(f"--device {device}: no device {missing[0]}; this machine shows {present}")
    return Backend("cuda", wanted)


def unusable() -> str | None:
    """Why CUDA cannot be used here, or None. Under the simulator (NUMBA_ENABLE_CUDASIM=1) it can."""
    try:
        from readwarp.device.jit import cuda

        return None if cuda.is_available() else "no CUDA driver or no device was found (see `readwarp doctor`)"
    except Exception as error:  # a broken driver raises many kinds
        return f"CUDA cannot be loaded ({error})"
