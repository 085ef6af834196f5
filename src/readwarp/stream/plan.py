"""Memory arithmetic: the size of a batch, and the number in flight, before anything is allocated.

On the host

    bytes = fixed + workers * (fixed per worker + work per base * batch) + in_flight * held per base * batch

and on each card, where each batch in flight has a workspace (readwarp.device.memory),

    bytes = reference + seeds, if they are looked up there + workspaces * capacity(batch)

Batch memory is counted per read base. These are pure functions of numbers; the batch size never changes the output.
"""

from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from readwarp.errors import MemoryBudgetError

FREE_SHARE = 0.8  # of the free memory of the host or a card, without a given budget
MIN_BATCH = 1 << 18  # bases; below this, calls cost more than kernels
USUAL_BATCH, LARGE_BATCH = 1 << 22, 1 << 24  # on cores: for few threads, and the maximum for many
CARD_BATCH = 1 << 25  # beside a card
FEW_THREADS = 8  # these many, and no more, suit the usual batch
AHEAD = 3  # batches the readers may hold: two parsed (stream.runner), and the text of two more (formats.reads)
PROGRAM = 128 << 20  # bytes of Python, NumPy, Numba, pysam and kernels: 104 MB with 3.11, 122 with 3.13 and NumPy 2.5
PROCESS = 24 << 20  # bytes of a worker process besides its items (17 MB for `call`)
FEW_WORKERS = 3  # this many threads rarely wait for Python's lock
IN_FLIGHT = 3  # batches per card: one uploading, one computing, one downloading
MIN_ON_CARD = 1 << 16  # bases; any workspace has room for them (the sample that compiles the kernels is smaller)


@dataclass(frozen=True, slots=True)
class MemoryCosts:
    """Bytes: once, and per read base of a batch in work (work) or waiting for work or writing (held)."""

    fixed: int
    fixed_per_worker: int = 0
    work_per_base: float = 0.0
    held_per_base: float = 0.0

    def in_process(self) -> "MemoryCosts":
        """Return the costs if each worker is a process, which holds the batch and its results once more."""
        per_worker, work = self.fixed_per_worker + PROCESS, self.work_per_base + self.held_per_base
        return replace(self, fixed_per_worker=per_worker, work_per_base=work)


@dataclass(frozen=True, slots=True)
class Plan:
    batch_bases: int
    workers: int
    in_flight: int
    peak_bytes: int  # expected maximum
    are_processes: bool = False  # workers are processes; else threads

    @property
    def processes(self) -> int:
        return self.workers if self.are_processes else 0


def plan(budget: int, costs: MemoryCosts, threads: int, batch_bases: int | None = None, is_given: bool = True) -> Plan:
    """Plan the largest useful batches for a budget of bytes, with fewer workers if it is too small for all.

    batch_bases: the user's limit. is_given: the user set the budget; else it is the free memory. Raises
    MemoryBudgetError, which states the minimum, if one worker does not fit.
    """
    wanted = batch_bases or usual_batch(threads)
    smallest = min(wanted, MIN_BATCH)
    for workers in range(threads, 0, -1):
        in_flight = workers + (workers + 1) // 2 + 1
        per_base = workers * costs.work_per_base + (in_flight + AHEAD) * costs.held_per_base
        fixed = costs.fixed + workers * costs.fixed_per_worker
        fits = int((budget - fixed) / per_base)
        if fits >= smallest:
            bases = min(wanted, fits)
            return Plan(bases, workers, in_flight, fixed + int(bases * per_base))
    minimum = fixed + int(smallest * per_base) + 1
    need = f"one batch needs {readable(minimum)}, {readable(fixed)} of it for the index and the program"
    if not is_given:
        text = f"{readable(budget)} of memory is too little ({FREE_SHARE:.0%} of what is free): {need}"
        raise MemoryBudgetError(f"{text}; --memory allows more")
    raise MemoryBudgetError(f"--memory {readable(budget)} is too small: {need}")


def plan_processes(
    budget: int, costs: MemoryCosts, threads: int, batch_bases: int | None = None, is_given: bool = True
) -> Plan:
    """Plan with a process per thread if there are more than FEW_THREADS and memory for as many; else like `plan`."""
    if threads > FEW_THREADS:
        with suppress(MemoryBudgetError):
            planned = plan(budget, costs.in_process(), threads, batch_bases, is_given)
            if planned.workers > FEW_THREADS:
                return replace(planned, are_processes=True)
    return plan(budget, costs, threads, batch_bases, is_given)


