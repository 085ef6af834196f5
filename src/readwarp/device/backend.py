"""The side that kernels run on, CPU or CUDA; a job chooses it once.

`backend.step("readwarp.align.seed")` is the step's module for this side (`cpu` or `cuda`: same names, same argument
order). Only `to_device` brings the arrays of a batch to a card.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from readwarp.device import failure
from readwarp.device.card_array import CardArray
from readwarp.device.claims import Claim, claim
from readwarp.device.driver import Device, let_waiting_threads_sleep, read_driver
from readwarp.errors import DeviceError, UsageError
from readwarp.ragged import columns_of, replace

T = TypeVar("T")
UNKNOWN = Device("GPU", (0, 0), 0, None)


@dataclass(frozen=True, slots=True)
class Backend:
    name: str  # cpu | cuda
    devices: tuple[int, ...] = ()

    def step(self, package: str) -> ModuleType:
        """The step's kernels for this side."""
        return import_module(f"{package}.{self.name}")

    @contextmanager
    def on(self, device: int | None = None) -> Iterator[None]:
        """Inside, the calling thread works on this device (None: the first), and CUDA errors name it.

        Does nothing on the CPU.
        """
        if self.name == "cpu":
            yield
            return
        device = self.devices[0] if device is None else device
        from readwarp.device import freeing
        from readwarp.device.jit import cuda

        with failure.translate_errors(f"cuda:{device} ({describe(device).name})"), cuda.gpus[device]:
            freeing.prepare(device)
            yield

    def free_memory(self, share: float) -> int:
        """That share of the free bytes of the card that has the fewest. Not for the CPU."""
        from readwarp.device.jit import cuda

        free = []
        for device in self.devices:
            with self.on(device):
                free.append(cuda.current_context().get_memory_info()[0])
        return int(share * min(free))

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether the error says that the card is full, so that half a batch may still fit."""
        return self.name == "cuda" and failure.is_out_of_memory(error)

    @contextmanager
    def as_far_as_it_fits(self) -> Iterator[None]:
        """Inside is work that may end early: it stops without an error where the card is full."""
        try:
            yield
        except Exception as error:
            if not self.is_out_of_memory(error):
                raise

    def frame(self) -> AbstractContextManager[object]:
        """Device memory that the calling thread takes inside is returned at the end. Does nothing on the CPU."""
        if self.name == "cpu":
            return nullcontext()
        from readwarp.device import memory

        return memory.current().frame()

    def resident(self, value: T) -> T:
        """The same value with its arrays on the current device, where they stay for all threads."""
        if self.name == "cpu":
            return value
        from readwarp.device.jit import cuda

        return _map_arrays(value, lambda arrays: [CardArray.of(cuda.to_device(array)) for array in arrays])

    def release(self, device: int, value: object) -> None:
        """Free the arrays of a value that `resident` returned on this device; no thread may use it any more."""
        if self.name == "cpu":
            return
        from readwarp.device import freeing

        freeing.free(device, _find_arrays(value))

    def to_device(self, value: T, *names: str) -> T:
        """The same value with its arrays (those of these names, or all) in the calling thread's workspace.

        On the CPU, the value itself.
        """
        if self.name == "cpu":
            return value
        from readwarp.device import memory

        return _map_arrays(value, lambda arrays: memory.current().on_card(tuple(arrays)), names)

    def to_host(self, value: T) -> T:
        """The same value with its device arrays on the host, all copied in one go."""
        if self.name == "cpu":
            return value
        from readwarp.device import memory

        there = {name: array for name, array in columns_of(value).items() if isinstance(array, CardArray)}
        here = memory.current().download(*there.values())
        return replace(value, **dict(zip(there, here, strict=True)))


def _map_arrays(value: T, move: Callable[[list[np.ndarray]], Sequence[Any]], names: tuple[str, ...] = ()) -> T:
    """The value with its host arrays moved together: those of these names, or all."""
    found = {name: array for name, array in columns_of(value).items() if isinstance(array, np.ndarray)}
    found = {name: array for name, array in found.items() if not names or name in names}
    return replace(value, **dict(zip(found, move(list(found.values())), strict=True)))


def _find_arrays(value: object) -> Iterator[CardArray]:
    """The arrays on a card in a value and in its parts, each once."""
    found: dict[int, CardArray] = {}
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, CardArray):
            found[id(part)] = part
        elif is_dataclass(part) or hasattr(part, "_asdict"):
            waiting += columns_of(part).values()
    yield from found.values()


def choose(device: str) -> Backend:
    """auto | cpu | cuda | cuda:0,1 -> Backend. Raises UsageError, DeviceError.

    auto takes a GPU if one works. auto and cuda take one that no other process uses (`readwarp.device.claims`), and
    warn if all are in use.
    """
    if device == "cpu":
        return Backend("cpu")
    kind, _, numbers = device.partition(":")
    if kind == "auto" and not numbers:
        return Backend("cpu") if unusable() else _cuda(device, ())
    wanted = numbers.split(",") if numbers else []
    if kind != "cuda" or device.endswith(":") or not all(n.isdecimal() for n in wanted):
        raise UsageError(f"--device {device}: not one of auto, cpu, cuda, cuda:0,1")
    return _cuda(device, tuple(dict.fromkeys(map(int, wanted))))


def _cuda(asked: str, wanted: tuple[int, ...]) -> Backend:
    """These devices; the least used one where none is named."""
    reason = unusable()
    if reason:
        raise DeviceError(f"--device {asked}: {reason}")
    from readwarp.device.jit import cuda

    present = len(cuda.gpus)
    missing = [n for n in wanted if n >= present]
    if missing:
        raise DeviceError(f"--device {asked}: no device {missing[0]}; this machine shows {present}")
    devices = tuple(take_device(device) for device in wanted) or (take_device(None),)
    for device in devices:
        let_waiting_threads_sleep(device)
    return Backend("cuda", devices)


_claims: dict[int, Claim | None] = {}  # of this process, until its end


def take_device(wanted: int | None) -> int:
    """The device wanted, else the one this process has, else the least used one. A lock tells other processes."""
    if wanted in _claims or (wanted is None and _claims):
        return next(iter(_claims)) if wanted is None else wanted
    uuids = [device.uuid for device in devices()]
    made = claim(uuids if wanted is None else uuids[wanted : wanted + 1])
    if wanted is None and made and made.others:
        text = "every GPU is in use: sharing cuda:%d with %d other processes"
        logging.getLogger("readwarp").warning(text, made.card, made.others)
    device = wanted if wanted is not None else made.card if made else 0
    _claims[device] = made
    return device


@cache
def devices() -> tuple[Device, ...]:
    """The devices that the driver shows to this process; none without a driver."""
    driver = read_driver()
    return () if isinstance(driver, str) else driver.devices


def describe(device: int) -> Device:
    return devices()[device] if device < len(devices()) else UNKNOWN


def unusable() -> str | None:
    """Why CUDA cannot be used here, or None. The driver is asked first: importing numba.cuda takes a quarter second."""
    try:
        if devices():
            from readwarp.device.jit import cuda

            if cuda.is_available():
                return None
        return "no CUDA driver or no device was found (see `readwarp doctor`)"
    except Exception as error:  # a broken driver raises many kinds
        return f"CUDA cannot be loaded ({error})"
