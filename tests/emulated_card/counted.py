"""Executions and memory accesses of launches, counted while the check "accesses" is on (accesses.c)."""

import ctypes
from dataclasses import dataclass

import numpy as np

from emulated_card.control import driver
from emulated_card.kernels import Kernel, texts

KINDS = ("read", "write", "atomic")
MOST = 256  # taken at once


@dataclass(frozen=True, slots=True)
class Traffic:
    """Accesses to global memory of one kind."""

    requests: int  # by warps
    threads: int
    lines: int  # of 128 bytes, summed over requests
    sectors: int  # of 32 bytes, likewise
    of_blocks: int  # sectors that a block touches for the first time, summed
    of_launch: int  # sectors that the launch touches for the first time


@dataclass(frozen=True, slots=True)
class Launched:
    """One launch."""

    kernel: str  # its mangled name
    text: str  # its PTX
    grid: tuple[int, ...]
    block: tuple[int, ...]
    dynamic_shared: int  # bytes
    number: int  # of all launches, in the order of the calls
    traffic: dict[str, Traffic]  # by KINDS
    shared_requests: int  # by warps
    shared_passes: int
    shared_least: int  # passes if no bank had two words
    local_requests: int
    local_sectors: int
    counts: np.ndarray  # int64 [basic blocks, 2]: executions by warps, by threads
    slowest: np.ndarray  # likewise, of the block of threads that has most of them


class _Traffic(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in Traffic.__slots__]


class _Counted(ctypes.Structure):
    """See accesses.c."""

    _fields_ = [
        ("kernel", ctypes.POINTER(Kernel)), ("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3),
        ("dynamic_shared", ctypes.c_uint32), ("card", ctypes.c_uint32), ("number", ctypes.c_uint64),
        ("traffic", _Traffic * 3),
        *((name, ctypes.c_uint64) for name in ("shared_requests", "shared_passes", "shared_least")),
        *((name, ctypes.c_uint64) for name in ("local_requests", "local_sectors")),
        ("counts", ctypes.POINTER(ctypes.c_uint64)), ("slowest", ctypes.POINTER(ctypes.c_uint64)),
    ]  # fmt: skip


def take_launches() -> list[Launched]:
    """The launches that have ended since the last call of this, each once, in the order of the calls."""
    found, some = [], (_Counted * MOST)()
    while number := driver().card_take_counted(some, ctypes.c_uint64(MOST)):
        for one in some[:number]:
            found.append(_launched(one))
            driver().card_free_counted(ctypes.byref(one))
    return sorted(found, key=lambda each: each.number)


def _launched(one: _Counted) -> Launched:
    kernel = one.kernel.contents
    memory = ("shared_requests", "shared_passes", "shared_least", "local_requests", "local_sectors")
    kinds = zip(KINDS, one.traffic, strict=True)
    return Launched(
        kernel.name.decode(), texts[ctypes.addressof(kernel)], tuple(one.grid), tuple(one.block), one.dynamic_shared,
        one.number, {kind: Traffic(*(getattr(each, name) for name in Traffic.__slots__)) for kind, each in kinds},
        *(getattr(one, name) for name in memory),
        *(_copied(counts, kernel.blocks) for counts in (one.counts, one.slowest)),
    )  # fmt: skip


def _copied(counts: "ctypes._Pointer[ctypes.c_uint64]", blocks: int) -> np.ndarray:
    return np.ctypeslib.as_array(counts, (blocks, 2)).astype(np.int64)
