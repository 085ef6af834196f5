"""Duplicates: reads of one template that was sequenced more than once, marked while sorted records stream by.

Pairs are duplicates of each other when both ends agree in library, contig, unclipped 5' position and strand. The pair
with the largest sum of base qualities of at least 15 stays unmarked; if sums are equal, the one with the smaller name.
A read without a mapped mate is a duplicate of any end of a pair with the same library, contig, unclipped 5' position
and strand; among such reads the one with the better qualities stays unmarked, then the first. Secondary,
supplementary, unmapped and failed records are left as they are, and so are reads of more than MAX_READ_LENGTH bases.
The other marks are those of `samtools fixmate -m`, `sort` and `markdup`, run on each library (LB of the read group) by
itself.

Before sorting, while mates are still neighbours, each record gets a signature of 32 bytes that travels with it. Sorted
records are held until no later one can share their 5' position, which is at most a read length away.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import MAX_READ_LENGTH
from readwarp.formats.alignments import duplicate_kernels as kernels
from readwarp.formats.alignments.header import field
from readwarp.formats.alignments.layout import CONTIG, POSITION, values_at
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.alignments.sort import FRAME, records_in
from readwarp.formats.alignments.sort_kernels import gather
from readwarp.formats.common.text import Names, pack_names
from readwarp.ragged import empty, take

SKIP = kernels.SKIP


class Libraries(NamedTuple):
    """Read groups and the library (LB) of each. Groups without LB share a library."""

    groups: Names
    number: Annotated[ndarray, "int64 [groups]"]  # of the library

    @classmethod
    def of(cls, lines: Sequence[str]) -> "Libraries":
        """From the @RG lines of a header."""
        names = [field(line, "LB") or "" for line in lines]
        order = {name: number for number, name in enumerate(dict.fromkeys(names))}
        groups = pack_names([field(line, "ID") or "" for line in lines])
        return cls(groups, np.array([order[name] for name in names], np.int64))


def add_signatures(records: Encoded, libraries: Libraries) -> Encoded:
    """A batch in which mates are neighbours -> the same with a signature before each record."""
    mates = np.empty(len(records), np.int64)
    kernels.find_mates(records, mates)
    data = np.empty(records.data.size + SKIP * len(records), np.uint8)
    kernels.sign(records, mates, libraries, data)
    return Encoded(data, records.offsets + SKIP * np.arange(len(records) + 1))


class DuplicateMarker:
    """Sorted records with signatures go in, marked records without signatures come out."""

    def __init__(self) -> None:
        self.marked = 0
        self._parts: list[ndarray] = []
        self._state = np.empty(0, np.uint8)  # of the records held
        self._held = self._new = 0  # bytes examined already, and bytes that are not

    def push(self, records: Encoded) -> Iterator[ndarray]:
        """Take sorted records, give those whose marks are final. The rest is examined again once it has doubled."""
        self._parts.append(records.data)
        self._new += records.data.size
        if self._new >= max(self._held, FRAME):
            yield self._decide(final=False)

    def finish(self) -> Iterator[ndarray]:
        if self._parts:
            yield self._decide(final=True)

    def _decide(self, final: bool) -> ndarray:
        records = records_in(np.concatenate(self._parts), SKIP)
        state = np.zeros(len(records), np.uint8)
        state[: self._state.size] = self._state
        contig, limit = -2, 0
        if not final and state.size:
            last = records.offsets[-2] + SKIP
            contig, place = values_at(records.data, last + np.array([CONTIG, POSITION]), "<i4").tolist()
            limit = place - MAX_READ_LENGTH
        size = 1 << (2 * state.size).bit_length()
        kernels.mark_pairs(records, state, contig, limit, np.full(size, -1, np.int32))
        kernels.mark_singles(records, state, contig, limit, np.full(size, -1, np.int32))
        undecided = np.flatnonzero(state & kernels.DECIDED != kernels.DECIDED)
        done = int(undecided[0]) if undecided.size else state.size
        self._parts, self._state = [records.data[records.offsets[done] :].copy()], state[done:].copy()
        self._held, self._new = self._parts[0].size, 0
        decided = take(records, "records", slice(0, done))
        self.marked += kernels.set_flags(decided, state)
        out = empty(Encoded, {"records": done, "bytes": decided.data.size - SKIP * done})
        gather(decided, np.arange(done), SKIP, out)
        return out.data
