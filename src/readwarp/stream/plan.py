"""Memory arithmetic: how large a batch may be, and how many may be in flight, before anything is allocated.

    bytes = fixed + workers * (fixed per worker + (work per base) * batch) + in_flight * (held per base) * batch

Everything a batch brings is expressed per read base: reads, candidates and DP cells come with the bases at the rates of
`Shape`. Pure functions of numbers; the batch size never changes the output.
"""

from dataclasses import dataclass

from readwarp.errors import MemoryBudgetError

SMALLEST_BATCH = 1 << 18  # bases: below this, calls cost more than kernels
USUAL_BATCH = 1 << 22
AHEAD = 2  # batches the reader may hold (readwarp.stream.runner)


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


def readable(number: int) -> str:
    """Bytes in the units that options take, rounded up so that the figure can be passed back."""
    for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if number >= unit:
            tenths = -(-number * 10 // unit)
            return f"{tenths // 10}.{tenths % 10}{letter}" if tenths % 10 else f"{tenths // 10}{letter}"
    return str(number)
