"""The side that kernels run on, CPU or CUDA, chosen once per job.

`backend.step("readwarp.align.seed")` is the step's module for this side (`cpu` or `cuda`: same names, same argument
order). Only `to_device` brings the arrays of a batch to a card.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from readwarp.compiler import manifest
from readwarp.compiler.levels import Level, card_level
from readwarp.compiler.manifest import ManifestEntry
from readwarp.device import failure
from readwarp.device.card_array import CardArray
from readwarp.device.claims import Claim, claim
from readwarp.device.driver import MIN_CAPABILITY, MIN_CUDA, Device, Driver, has_card, is_able, read_driver
from readwarp.device.lanes import FORMS, form_of
from readwarp.errors import DeviceError, PinnedMemoryError, ReadwarpError, UsageError
from readwarp.ragged import columns_of, replace
from readwarp.wording import printable

T = TypeVar("T")
logger = logging.getLogger("readwarp")
UNKNOWN = Device("GPU", (0, 0), 0, None)


@dataclass(frozen=True, slots=True)
class Backend:
    name: str  # cpu | cuda
    devices: tuple[int, ...] = ()

    def step(self, package: str) -> ModuleType:
        """Return the step's kernels for this side."""
        return import_module(f"{package}.{self.name}")

    def needed_by(self, *commands: str) -> dict[Level, list[ManifestEntry]]:
        """List the kernels that commands need on the devices, for each of their levels; see `compiler.prepare`."""
        capabilities = {describe(device).compute_capability for device in self.devices}
        return {card_level(each): kernels_for(each, *commands) for each in capabilities}

    @contextmanager
    def on(self, device: int | None = None) -> Iterator[None]:
        """Bind the calling thread to this device (None: the first) within the block; CUDA errors name it.

        Does nothing on the CPU.
        """
        if self.name == "cpu":
            yield
            return
        device = self.devices[0] if device is None else device
        from readwarp.device import cuda_driver

        with failure.translate_errors(f"cuda:{device} ({describe(device).name})"), cuda_driver.on(device):
            yield

    def free_memory(self, share: float) -> int:
        """Return that share of the free bytes of the card with the fewest. Not for the CPU."""
        from readwarp.device import cuda_driver

        free = []
        for device in self.devices:
            with self.on(device):
                free.append(cuda_driver.memory_info()[0])
        return int(share * min(free))

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether the error means that the card is full, so that half a batch may still fit."""
        return self.name == "cuda" and failure.is_out_of_memory(error)

    @contextmanager
    def as_far_as_it_fits(self) -> Iterator[None]:
        """Run a block that may end early: it stops without an error where the card is full."""
        try:
            yield
        except Exception as error:
            if not self.is_out_of_memory(error):
                raise

    def frame(self) -> AbstractContextManager[object]:
        """Return, at the block's end, device memory that the calling thread took inside. Does nothing on the CPU."""
        if self.name == "cpu":
            return nullcontext()
        from readwarp.device import memory

        return memory.current().frame()

    def resident(self, value: T) -> T:
        """Copy the arrays of a value to the current device, where they stay for all threads."""
        if self.name == "cpu":
            return value
        from readwarp.device import memory

        found = {name: array for name, array in columns_of(value).items() if isinstance(array, np.ndarray)}
        return replace(value, **dict(zip(found, map(memory.resident, found.values()), strict=True)))

    def release(self, value: object) -> None:
        """Free the arrays of a value that `resident` returned; no thread may still use it."""
        if self.name == "cpu":
            return
        from readwarp.device import memory

        memory.free(_find_arrays(value))

    def to_device(self, value: T, *names: str) -> T:
        """Copy the arrays of a value and its parts (or of these names) to the calling thread's workspace.

        On the CPU, return the value itself.
        """
        if self.name == "cpu":
            return value
        from readwarp.device import memory

        here: Any = tuple(getattr(value, name) for name in names) if names else value
        there = memory.current().on_card(here)
        return replace(value, **dict(zip(names, there, strict=True))) if names else there


def kernels_for(capability: tuple[int, int], *commands: str) -> list[ManifestEntry]:
    """List the kernels that commands need on cards of a compute capability, in its fastest form of lanes."""
    others = {str(form) for form in FORMS if form is not form_of(capability)}
    found = (entry for entry in manifest.entries(manifest.CARD_TABLE) if not entry.commands.isdisjoint(commands))
    return [entry for entry in found if not any(form in entry.kernel for form in others)]


