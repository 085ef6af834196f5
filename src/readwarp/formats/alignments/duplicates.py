"""Duplicates: reads of one template that was sequenced more than once, marked while sorted records stream by.

Pairs are duplicates of each other when both ends agree in library, contig, unclipped 5' place and strand; the pair
with the largest sum of base qualities of at least 15 is kept, of equal ones the one with the smaller name. A read
without a placed mate is a duplicate of any end of a pair with the same library, contig, unclipped 5' place and strand;
among such reads the one with the better qualities is kept, then the first. Secondary, supplementary, unmapped and
failed records are left as they are. The marks are those of `samtools fixmate -m`, `sort` and `markdup`; libraries are
those of the read groups (LB), as if each had been marked by itself.

Before sorting, when mates are still neighbours, each record gets a signature of 32 bytes that travels with it. Sorted
records are held until no later one can share their 5' place, which is at most a read length away.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy import ndarray

from readwarp.config import MAX_READ_LENGTH
from readwarp.formats.alignments import duplicate_kernels as kernels
from readwarp.formats.alignments.header import field
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.alignments.sort import FRAME, record_offsets
from readwarp.formats.alignments.sort_kernels import gather
from readwarp.formats.common.text import joined

SKIP = kernels.SKIP


class Libraries:
    """Read groups and the library (LB) of each; those without one share one."""

    def __init__(self, read_groups: Sequence[str]):
        names = [field(line, "LB") or "" for line in read_groups]
        order = {name: number for number, name in enumerate(dict.fromkeys(names))}
        self.ids, self.id_offsets = joined([field(line, "ID") or "" for line in read_groups])
        self.numbers = np.array([order[name] for name in names], np.int64)


def with_signatures(records: Encoded, libraries: Libraries) -> Encoded:
    """A batch in which mates are neighbours -> the same with a signature before each record."""
    mates = np.empty(len(records), np.int64)
    kernels.find_mates(records.data, records.offsets, mates)
    out = np.empty(records.data.size + SKIP * len(records), np.uint8)
    groups = libraries.ids, libraries.id_offsets, libraries.numbers
    kernels.signatures(records.data, records.offsets, mates, *groups, out)
    return Encoded(out, records.offsets + SKIP * np.arange(len(records) + 1))


class DuplicateMarker:
    """Sorted records with signatures go in, marked records without signatures come out."""

    def __init__(self) -> None:
        self.marked = 0
        self._parts: list[ndarray] = []
        self._state = np.empty(0, np.uint8)  # of the records held
        self._held = self._fresh = 0  # bytes that were looked at already, and bytes that were not

    def push(self, records: Encoded) -> Iterator[ndarray]:
        """The records that are decided now; work on the held ones is spread over as many new bytes."""
        self._parts.append(records.data)
        self._fresh += records.data.size
        if self._fresh >= max(self._held, FRAME):
            yield self._decide(final=False)

    def finish(self) -> Iterator[ndarray]:
        if self._parts:
            yield self._decide(final=True)

    def _decide(self, final: bool) -> ndarray:
        data = np.concatenate(self._parts)
        offsets = record_offsets(data, SKIP)
        state = np.zeros(offsets.size - 1, np.uint8)
        state[: self._state.size] = self._state
        contig, limit = -2, 0
        if not final and state.size:
            last = offsets[-2] + SKIP
            contig = int(kernels.int32_at(data, last + kernels.CONTIG))
            limit = int(kernels.int32_at(data, last + kernels.POSITION)) - MAX_READ_LENGTH
        size = 1 << (2 * state.size).bit_length()
        kernels.mark(data, offsets, state, contig, limit, np.full(size, -1, np.int32))
        kernels.mark_singles(data, offsets, state, contig, limit, np.full(size, -1, np.int32))
        waiting = np.flatnonzero(state & kernels.DECIDED != kernels.DECIDED)
        done = int(waiting[0]) if waiting.size else state.size
        self._hold(data[offsets[done] :].copy(), state[done:].copy())
        self.marked += kernels.set_flags(data, offsets[: done + 1], state[:done])
        return self._stripped(data, offsets[: done + 1])

    def _hold(self, data: ndarray, state: ndarray) -> None:
        self._parts, self._state = [data], state
        self._held, self._fresh = data.size, 0

    def _stripped(self, data: ndarray, offsets: ndarray) -> ndarray:
        n = offsets.size - 1
        out, starts = np.empty(int(offsets[-1]) - SKIP * n, np.uint8), np.empty(n + 1, np.int64)
        gather(data, offsets, np.arange(n), 0, n, SKIP, out, starts)
        return out
