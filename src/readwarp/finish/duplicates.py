"""Duplicates: reads of one template sequenced more than once, marked as sorted records stream by.

Pairs are duplicates of each other when both ends agree in library, contig, unclipped 5' position and strand. The pair
with the largest sum of base qualities of at least 15 stays unmarked; ties go to the smaller name. A read without a
mapped mate is a duplicate of any end of a pair with the same library, contig, unclipped 5' position and strand; among
such reads the one with the higher qualities stays unmarked, then the first. Secondary, supplementary, unmapped and
failed records are left alone, and so are reads of more than MAX_READ_LENGTH bases. The other marks are those of
`samtools fixmate -m`, `sort` and `markdup`, run on each library (LB of the read group) by itself.

Before sorting, while mates are still neighbours, each record gets a signature (`signatures.sign`). The marks of a
window of sorted records depend on these, and on the records before and after it whose 5' ends may be the same: their
positions differ by at most twice the reach, the largest distance between a position and a 5' end.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.config import DuplicateRules
from readwarp.finish import signatures
from readwarp.finish.molecule_names import with_molecules
from readwarp.finish.molecules import count_families, find_molecules
from readwarp.finish.order import UNPLACED_KEY, find_key, gather, key_of
from readwarp.finish.signatures import EXAMINED, KIND, PAIR, SKIP, word_at
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.encoded import Encoded
from readwarp.ragged import concatenate, take
from readwarp.rules import flags


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
            yield DuplicateWindow(before, own, _between((piece.records for piece in held), last, last + near))
            before = _between((*before, *own), last - near, last) if last < UNPLACED_KEY else []


class _Piece(NamedTuple):
    records: Encoded
    first: int  # keys
    last: int


def _between(parts: Iterable[Encoded], first: int, last: int) -> list[Encoded]:
    """Return the records with these keys and those between, without empty parts."""
    rows = ((part, *(find_key(part, SKIP, key) for key in (first, last + 1))) for part in parts)
    return [take(part, "records", slice(start, stop)) for part, start, stop in rows if start < stop]


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
        duplicates = set_flags(own, marks[rows])
        written = with_molecules(records, rows, molecules, rules.duplex)
        return Marked(written, duplicates, count_families(records, rows, molecules))
    marks = np.zeros(len(records), np.uint8)
    mark_pairs(records, marks, signatures.table_for(records))
    mark_singles(records, marks, signatures.table_for(records))
    duplicates = set_flags(own, marks[rows])
    return Marked(gather(own, np.arange(len(own)), SKIP), duplicates, Counter())


@kernel
def mark_pairs(records, marks, table):
    """Mark duplicate pairs. table: see `signatures.table_for`."""
    data, offsets = records
    mask = table.size - 1
    for i in range(marks.size):
        at = offsets[i]
        if word_at(data, at, KIND) & PAIR:
            slot = signatures.hash_ends(data, at) & mask
            while table[slot] >= 0 and not signatures.same_pair(data, at, offsets[table[slot]]):
                slot = (slot + 1) & mask
            old = table[slot]
            if old >= 0:
                wins = signatures.pair_wins(data, at, offsets[old])
                marks[old if wins else i] = 1
                table[slot] = i if wins else old
            else:
                table[slot] = i


@kernel
def mark_singles(records, marks, table):
    """Mark duplicates like `mark_pairs`, among reads without a mapped mate, with which ends of pairs compete."""
    data, offsets = records
    mask = table.size - 1
    for i in range(marks.size):
        at = offsets[i]
        if word_at(data, at, KIND) & EXAMINED:
            slot = signatures.hash_end(data, at) & mask
            while table[slot] >= 0 and not signatures.same_end(data, at, offsets[table[slot]]):
                slot = (slot + 1) & mask
            old = table[slot]
            if old < 0:
                table[slot] = i
            elif signatures.single_wins(data, at, offsets[old]):
                marks[old] = 1
                table[slot] = i
            elif word_at(data, at, KIND) & PAIR == 0:
                marks[i] = 1


def set_flags(records: Encoded, marks: ndarray) -> int:
    """Set the duplicate flag of the marked records in place; return their number."""
    marked = records.offsets[:-1][marks > 0]
    records.data[marked + SKIP + layout.FLAG + 1] |= flags.DUPLICATE >> 8
    return marked.size
