"""Count along the bases of a read: letters and qualities by cycle, mismatches, gaps."""

import numpy as np

from readwarp.compiler.jit import scalar
from readwarp.formats.alignments.layout import FLAG, bases_of, cigar_of, qualities_of, uint16_at, uint32_at
from readwarp.report.counting.tables import FIRST, LAST, LONG, LONGEST_GAP
from readwarp.rules.cigar import DELETION, HARD_CLIP, INSERTION, SKIP, is_match, run_of
from readwarp.rules.flags import REVERSE

N = 15  # BAM code
C, G = 2, 4


@scalar
def unpack_codes(data, at, out):
    """Unpack a record's bases, as BAM codes, to `out` (uint8, with room for at least one more)."""
    start, length = bases_of(data, at)
    source = np.uint64(start)
    for i in range(np.uint64(length + 1) >> np.uint64(1)):
        byte = data[source + i]
        out[np.uint64(2) * i] = byte >> 4
        out[np.uint64(2) * i + np.uint64(1)] = byte & 15


@scalar
def count_gc(codes, length):
    """Count the G and C among the first `length` codes."""
    number = np.int64(0)
    for i in range(np.uint64(length)):
        number += (codes[i] == C) | (codes[i] == G)
    return number


@scalar
def count_letters(codes, length, is_reverse, out):
    """Add the letters of a read to out (int64 [16, cycles])."""
    last = np.uint64(length - 1)
    for i in range(np.uint64(length)):
        out[codes[i], last - i if is_reverse else i] += 1


@scalar
def count_qualities(data, at, is_reverse, out):
    """Add the qualities of a read to out (int64 [256, cycles]); return their sum."""
    start, stop = qualities_of(data, at)
    first, last = np.uint64(start), np.uint64(stop - start - 1)
    total = np.int64(0)
    for i in range(np.uint64(stop - start)):
        quality = data[first + i]
        out[quality, last - i if is_reverse else i] += 1
        total += quality
    return total


@scalar
def sum_qualities(data, at):
    start, stop = qualities_of(data, at)
    total = np.int64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        total += data[i]
    return total


@scalar
def count_mismatches(data, at, codes, reference, first, mirror, out):
    """Add the bases of a read that differ from the reference, and N, to `mismatches` of Tables.

    codes: of the read. reference: BAM codes, 0 for letters other than ACGT; the read is aligned from the place `first`
    on. mirror: for a reverse read its bases, hard clips included; 0 for a forward one. Like samtools stats, bases after
    a skip are compared with the reference after the base before the skip.
    """
    qualities, _ = qualities_of(data, at)
    cigar, operations = cigar_of(data, at)
    base = cycle = np.int64(0)
    place = np.int64(first)
    for i in range(operations):
        operation, length, on_reference, on_read = run_of(uint32_at(data, cigar + 4 * i))
        if is_match(operation) and differ(codes, base, reference, place, length):
            for j in range(length):
                code, known = codes[np.uint64(base + j)], reference[np.uint64(place + j)]
                if code != known and (code == N or (code != 0 and known != 0)):
                    quality = np.uint8(data[np.uint64(qualities + base + j)] + 1)  # 255, for none, becomes 0
                    row = mirror - 1 - cycle - j if mirror else cycle + j
                    out[row, 0 if code == N else quality] += 1
        base, cycle = base + on_read, cycle + (length if operation == HARD_CLIP else on_read)
        place += 0 if operation == SKIP else on_reference


@scalar
def differ(codes, base, reference, place, length):
    """Return whether any of `length` codes differ."""
    bits = np.uint8(0)
    base, place = np.uint64(base), np.uint64(place)
    for j in range(np.uint64(length)):
        bits |= codes[base + j] ^ reference[place + j]
    return bits != 0


@scalar
def count_gaps(data, at, segment, out):
    """Add the insertions and deletions of a read to `gap_cycles` and `gap_lengths` of Tables.

    An insertion is at the cycle of its first base, a deletion at that of the base before it, if there is one. Reads
    that are both first and last, or neither, and long reads do not count by cycle.
    """
    _, bases = bases_of(data, at)
    is_reverse = uint16_at(data, at + FLAG) & REVERSE != 0
    cigar, operations = cigar_of(data, at)
    base = np.int64(0)
    for i in range(operations):
        operation, length, _, on_read = run_of(uint32_at(data, cigar + 4 * i))
        if length > 0 and (operation == INSERTION or operation == DELETION):
            is_deletion = operation == DELETION
            cycle = bases - base - (1 if is_deletion else length) if is_reverse else base - is_deletion
            if cycle >= 0:
                out.gap_lengths[min(length, LONGEST_GAP + 1), 1 if is_deletion else 0] += 1
                if cycle < LONG and (segment == FIRST or segment == LAST):
                    out.gap_cycles[cycle, 2 * is_deletion + segment - FIRST] += 1
        base += on_read
