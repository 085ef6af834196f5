"""The plan of building an index: how its seeds are divided, and how many at a time fit into memory. Pure arithmetic.

    bytes = program + packed bases + chunks of a round + workers * (scratch + sorted partitions)

Seeds are divided by the upper bits of their bucket. If not all entries fit, there are several rounds, each for a range
of partitions. Each round sketches the whole reference, so few are better than many.
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np

from readwarp.config import SeedParameters
from readwarp.errors import MemoryBudgetError
from readwarp.formats.common.index_file import dtypes_of
from readwarp.index.syncmers import Shape
from readwarp.stream.plan import FREE_SHARE, readable

STRETCH = 1 << 21  # bases per task
CHUNK = 1 << 7  # entries
MIN_BUCKET_BITS = 8  # index_file.MIN_BUCKETS
MAX_INNER_BITS = 16  # bucket bits within a partition
MAX_ROUNDS = 64
SPARE = 1 / 16  # more entries than expected
AHEAD = 2  # sorted partitions that wait, beyond those of the workers

PROGRAM_BYTES = 250 << 20  # Python, NumPy and compiled kernels
WORKER_BYTES = 2 << 20  # what a thread needs to sketch
CHUNK_BYTES = 8 * CHUNK + 48  # the entries, what is known of a chunk, and its place in the order of chunks
ENTRY_BYTES = 8 + 2 + 8  # of a partition that is sorted
BUCKET_BYTES = 8


class Form(NamedTuple):
    """The shape of the seeds of an index, and how they are divided."""

    shape: Shape
    bucket_bits: int
    inner_bits: int  # the lower ones of them, within a partition
    position_bits: int = 32  # the lower ones of a position, which its entry holds


@dataclass(frozen=True, slots=True)
class BuildPlan:
    form: Form
    workers: int
    rounds: int
    chunks: int  # of a round
    peak_bytes: int  # the maximum that is expected
    spare_bytes: int = 0  # left of the budget

    @property
    def partitions(self) -> int:
        return 1 << (self.form.bucket_bits - self.form.inner_bits)


def plan_build(
    bases: int, parameters: SeedParameters, threads: int, budget: int, is_given: bool = True, in_memory: bool = False
) -> BuildPlan:
    """The fastest plan for a reference of so many bases within a budget of bytes.

    is_given: the budget is the user's, not what is free. in_memory: the index stays there. Raises MemoryBudgetError,
    which states the minimum.
    """
    plans = [
        _plan(bases, parameters, workers, rounds, in_memory * seed_bytes(bases, parameters))
        for workers in range(1, min(threads, ceil(bases / STRETCH)) + 1)
        for rounds in range(1, MAX_ROUNDS + 1)
    ]
    possible = [plan for plan in plans if plan.peak_bytes <= budget]
    if possible:
        best = min(possible, key=_cost)
        return replace(best, spare_bytes=budget - best.peak_bytes)
    need = f"building the index needs {readable(min(plan.peak_bytes for plan in plans))}"
    if is_given:
        raise MemoryBudgetError(f"--memory {readable(budget)} is too small: {need}")
    text = f"{readable(budget)} of memory is too little ({FREE_SHARE:.0%} of what is free): {need}"
    raise MemoryBudgetError(f"{text}; --memory allows more")


def _plan(bases: int, parameters: SeedParameters, workers: int, rounds: int, kept: int) -> BuildPlan:
    """kept: bytes that are in memory besides."""
    bucket_bits = bucket_bits_for(bases)
    partition_bits = max(bucket_bits - MAX_INNER_BITS, min(bucket_bits, 8))
    inner_bits = bucket_bits - partition_bits
    entries = ceil(entries_of(bases, parameters) * (1 + SPARE))
    partitions = ceil((1 << partition_bits) / rounds)
    chunks = ceil(entries / rounds / CHUNK) + workers * partitions  # each thread ends with chunks that are not full
    sorting = 2 * ENTRY_BYTES * (entries >> partition_bits) + (BUCKET_BYTES << inner_bits)
    working = workers * (WORKER_BYTES + 8 * partitions) + (workers + AHEAD) * sorting
    peak = PROGRAM_BYTES + kept + bases // 2 + chunks * CHUNK_BYTES + working
    return BuildPlan(Form(Shape.of(parameters), bucket_bits, inner_bits), workers, rounds, chunks, peak)


def _cost(plan: BuildPlan) -> float:
    """Each round sketches the reference, which takes about as long as to sort the entries of all rounds."""
    return (plan.rounds + 1) / plan.workers


def bytes_beyond(chunks: int) -> int:
    """Of so many chunks more than planned, whose entries may all be of one partition."""
    return chunks * (CHUNK_BYTES + CHUNK * ENTRY_BYTES)


def bucket_bits_for(bases: int) -> int:
    """Bits for the maximum number of buckets that need at most a quarter of a byte per base; for 256 at least."""
    return max(MIN_BUCKET_BITS, (bases // 16).bit_length() - 1)


def entries_of(bases: int, parameters: SeedParameters) -> int:
    """The entries that are expected: of k - s + 1 k-mers, one is a syncmer."""
    return ceil(bases / (parameters.k - parameters.s + 1))


def seed_bytes(bases: int, parameters: SeedParameters) -> int:
    """Of the index beside the packed bases: bucket starts, and tag and position of each entry."""
    entries, buckets = entries_of(bases, parameters), (1 << bucket_bits_for(bases)) + 1
    sizes = {"bucket_starts": buckets, "tags": entries, "positions": entries}
    dtypes = dtypes_of(bases, entries)
    return sum(size * np.dtype(dtypes[name]).itemsize for name, size in sizes.items())
