"""Pair mates that overlap, map the bases of one to the other's, and merge overlaps that stay apart (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.reads.mates import MAX_RECORDS
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import empty
from readwarp.rules.cigar import is_match, run_of
from readwarp.rules.flags import FIRST, LAST, PAIRED, REVERSE

MAX_RUN = 64  # reads of one name in a simple sort
NONE = -1
SEGMENTS = FIRST | LAST
BLOCK = 1 << 12  # reference positions merged at a time


class OverlappingMates(NamedTuple):
    """Mate of each read, if they overlap; bases are numbered as in AlignedReads."""

    mate: Annotated[ndarray, "int64 [reads]"]  # NONE without one
    shift: Annotated[ndarray, "int64 [reads]"]  # base j of the mate is base j + shift of the read
    begin: Annotated[ndarray, "int64 [reads]"]  # stretch that both align alike, in bases of the read
    end: Annotated[ndarray, "int64 [reads]"]
    meets: Annotated[ndarray, "bool [reads]"]  # some reads of its name overlap


def find_pairs(reads: AlignedReads) -> OverlappingMates:
    """Pair each forward read with the free reverse mate that shares the longest stretch with it."""
    out = empty(OverlappingMates, {}, mate=np.full(len(reads), NONE, np.int64))
    pair_reads(reads, order_by_name(reads.name_hash), out)
    return out


def order_by_name(name_hash: ndarray) -> ndarray:
    """Sort the reads (int64) by the hashes of their names, ties in file order."""
    order: ndarray = np.argsort(name_hash)  # a stable sort takes six times as long
    return order if sort_equals(name_hash, order) else np.argsort(name_hash, kind="stable")


@kernel
def sort_equals(values, order):
    """Sort each run of equal values in the order by place. Return False, unfinished, at a run of more than MAX_RUN."""
    for i in range(1, order.size):
        row, place = order[i], i
        while place > 0 and order[place - 1] > row and values[order[place - 1]] == values[row]:
            order[place] = order[place - 1]
            place -= 1
            if i - place > MAX_RUN:
                return False
        order[place] = row
    return True


@kernel
def pair_reads(reads, order, out):
    """Fill `out` with pairs. order: reads by name, then in file order."""
    name_hash, flag = reads.name_hash, reads.flag
    position, reference_stop = reads.position, reads.reference_stop
    first = 0
    while first < order.size:
        stop, reach = first + 1, reference_stop[order[first]]
        while stop < order.size and name_hash[order[stop]] == name_hash[order[first]] and position[order[stop]] < reach:
            reach = max(reach, reference_stop[order[stop]])
            stop += 1
        for k in range(first, stop):
            out.meets[order[k]] = stop - first > 1
        if 1 < stop - first <= MAX_RECORDS:
            for a in range(first, stop):
                one = order[a]
                if flag[one] & REVERSE or not flag[one] & PAIRED:
                    continue
                size = np.int64(0)
                for b in range(first, stop):
                    other = order[b]
                    is_mate = flag[other] & REVERSE and (flag[one] ^ flag[other]) & SEGMENTS == SEGMENTS
                    is_free = out.mate[other] == NONE and reads.sample[one] == reads.sample[other]
                    overlaps = position[one] < reference_stop[other] and position[other] < reference_stop[one]
                    if is_mate and is_free and overlaps:
                        base, mate_base, found = find_shared(reads, one, other)
                        if found > size:
                            size, out.mate[one] = found, other
                            out.shift[one], out.begin[one], out.end[one] = base - mate_base, base, base + found
                if size:
                    other = out.mate[one]
                    out.mate[other], out.shift[other] = one, -out.shift[one]
                    out.begin[other], out.end[other] = out.begin[one] - out.shift[one], out.end[one] - out.shift[one]
        first = stop


@kernel
def find_shared(reads, one, other):
    """Find the longest stretch that two reads align alike, gaps included: its first base in each, its size."""
    i, p = reads.cigar_offsets[one], reads.position[one]
    q = reads.read_offsets[one]
    j, u = reads.cigar_offsets[other], reads.position[other]
    v = reads.read_offsets[other]
    base = mate_base = size = np.int64(0)
    first = mate_first = np.int64(NONE)  # first bases of the stretch so far
    while i < reads.cigar_offsets[one + 1] and j < reads.cigar_offsets[other + 1]:
        operation, _, on_reference, on_read = run_of(reads.cigar[i])
        mate_operation, _, mate_on_reference, mate_on_read = run_of(reads.cigar[j])
        start, stop = max(p, u), min(p + on_reference, u + mate_on_reference)
        if is_match(operation) and is_match(mate_operation) and start < stop:
            own, others = q + start - p, v + start - u
            if first == NONE or own - first != others - mate_first:
                first, mate_first = own, others
            if own + stop - start - first > size:
                base, mate_base = first, mate_first
                size = own + stop - start - first
        if p + on_reference <= u + mate_on_reference:
            i, p = i + 1, p + on_reference
            q += on_read
        else:
            j, u = j + 1, u + mate_on_reference
            v += mate_on_read
    return base, mate_base, size


def merge_mates(reads: AlignedReads, rows: ndarray) -> None:
    """Merge the qualities of bases that the reads in `rows` (int64, ascending) show twice. See the step's contract."""
    order = rows[order_by_name(reads.name_hash[rows])]
    merge_groups(reads, order, np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64))


