"""Named cards as data, and the cells per second that their pipes allow a loop.

cards.csv: multiprocessors, boost clock and memory. lanes.csv: threads whose instruction a multiprocessor's pipe takes
per clock, from "Throughput of Native Arithmetic Instructions" in the CUDA C++ Programming Guide (results per clock; a
half2 instruction gives two). alu is 32-bit compare, minimum, maximum and logic; imad 32-bit multiply-add, on one half
of the FMA pipe; half_is_fma: whether half2 takes the FMA pipe too (Nsight Compute's metrics guide: it has a pipe of its
own up to 8.0). Memory is shuffles and shared memory; issue is four schedulers with 32 lanes. latencies.csv: clocks
until a result can be used, of shared memory, and of global memory by the level that has it.

Each row names its source. None of these documents could be opened when the rows were written, so look up any figure
that matters; what they do not say is called assumed.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
ALONE = ("alu", "imad", "half", "fp64", "special", "memory")


@dataclass(frozen=True, slots=True)
class Card:
    name: str
    capability: int
    multiprocessors: int
    clock: float  # GHz
    bandwidth: float  # GB/s
    l2_bytes: int
    l2_bytes_per_clock: int


@cache
def cards() -> tuple[Card, ...]:
    return tuple(
        Card(row["card"], int(row["capability"]), int(row["multiprocessors"]), float(row["clock_ghz"]),
             float(row["bandwidth_gb_s"]), int(row["l2_mb"]) << 20, int(row["l2_bytes_per_clock"]))
        for row in _rows("cards.csv")
    )  # fmt: skip


@cache
def lanes(capability: int) -> dict[str, int]:
    """Threads per clock and multiprocessor, by pipe."""
    return _numbers("lanes.csv", capability)


def latencies(capability: int) -> dict[str, int]:
    """Clocks until an instruction's result can be used, by its kind; `wide` is FP64."""
    return _numbers("latencies.csv", capability)


def clocks(counts: dict[str, float], capability: int) -> tuple[float, str]:
    """The minimum of a multiprocessor's clocks that a thread's instructions take, and the pipe that sets it."""
    rates = lanes(capability)
    needs = {pipe: counts[pipe] / rates[pipe] for pipe in ALONE}
    shared = counts["half"] if rates["half_is_fma"] else 0.0
    needs["fma"] = (counts["fma"] + counts["imad"] + shared) / rates["fma"]
    needs["issue"] = sum(counts.values()) / rates["issue"]
    pipe = max(needs, key=lambda each: needs[each])
    return needs[pipe], pipe


def bound(card: Card, counts: dict[str, float], packed: int) -> tuple[float, str]:
    """10^9 cells per second when `counts` instructions compute `packed` cells, and the pipe that sets it."""
    needed, pipe = clocks(counts, card.capability)
    return card.multiprocessors * card.clock * packed / needed, pipe


@cache
def _numbers(name: str, capability: int) -> dict[str, int]:
    found = (row for row in _rows(name) if int(row["capability"]) == capability)
    return {column: int(value) for column, value in next(found).items() if column != "source"}


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (HERE / name).open(newline="") as file:
        yield from csv.DictReader(file)
