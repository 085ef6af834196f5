"""Convert REF and ALT of a record to alleles in the notation of `Sites`, spelled like calls.

    same length          one substitution for each base that differs
    insertion, deletion  trimmed, and moved left while the base before it equals its last base
    other replacements   between the common ends aligned like haplotypes (COSTS): substitutions, insertions and
                         deletions, each moved left as far as the one before it; neighbouring gaps remain one allele
                         that deletes some bases and inserts others

The gaps of an alignment are left-aligned, so each allele is spelled as it would be by itself: different alleles make
different sequences.
"""

from collections.abc import Iterator

import numpy as np

from readwarp.call.places.bases import Bases
from readwarp.pairwise.cpu import score_pairs, trace_pairs
from readwarp.pairwise.pairs import Costs, Pairs, Scheme
from readwarp.pairwise.scalar import GLOBAL
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

COSTS = Costs(match=10, mismatch=8, gap_open=20, gap_extend=1)  # of haplotypes, too
STRIDE = 64  # reference bases read at a time as an allele moves left
Allele = tuple[int, int, bytes]  # begin, deleted, inserted


def is_indel(allele: Allele) -> bool:
    return not allele[1] == len(allele[2]) == 1


def spell_alleles(bases: Bases, position: int, new: bytes, size: int) -> Iterator[Allele]:
    """Yield the alleles, in order, that turn `size` reference bases from `position` on into `new`."""
    old = bases.between(position, position + size)
    if size == len(new):
        yield from _list_substitutions(position, old, new)
        return
    while old and new and old[0] == new[0]:
        position, old = position + 1, old[1:]
        new = new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    barrier = 1  # nothing moves past it: an indel has an anchor base
    for begin, gone, inserted in _split(position, old, new):
        if len(gone) == len(inserted):
            yield from _list_substitutions(begin, gone, inserted)
            barrier = begin + len(gone)
            continue
        if not (gone and inserted):
            begin, inserted = _move_left(bases, begin, gone, inserted, barrier)
        yield begin, len(gone), inserted
        barrier = begin + len(gone) + 1


def _list_substitutions(position: int, old: bytes, new: bytes) -> Iterator[Allele]:
    for i in range(len(old)):
        if old[i] != new[i]:
            yield position + i, 1, new[i : i + 1]


def _split(position: int, old: bytes, new: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the stretches of pairs and of gaps in an alignment: position, bases deleted, bases inserted."""
    if not (old and new):
        yield position, old, new
        return
    stretch = (0, 0)  # bases of `old` and `new`
    was_match = True
    for operation, length in _align(old, new):
        if (operation == MATCH) != was_match and stretch != (0, 0):
            yield position, old[: stretch[0]], new[: stretch[1]]
            position, old = position + stretch[0], old[stretch[0] :]
            new = new[stretch[1] :]
            stretch = (0, 0)
        was_match = operation == MATCH
        stretch = (stretch[0] + length * (operation != INSERTION), stretch[1] + length * (operation != DELETION))
    yield position, old, new


def _align(old: bytes, new: bytes) -> list[tuple[int, int]]:
    """Return operations and lengths of the best end-to-end alignment."""
    zero, sizes = np.zeros(1, np.int64), (np.array([len(new)]), np.array([len(old)]))
    pairs = Pairs(np.frombuffer(new, np.uint8), zero, sizes[0], np.frombuffer(old, np.uint8), zero, sizes[1])
    scheme = Scheme(COSTS, GLOBAL)
    cigar = trace_pairs(pairs, scheme, score_pairs(pairs, scheme)).cigar.tolist()
    return [(run & 15, run >> 4) for run in cigar]


def _move_left(bases: Bases, begin: int, old: bytes, new: bytes, barrier: int) -> tuple[int, bytes]:
    """Left-align a deletion of `old` or an insertion of `new`; return its start and inserted bases."""
    gap, ahead = old or new, b""
    shift = 0
    while begin - shift > barrier:
        if not ahead:
            ahead = bases.between(max(0, begin - shift - STRIDE), begin - shift)
        if ahead[-1] > 3 or ahead[-1] != gap[-1 - shift % len(gap)]:
            break
        ahead, shift = ahead[:-1], shift + 1
    turn = len(new) - shift % len(new) if new else 0
    return begin - shift, new[turn:] + new[:turn]
