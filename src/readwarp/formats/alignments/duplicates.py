"""Duplicates: reads of one template sequenced more than once, marked as sorted records stream by.

Pairs are duplicates of each other when both ends agree in library, contig, unclipped 5' position and strand. The pair
with the largest sum of base qualities of at least 15 stays unmarked; ties go to the smaller name. A read without a
mapped mate is a duplicate of any end of a pair with the same library, contig, unclipped 5' position and strand; among
such reads the one with the higher qualities stays unmarked, then the first. Secondary, supplementary, unmapped and
failed records are left alone, and so are reads of more than MAX_READ_LENGTH bases. The other marks are those of
`samtools fixmate -m`, `sort` and `markdup`, run on each library (LB of the read group) by itself.

Before sorting, while mates are still neighbours, each record gets a signature of 32 bytes that travels with it. The
marks of a window of sorted records depend on these, and on the records before and after it whose 5' ends may be the
same: their positions differ by at most twice the reach, the largest distance between a position and a 5' end.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import DuplicateRules
from readwarp.formats.alignments import duplicate_kernels as kernels
from readwarp.formats.alignments.header import field
from readwarp.formats.alignments.molecules import count_families, find_molecules, with_molecules
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.alignments.sort import gather
from readwarp.formats.alignments.sort_kernels import UNPLACED_KEY, find_key, key_of
from readwarp.formats.common.text import Names, pack_names
from readwarp.ragged import concatenate, empty, offsets_of, take

SKIP = kernels.SKIP


class Libraries(NamedTuple):
    """Read groups and their libraries (LB). Groups without LB share a library."""

    groups: Names
    number: Annotated[ndarray, "int64 [groups]"]  # of the library

    @classmethod
    def of(cls, lines: Sequence[str]) -> "Libraries":
        """Build it from the @RG lines of a header."""
        names = [field(line, "LB") or "" for line in lines]
        order = {name: number for number, name in enumerate(dict.fromkeys(names))}
        groups = pack_names([field(line, "ID") or "" for line in lines])
        return cls(groups, np.array([order[name] for name in names], np.int64))


class Signed(NamedTuple):
    """Records with their signatures."""

    records: Encoded
    reach: int  # bases


def sign(records: Encoded, order: ndarray, libraries: Libraries, by_umi: bool = False) -> Signed:
    """Sign a batch in which mates are neighbours: its records in this order, each after its signature."""
    mates = np.empty(len(records), np.int64)
    kernels.find_mates(records, mates)
    offsets = offsets_of(np.diff(records.offsets)[order] + SKIP)
    signed = empty(Encoded, {}, offsets=offsets)
    return Signed(signed, kernels.sign(records, mates, order, libraries, by_umi, signed))


class DuplicateWindow(NamedTuple):
    """Sorted records with signatures, and those nearby on which their marks may depend."""

    before: list[Encoded]
    records: list[Encoded]
    after: list[Encoded]


def windows_of(pieces: Iterable[Encoded], reach: int) -> Iterator[DuplicateWindow]:
    """Cut sorted records into windows of twice the reach, so that surroundings are not much larger than windows."""
    near = 4 * reach + 1  # in keys: 2 for a position, 1 for the strand
    before: list[Encoded] = []
    held: list[_Piece] = []
    for records in chain(pieces, (None,)):
        if records is not None:
            held.append(_Piece(records, *(key_of(records, SKIP, row) for row in (0, len(records) - 1))))
        while held:
            spanning = (n for n, piece in enumerate(held, 1) if piece.last >= held[0].first + near)
            number = next(spanning, len(held))
            last = held[number - 1].last
            if records is not None and held[-1].last <= last + near and last < UNPLACED_KEY:
                break  # the next ones may lie near it
            own, held = [piece.records for piece in held[:number]], held[number:]
            yield DuplicateWindow(
                before, own, [part for piece in held if len(part := _up_to(piece.records, last + near))]
            )
            near_end = [_from(part, last - near) for part in (*before, *own)] if last < UNPLACED_KEY else []
            before = [part for part in near_end if len(part)]


class _Piece(NamedTuple):
    records: Encoded
    first: int  # keys
    last: int


def _up_to(records: Encoded, key: int) -> Encoded:
    return take(records, "records", slice(0, find_key(records, SKIP, key + 1)))


def _from(records: Encoded, key: int) -> Encoded:
    return take(records, "records", slice(find_key(records, SKIP, key), None))


class Marked(NamedTuple):
    """Records without signatures, duplicates marked."""

    records: Encoded
    duplicates: int
    families: Counter[int]  # molecules by their number of templates; empty without UMIs


def mark(window: DuplicateWindow, rules: DuplicateRules) -> Marked:
    """Mark the duplicates of a window. Any thread may call this."""
    records = concatenate([*window.before, *window.records, *window.after], "records")
    start = sum(map(len, window.before))
    rows = slice(start, start + sum(map(len, window.records)))
    own = take(records, "records", rows)
    if rules.umis:
        molecules, marks = find_molecules(records, rules.duplex)
        duplicates = kernels.set_flags(own, marks[rows])
        written = with_molecules(records, rows, molecules, rules.duplex)
        return Marked(written, duplicates, count_families(records, rows, molecules))
    marks = np.zeros(len(records), np.uint8)
    size = 1 << (2 * len(records)).bit_length()
    kernels.mark_pairs(records, marks, np.full(size, -1, np.int32))
    kernels.mark_singles(records, marks, np.full(size, -1, np.int32))
    duplicates = kernels.set_flags(own, marks[rows])
    return Marked(gather(own, np.arange(len(own)), SKIP), duplicates, Counter())