def usual_batch(threads: int, is_on_cards: bool = False) -> int:
    """Return the bases of a batch if memory is plentiful.

    A batch holds Python's lock for some ms, whatever its size, in threads for 11, and a thread aligns 4 Mbases in 150
    on cores. So many threads get larger batches: with batches of the usual size they would wait for the lock. Beside a
    card, where threads do the smaller part, they wait even so: batches of 33 Mbases instead of 16 gave 16 threads a
    quarter more reads a second (docs/notes/model.md).
    """
    return CARD_BATCH if is_on_cards else min(max(USUAL_BATCH * threads // FEW_THREADS, USUAL_BATCH), LARGE_BATCH)


class Capacity(Protocol):
    """Bytes of a workspace, by read bases of a batch and whether the card looks up its seeds."""

    def __call__(self, bases: int, seeded: bool) -> int: ...


@dataclass(frozen=True, slots=True)
class Card:
    """Bytes of the index and of a batch on a card."""

    reference: int  # its bases, needed for extension
    seeds: int  # the rest of the index: on the card if there is room, else on the host
    capacity: Capacity  # of a workspace
    beside: int = 0  # taken before, of the same budget


@dataclass(frozen=True, slots=True)
class CardPlan:
    """Memory of each card, allocated before the first item of work."""

    workspaces: int
    capacity: int  # bytes per workspace
    index_bytes: int = 0  # shared by all items
    batch_bases: int = 0  # maximum of a read batch
    seeding: str = "cuda"  # side that looks up seeds: cuda | cpu

    @property
    def device_bytes(self) -> int:
        return self.index_bytes + self.workspaces * self.capacity


def plan_card(budget: int, card: Card, workspaces: int, batch_bases: int) -> CardPlan:
    """Plan batches of up to `batch_bases` in up to `workspaces` workspaces, within the budget of bytes.

    Seeds go to the card if IN_FLIGHT batches of MIN_BATCH fit beside them. If memory is short, batches shrink to
    USUAL_BATCH, then workspaces to IN_FLIGHT, then batches to MIN_BATCH, then workspaces, then batches to MIN_ON_CARD,
    for which each workspace has room. Raises MemoryBudgetError, which states the minimum.
    """
    few = min(workspaces, IN_FLIGHT)
    counts = range(workspaces, few, -1)
    tries = [*((True, n, USUAL_BATCH) for n in counts), (True, few, MIN_BATCH)]
    tries += [*((False, n, USUAL_BATCH) for n in counts), *((False, n, MIN_BATCH) for n in range(few, 0, -1))]
    most = max(batch_bases, MIN_ON_CARD)
    for seeded, number, enough in [*tries, (False, 1, MIN_ON_CARD)]:
        index = card.reference + seeded * card.seeds
        size, room = partial(card.capacity, seeded=seeded), (budget - card.beside - index) // number
        enough = min(enough, most)
        if size(enough) <= room:
            bases = enough + bisect_right(range(enough + 1, most + 1), room, key=size)
            return CardPlan(number, size(bases), index, min(bases, batch_bases), "cuda" if seeded else "cpu")
    need = f"one batch needs {readable(min_bytes(card))}, {readable(card.reference)} of it for the reference"
    raise MemoryBudgetError(f"--vram {readable(max(0, budget))} is too small: {need}")


def workers_of(threads: int, cards: int) -> int:
    """Return the number of threads for batches: as many as asked for, and enough to keep each card busy."""
    return max(threads, IN_FLIGHT * cards)


def processes_of(threads: int, room: int, least: int) -> int:
    """Return the worker processes that fit into `room` bytes, each with `least` for items; 0: threads do as well.

    Each has as much for its items as it takes itself: more processes with smaller items would get less done.
    """
    number = min(threads, room // (PROCESS + max(PROCESS, least)))
    return number if number > FEW_WORKERS else 0


def min_bytes(card: Card) -> int:
    """Return the minimum memory with which a card can be used."""
    return card.beside + card.reference + card.capacity(MIN_ON_CARD, False)


def readable(number: int) -> str:
    """Format bytes in the units of options, rounded up so that the result can be given as an option."""
    for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if number >= unit:
            tenths = -(-number * 10 // unit)
            return f"{tenths // 10}.{tenths % 10}{letter}" if tenths % 10 else f"{tenths // 10}{letter}"
    return str(number)
