"""Build, second half: sort the entries of each partition into the arrays of the index."""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.index.partition import PartitionRound
from readwarp.index.plan import AHEAD, CHUNK, BuildPlan
from readwarp.ragged import offsets_of
from readwarp.stream.runner import map_ordered

FEW = 24  # entries of a bucket small enough for insertion sort


class Sorted(NamedTuple):
    """One partition of the index."""

    bucket_starts: Annotated[ndarray, "uint32 or uint64 [buckets]"]
    tags: Annotated[ndarray, "uint16 [entries]"]
    positions: Annotated[ndarray, "uint32 or uint64 [entries]"]


class PartitionSpace(NamedTuple):
    """Working memory for one partition."""

    entries: Annotated[ndarray, "uint64 [entries]"]
    bucket_starts: Annotated[ndarray, "uint32 or uint64 [buckets]"]
    tags: Annotated[ndarray, "uint16 [entries]"]
    positions: Annotated[ndarray, "uint32 or uint64 [entries]"]


def sort_round(part: PartitionRound, plan: BuildPlan, row: int, dtypes: dict[str, type]) -> Iterator[Sorted]:
    """Yield the partitions of a round, in order, each valid until the next. row: of the round's first entry."""
    number, taken = part.last - part.first, int(part.chunks.taken[0])
    owners, sizes = part.chunks.owners[:taken], part.chunks.sizes[:taken]
    order, borders = np.argsort(owners, kind="stable"), offsets_of(np.bincount(owners, minlength=number))
    rows = row + offsets_of(np.bincount(owners, sizes, number))
    in_flight, most = plan.workers + AHEAD, int(np.diff(rows).max())
    spaces = [
        PartitionSpace(
            np.empty(most, np.uint64),
            np.empty(1 << plan.form.inner_bits, dtypes["bucket_starts"]),
            np.empty(most, dtypes["tags"]),
            np.empty(most, dtypes["positions"]),
        )
        for _ in range(in_flight)
    ]

    def sort(partition: int) -> Sorted:
        space = spaces[partition % in_flight]
        first, entries = int(rows[partition]), int(rows[partition + 1] - rows[partition])
        mine = order[borders[partition] : borders[partition + 1]]
        sort_partition(mine, part.chunks, plan.form.position_bits, first, space)
        return Sorted(space.bucket_starts, space.tags[:entries], space.positions[:entries])

    return map_ordered(range(number), sort, plan.workers, in_flight)


@kernel
def sort_partition(mine, chunks, position_bits, row, space):
    """Sort the entries of some chunks by bucket, tag, strand and position into `space`. row: of the first entry."""
    (entries, _, uppers, sizes, _), (placed, bucket_starts, tags, positions) = chunks, space
    lower = np.uint64((1 << position_bits) - 1)
    bucket_starts[:] = 0
    for chunk in mine:
        for i in range(chunk * CHUNK, chunk * CHUNK + sizes[chunk]):
            bucket_starts[entries[i] >> np.uint64(48)] += np.uint32(1)  # uint64 plus int64 would be a float
    place = np.int64(0)
    for bucket in range(bucket_starts.size):
        size, bucket_starts[bucket] = np.int64(bucket_starts[bucket]), place
        place += size
    for chunk in mine:
        upper = np.uint64(uppers[chunk]) << np.uint64(position_bits)
        for i in range(chunk * CHUNK, chunk * CHUNK + sizes[chunk]):
            bucket, tag = entries[i] >> np.uint64(48), entries[i] >> np.uint64(32) << np.uint64(48)
            placed[bucket_starts[bucket]] = tag | upper | entries[i] & lower
            bucket_starts[bucket] += np.uint32(1)  # uint64 plus int64 would be a float
    start = np.int64(0)
    for bucket in range(bucket_starts.size):
        stop = np.int64(bucket_starts[bucket])
        sort_few(placed, start, stop)
        bucket_starts[bucket] = row + start
        start = stop
    for i in range(np.uint64(start)):
        tags[i], positions[i] = placed[i] >> np.uint64(48), placed[i] & np.uint64((1 << 48) - 1)


@kernel
def sort_few(values, start, stop):
    """Sort values[start:stop], usually few."""
    if stop - start > FEW:
        values[start:stop].sort()
        return
    for i in range(start + 1, stop):
        value, place = values[i], i
        while place > start and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value
