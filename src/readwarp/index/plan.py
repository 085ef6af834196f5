"""Plan of an index build: the partitions of the seeds, and how many fit into memory at a time. Pure arithmetic.

    bytes = program + packed bases + chunks of a round + workers * (scratch + sorted partitions)

Seeds are divided by the upper bits of their bucket. If not all entries fit, there are several rounds, each for a range
of partitions. Each round sketches the whole reference, so few rounds are better than many.
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
SPARE = 1 / 16  # entries in excess of the expected
AHEAD = 2  # sorted partitions that wait, in addition to those of the workers

PROGRAM_BYTES = 250 << 20  # Python, NumPy and compiled kernels
WORKER_BYTES = 2 << 20  # a thread's memory for sketching
CHUNK_BYTES = 8 * CHUNK + 48  # entries, chunk fields, and the chunk's place in the order of chunks
ENTRY_BYTES = 8 + 2 + 8  # per entry of a partition being sorted
BUCKET_BYTES = 8


class SeedForm(NamedTuple):
    """Shape of the seeds of an index, and of their partitions."""

    shape: Shape
    bucket_bits: int
    inner_bits: int  # lower bucket bits, within a partition
    position_bits: int = 32  # lower position bits, held by an entry


@dataclass(frozen=True, slots=True)
class BuildPlan:
    form: SeedForm
    workers: int
    rounds: int
    chunks: int  # chunks per round
    peak_bytes: int  # expected maximum
    spare_bytes: int = 0  # unused part of the budget

    @property
    def partitions(self) -> int:
        return 1 << (self.form.bucket_bits - self.form.inner_bits)


def plan_build(
    bases: int, parameters: SeedParameters, threads: int, budget: int, is_given: bool = True, in_memory: bool = False
) -> BuildPlan:
    """Return the fastest plan for a reference of this many bases within a budget of bytes.

    is_given: the user set the budget; else it is the free memory. in_memory: the index stays there. Raises
    MemoryBudgetError, which states the minimum.
    """
    plans = [
        _plan(bases, parameters, workers, rounds, in_memory * seed_bytes(bases, parameters))
        for workers in range(1, min(threads, ceil(bases / STRETCH)) + 1)
        for rounds in range(1, MAX_ROUNDS + 1)
    ]
    possible = [plan for plan in plans if plan.peak_bytes <= budget]
    if possible:
        # Sketching the reference, once a round, takes about as long as sorting all entries.
        best = min(possible, key=lambda plan: (plan.rounds + 1) / plan.workers)
        return replace(best, spare_bytes=budget - best.peak_bytes)
    need = f"building the index needs {readable(min(plan.peak_bytes for plan in plans))}"
    if is_given:
        raise MemoryBudgetError(f"--memory {readable(budget)} is too small: {need}")
    text = f"{readable(budget)} of memory is too little ({FREE_SHARE:.0%} of what is free): {need}"
    raise MemoryBudgetError(f"{text}; --memory allows more")


def _plan(bases: int, parameters: SeedParameters, workers: int, rounds: int, kept: int) -> BuildPlan:
    """Plan this number of rounds. kept: other bytes in memory."""
    bucket_bits = bucket_bits_for(bases)
    partition_bits = max(bucket_bits - MAX_INNER_BITS, min(bucket_bits, 8))
    inner_bits = bucket_bits - partition_bits
    entries = ceil(entries_of(bases, parameters) * (1 + SPARE))
    partitions = ceil((1 << partition_bits) / rounds)
    chunks = ceil(entries / rounds / CHUNK) + workers * partitions  # each thread ends with partly filled chunks
    sorting = 2 * ENTRY_BYTES * (entries >> partition_bits) + (BUCKET_BYTES << inner_bits)
    working = workers * (WORKER_BYTES + 8 * partitions) + (workers + AHEAD) * sorting
    peak = PROGRAM_BYTES + kept + bases // 2 + chunks * CHUNK_BYTES + working
    return BuildPlan(SeedForm(Shape.of(parameters), bucket_bits, inner_bits), workers, rounds, chunks, peak)


def bucket_bits_for(bases: int) -> int:
    """Return the bits of the most buckets that take at most a quarter byte per base, and at least 256 buckets."""
    return max(MIN_BUCKET_BITS, (bases // 16).bit_length() - 1)


def entries_of(bases: int, parameters: SeedParameters) -> int:
    """Estimate the entries: one of k - s + 1 k-mers is a syncmer."""
    return ceil(bases / (parameters.k - parameters.s + 1))


def seed_bytes(bases: int, parameters: SeedParameters) -> int:
    """Return the bytes of an index without packed bases: bucket starts, and tag and position of each entry."""
    entries, buckets = entries_of(bases, parameters), (1 << bucket_bits_for(bases)) + 1
    sizes = {"bucket_starts": buckets, "tags": entries, "positions": entries}
    dtypes = dtypes_of(bases, entries)
    return sum(size * np.dtype(dtypes[name]).itemsize for name, size in sizes.items())
