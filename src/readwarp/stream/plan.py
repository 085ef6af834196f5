"""Memory arithmetic: how large a batch may be, and how many may be in flight, before anything is allocated.

On the host

    bytes = fixed + workers * (fixed per worker + (work per base) * batch) + in_flight * (held per base) * batch

and on each card, where a batch in flight has a workspace of its own (readwarp.device.memory),

    bytes = reference + seeds, if they are looked up there + workspaces * capacity(batch)

Everything a batch brings is expressed per read base: reads, candidates and DP cells come with the bases at the rates of
`Shape`. Pure functions of numbers; the batch size never changes the output.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from readwarp.errors import MemoryBudgetError

FREE_SHARE = 0.8  # of the free memory of the host or of a card, when no budget is given
SMALLEST_BATCH = 1 << 18  # bases: below this, calls cost more than kernels
USUAL_BATCH = 1 << 22
AHEAD = 2  # batches the reader may hold (readwarp.stream.runner)
IN_FLIGHT = 3  # batches of a card: one is uploaded, one computed, one downloaded
LEAST_ON_CARD = 1 << 16  # bases: what any workspace has room for (the sample that compiles the kernels is smaller)


@dataclass(frozen=True, slots=True)
class Shape:
    """What comes with a read base."""

    read_length: float = 150.0
    candidates_per_read: float = 3.0
    cells_per_candidate: float = 0.0  # DP cells that are stored (traceback), not those that are computed


@dataclass(frozen=True, slots=True)
class Costs:
    """Bytes: once, and per unit while a batch is worked on (work) or waits (held)."""

    fixed: int
    fixed_per_worker: int = 0
    work_per_read: float = 0.0
    work_per_base: float = 0.0
    work_per_candidate: float = 0.0
    work_per_cell: float = 0.0
    held_per_read: float = 0.0
    held_per_base: float = 0.0

    def work(self, shape: Shape) -> float:
        """Bytes per base in a worker."""
        per_candidate = self.work_per_candidate + shape.cells_per_candidate * self.work_per_cell
        return self.work_per_base + (self.work_per_read + shape.candidates_per_read * per_candidate) / shape.read_length

    def held(self, shape: Shape) -> float:
        """Bytes per base that waits to be worked on or written."""
        return self.held_per_base + self.held_per_read / shape.read_length


@dataclass(frozen=True, slots=True)
class Plan:
    batch_bases: int
    workers: int
    in_flight: int
    peak_bytes: int  # what the arithmetic expects at most


def plan(
    budget: int, costs: Costs, shape: Shape, threads: int, batch_bases: int | None = None, option: str = "--memory"
) -> Plan:
    """The plan with the largest useful batches that the budget of bytes allows; fewer workers where it allows no more.

    `batch_bases` is the user's bound. Raises MemoryBudgetError, which states the minimum, when one worker does not fit.
    """
    wanted = batch_bases or USUAL_BATCH
    smallest = min(wanted, SMALLEST_BATCH)
    for workers in range(threads, 0, -1):
        in_flight = workers + (workers + 1) // 2 + 1
        per_base = workers * costs.work(shape) + (in_flight + AHEAD) * costs.held(shape)
        fixed = costs.fixed + workers * costs.fixed_per_worker
        fits = int((budget - fixed) / per_base)
        if fits >= smallest:
            bases = min(wanted, fits)
            return Plan(bases, workers, in_flight, fixed + int(bases * per_base))
    minimum = fixed + int(smallest * per_base) + 1
    need = f"one batch needs {readable(minimum)}, {readable(fixed)} of it for the index and the program"
    raise MemoryBudgetError(f"{option} {readable(budget)} is too small: {need}")


class Capacity(Protocol):
    """Bytes of a workspace, by read bases of a batch and whether it is seeded on the card."""

    def __call__(self, bases: int, seeded: bool) -> int: ...


@dataclass(frozen=True, slots=True)
class Card:
    """What lies on a card besides batches, and what a batch takes there. Bytes."""

    reference: int  # its bases, which extension needs
    seeds: int  # the rest of the index: on the card where there is room, else looked up on the host
    capacity: Capacity  # of a workspace


@dataclass(frozen=True, slots=True)
class CardPlan:
    """What each card is given; all of it is allocated before the first item of work."""

    workspaces: int
    capacity: int  # bytes of a workspace
    index_bytes: int = 0  # of what lies there for all items
    batch_bases: int = 0  # of batches of reads
    seeding: str = "cuda"  # where seeds are looked up: cuda | cpu

    @property
    def device_bytes(self) -> int:
        return self.index_bytes + self.workspaces * self.capacity


def plan_card(budget: int, card: Card, workspaces: int, batch_bases: int) -> CardPlan:
    """Batches of at most so many bases, in at most so many workspaces, within the budget of bytes.

    Seeds go to the card where IN_FLIGHT batches of SMALLEST_BATCH fit beside them. Where memory is short, there are
    fewer workspaces down to IN_FLIGHT, then smaller batches down to SMALLEST_BATCH, then fewer workspaces, then batches
    down to LEAST_ON_CARD, for which each workspace has room. Raises MemoryBudgetError, which states the minimum.
    """
    few = min(workspaces, IN_FLIGHT)
    counts = range(workspaces, few, -1)
    tries = [*((True, n, USUAL_BATCH) for n in counts), (True, few, SMALLEST_BATCH)]
    tries += [*((False, n, USUAL_BATCH) for n in counts), *((False, n, SMALLEST_BATCH) for n in range(few, 0, -1))]
    for seeded, number, enough in [*tries, (False, 1, LEAST_ON_CARD)]:
        index = card.reference + seeded * card.seeds
        size, room = partial(card.capacity, seeded=seeded), (budget - index) // number
        most = max(batch_bases, LEAST_ON_CARD)
        enough = min(enough, most)
        if size(enough) <= room:
            bases = largest(size, room, enough, most)
            return CardPlan(number, size(bases), index, min(bases, batch_bases), "cuda" if seeded else "cpu")
    least = least_bytes(card)
    need = f"one batch needs {readable(least)}, {readable(card.reference)} of it for the reference"
    raise MemoryBudgetError(f"--vram {readable(max(0, budget))} is too small: {need}")


def workers_of(threads: int, cards: int) -> int:
    """Threads that have a batch in hand: those asked for, and enough of them to keep each card busy."""
    return max(threads, IN_FLIGHT * cards)


def share_card(budget: int, wanted: int, usual: int, least: int) -> CardPlan:
    """Workspaces whose use of memory follows from what they are given, not from a plan.

    `wanted` of them with `usual` bytes; with fewer bytes down to `least`, then fewer. Raises MemoryBudgetError.
    """
    if budget < least:
        raise MemoryBudgetError(f"--vram {readable(max(0, budget))} is too small: {readable(least)} are needed")
    capacity = min(usual, max(least, budget // wanted))
    return CardPlan(min(wanted, budget // capacity), capacity)


def least_bytes(card: Card) -> int:
    """Of a card, with which it can be used at all."""
    return card.reference + card.capacity(LEAST_ON_CARD, False)


def largest(size: Callable[[int], int], room: int, enough: int, most: int) -> int:
    """The largest number from `enough`, which fits, to `most` whose size, which grows with it, fits the room."""
    low, high = enough, most
    while low < high:
        middle = (low + high + 1) // 2
        if size(middle) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def readable(number: int) -> str:
    """Bytes in the units that options take, rounded up so that the figure can be passed back."""
    for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if number >= unit:
            tenths = -(-number * 10 // unit)
            return f"{tenths // 10}.{tenths % 10}{letter}" if tenths % 10 else f"{tenths // 10}{letter}"
    return str(number)