@kernel
def merge_groups(reads, order, places, others):
    """Merge the qualities in place. order: reads by name, then in file order. places, others: scratch for a block."""
    position = reads.position
    for i in range(order.size - 1):
        first, following = order[i], order[i + 1]
        if reads.name_hash[following] != reads.name_hash[first] or position[following] >= reads.reference_stop[first]:
            continue
        for block in range(position[first], reads.reference_stop[first], places.size):
            stop = min(reads.reference_stop[first], block + places.size)
            own = reads.cigar_offsets[first], reads.cigar_offsets[first + 1]
            locate_bases(reads.cigar, own, position[first], reads.read_offsets[first], block, stop, places)
            if not has_quality(reads.qualities, places[: stop - block]):
                continue
            for j in range(i + 1, order.size):
                second = order[j]
                if reads.name_hash[second] != reads.name_hash[first] or position[second] >= stop:
                    break
                low, high = max(block, position[second]), min(stop, reads.reference_stop[second])
                if reads.sample[second] == reads.sample[first] and low < high:
                    own = reads.cigar_offsets[second], reads.cigar_offsets[second + 1]
                    locate_bases(reads.cigar, own, position[second], reads.read_offsets[second], low, high, others)
                    merge_bases(reads.bases, reads.qualities, places[low - block : high - block], others)


@kernel
def locate_bases(cigar, operations, p, q, start, stop, places):
    """Set `places` to the base that a read aligns to each position of [start, stop), -1 for none.

    operations: the read's first and stop. p: position of its first aligned base. q: its first base.
    """
    places[: stop - start] = -1
    for i in range(operations[0], operations[1]):
        operation, length, on_reference, on_read = run_of(cigar[i])
        if is_match(operation):
            for k in range(max(0, start - p), min(length, stop - p)):
                places[p + k - start] = q + k
        p, q = p + on_reference, q + on_read


@kernel
def has_quality(qualities, places):
    for k in range(places.size):  # noqa: SIM110 (in kernels, generators are slow)
        if places[k] >= 0 and qualities[places[k]] > 0:
            return True
    return False


@kernel
def merge_bases(bases, qualities, places, others):
    """Merge the bases of two reads at each position. `places` belong to the read that is first in the file."""
    for i in range(places.size):
        first, second = places[i], others[i]
        if first < 0 or second < 0:
            continue
        one, two = qualities[first], qualities[second]
        doubt = np.uint8(0) if bases[first] == bases[second] else min(one, two)
        qualities[first] = 0 if two > one else one - doubt
        qualities[second] = two - doubt if two > one else 0