def _find_arrays(value: object) -> Iterator[CardArray]:
    """Yield the card arrays in a value and its parts, each once."""
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
    """Parse auto | cpu | cuda | cuda:0,1. Raises UsageError, DeviceError.

    auto takes a GPU if one works, and warns if there is one that does not. auto and cuda take one that no other process
    uses (`readwarp.device.claims`), and warn if all are in use.
    """
    if device == "cpu":
        return Backend("cpu")
    if device == "auto":
        return _auto()
    kind, _, numbers = device.partition(":")
    wanted = numbers.split(",") if numbers else []
    if kind != "cuda" or device.endswith(":") or not all(n.isdecimal() for n in wanted):
        raise UsageError(f"--device {device}: not one of auto, cpu, cuda, cuda:0,1")
    try:
        return _cuda(tuple(dict.fromkeys(map(int, wanted))))
    except DeviceError as error:
        raise DeviceError(f"--device {device}: {error}") from error


def _auto() -> Backend:
    try:
        return _cuda(())
    except DeviceError as error:
        if devices() or has_card():
            _warn_once(f"there is a GPU, but {error}; continuing on the CPU")
        return Backend("cpu")


@cache
def _warn_once(text: str) -> None:
    logger.warning("%s", text)


def _cuda(wanted: tuple[int, ...]) -> Backend:
    """Take these devices, or the least used one. Raises DeviceError, also if kernels do not run there."""
    if reason := unusable():
        raise DeviceError(reason)
    missing = [n for n in wanted if n >= len(devices())]
    if missing:
        raise DeviceError(f"no device {missing[0]}; this machine shows {len(devices())}")
    taken = tuple(take_device(device) for device in wanted) or (take_device(None),)
    for device in taken:
        if reason := problem_of(device):
            release_devices(taken)
            raise DeviceError(f"cuda:{device} ({describe(device).name}) cannot be used: {reason}")
    return Backend("cuda", taken)


_claims: dict[int, Claim | None] = {}  # of this process, until it ends


def take_device(wanted: int | None) -> int:
    """Take the wanted device, else the one this process has, else the least used one. A lock tells other processes.

    A card too old for our kernels is taken only if it is wanted, or if there is no other.
    """
    if wanted in _claims or (wanted is None and _claims):
        return next(iter(_claims)) if wanted is None else wanted
    able = [n for n, device in enumerate(devices()) if is_able(device)] or range(len(devices()))
    places = able if wanted is None else [wanted]
    made = claim([devices()[place].uuid for place in places])
    device = places[made.card if made else 0]
    if wanted is None and made and made.others:
        text = "every GPU is in use: sharing cuda:%d with %d other processes"
        logger.warning(text, device, made.others)
    _claims[device] = made
    return device


def release_devices(taken: Iterable[int]) -> None:
    """Release the devices to other processes."""
    for device in taken:
        made = _claims.pop(device, None)
        if made:
            made.release()


@cache
def _driver() -> Driver | str:
    return read_driver()


def devices() -> tuple[Device, ...]:
    """Return the devices that the driver shows to this process; none without a driver."""
    driver = _driver()
    return () if isinstance(driver, str) else driver.devices


def describe(device: int) -> Device:
    return devices()[device] if device < len(devices()) else UNKNOWN


def unusable() -> str | None:
    """Explain why no device is usable here, else None, as far as known without importing numba.cuda (a second)."""
    driver = _driver()
    if not devices():
        return driver if isinstance(driver, str) else "the driver shows no device to this process"
    if not isinstance(driver, str) and driver.cuda[0] < MIN_CUDA:
        return f"the driver supports CUDA {driver.cuda[0]}.{driver.cuda[1]} at most, but {MIN_CUDA} is needed"
    return None if find_spec("numba_cuda") else "numba-cuda is not installed"


def problems() -> list[str | None]:
    """Explain why each device cannot be used, or None."""
    return [unusable() or problem_of(device) for device in range(len(devices()))]


@cache
def problem_of(device: int) -> str | None:
    """Explain why kernels do not run on a device, or None; a small kernel is tried, once per process."""
    if not is_able(describe(device)):
        major, minor = describe(device).compute_capability
        return f"its compute capability is {major}.{minor}, but {MIN_CAPABILITY[0]}.{MIN_CAPABILITY[1]} is needed"
    try:
        from readwarp.device import trial

        return None if trial.run(device) else "a small test kernel gave a wrong result"
    except Exception as error:  # numba-cuda and its dependencies raise many kinds
        if failure.is_out_of_memory(error) or isinstance(error, PinnedMemoryError):
            return None  # memory planning reports shortages
        logger.debug("a small kernel on cuda:%d:", device, exc_info=error)
        kind = "" if isinstance(error, ReadwarpError) else f"{type(error).__name__}: "
        return kind + printable(" ".join(str(getattr(error, "msg", error)).split()))
