"""Encoder of alignments to lines of PAF, with the columns and tags of `minimap2 -c`.

    name, length, start, stop, strand                       of the read as sequenced
    name, length, start, stop                               of the contig
    matches; pairs of bases and bases in gaps, without the read's N; MAPQ
    NM:i  AS:i  nn:i (the read's N)  tp:A (P: primary or part of a split read, S: secondary)  de:f  cg:Z
    cs:Z, if the records have it

de is the fraction of differences, a gap counting once. minimap2's own tags on seeds and chains are omitted, and so are
unmapped reads.
"""

import numpy as np

from readwarp.compiler.jit import scalar
from readwarp.device.rows import ragged_rows
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.layout import field_stop, get_number
from readwarp.formats.common.text import put_copy, put_name, put_next, put_number, put_text
from readwarp.rules.cigar import DELETION, HARD_CLIP, INSERTION, LETTER_BYTES, SHARES, SOFT_CLIP, rounded_share, run_of
from readwarp.rules.flags import REVERSE, SECONDARY, UNMAPPED

FIXED_ROOM = 300  # bytes of a line besides names, CIGAR and cs
TAB, NEWLINE, PLUS, MINUS, ZERO, DOT, P, S = b"\t\n+-0.PS"
NM, AS, CS = (int.from_bytes(name, "little") for name in (b"NM", b"AS", b"cs"))
NM_TAG, AS_TAG, NN_TAG, TP_TAG, DE_TAG, CG_TAG, CS_TAG = (
    np.frombuffer(b"\t" + name, np.uint8)
    for name in (b"NM:i:", b"AS:i:", b"nn:i:", b"tp:A:", b"de:f:", b"cg:Z:", b"cs:Z:")
)


@scalar
def find_field(tags, start, stop, name):
    """Return where the field of this name starts and stops; at `stop` if there is none."""
    while start < stop:
        end = field_stop(tags, start, stop)
        if np.int64(tags[start]) | np.int64(tags[start + 1]) << 8 == name:
            return start, end
        start = end
    return stop, stop


@scalar
def number_of(tags, start, stop, name):
    """Return the value of an integer tag; 0 if there is none."""
    at, stop = find_field(tags, start, stop, name)
    return get_number(tags, at + 3, tags[at + 2]) if at < stop else np.int64(0)


@scalar
def measure(cigar, first, last):
    """Return (clipped at the start, clipped at the end, aligned pairs, bases in gaps, gaps) of cigar[first:last]."""
    head = tail = pairs = gap_bases = gaps = np.int64(0)
    for i in range(first, last):
        operation, length, _, _ = run_of(cigar[i])
        if operation == SOFT_CLIP or operation == HARD_CLIP:
            if i == first:
                head = length
            else:
                tail = length
        elif operation == INSERTION or operation == DELETION:
            gap_bases += length
            gaps += 1
        else:
            pairs += length
    return head, tail, pairs, gap_bases, gaps


@scalar
def put_share(part, whole, out, at):
    """Put part / whole with four decimals; just 0 for none."""
    at, rounded = put_text(DE_TAG, out, at), rounded_share(part, whole)
    at = put_number(rounded // SHARES, out, at)
    if part == 0:
        return at
    out[at] = DOT
    at += 1
    rest, unit = rounded % SHARES, SHARES // 10
    while unit > 0:
        out[at] = ZERO + rest // unit % 10
        at += 1
        unit //= 10
    return at


@scalar
def room_of_paf(row, reads, rows, contigs, lengths):
    """Return the maximum bytes of a line."""
    if rows.flag[row] & UNMAPPED:
        return np.int64(0)
    contig, r = rows.contig[row], rows.read[row]
    names = contigs.offsets[contig + 1] - contigs.offsets[contig] + reads.name_offsets[r + 1] - reads.name_offsets[r]
    operations = rows.cigar_offsets[row + 1] - rows.cigar_offsets[row]
    return FIXED_ROOM + names + 10 * operations + rows.tag_offsets[row + 1] - rows.tag_offsets[row]


@ragged_rows(Encoded, room_of_paf)
def put_paf(row, at, reads, rows, contigs, lengths, out):
    """Put the line of a mapped record; contigs are Names, lengths int64 [contigs]."""
    data, cigar, tags = out.data, rows.cigar, rows.tags
    if rows.flag[row] & UNMAPPED:
        return at
    r, origin = np.int64(rows.read[row]), reads.read_offsets[rows.read[row]]
    first, last = rows.cigar_offsets[row], rows.cigar_offsets[row + 1]
    begin, end = rows.tag_offsets[row], rows.tag_offsets[row + 1]
    head, tail, pairs, gap_bases, gaps = measure(cigar, first, last)
    edits = number_of(tags, begin, end, NM)
    unequal, deleted = edits - gap_bases, np.int64(0)
    for i in range(first, last):
        deleted += np.int64(cigar[i] >> 4) if cigar[i] & 15 == DELETION else 0
    length, reverse = reads.read_offsets[r + 1] - origin, rows.flag[row] & REVERSE != 0
    start, stop = (tail, length - head) if reverse else (head, length - tail)
    unknown = np.int64(0)
    for i in range(origin + start, origin + stop):
        unknown += reads.bases[i] > 3
    at = put_name((reads.names, reads.name_offsets), r, data, at)
    at = put_next(TAB, length, data, at)
    at = put_next(TAB, start, data, at)
    at = put_next(TAB, stop, data, at)
    data[at] = data[at + 2] = TAB
    data[at + 1] = MINUS if reverse else PLUS
    at = put_name(contigs, np.int64(rows.contig[row]), data, at + 3)
    at = put_next(TAB, lengths[rows.contig[row]], data, at)
    at = put_next(TAB, rows.position[row], data, at)
    at = put_next(TAB, rows.position[row] + pairs + deleted, data, at)
    at = put_next(TAB, pairs - unequal, data, at)
    at = put_next(TAB, pairs + gap_bases - unknown, data, at)
    at = put_next(TAB, np.int64(rows.mapping_quality[row]), data, at)
    at = put_number(edits, data, put_text(NM_TAG, data, at))
    score = number_of(tags, begin, end, AS)
    at = put_number(score, data, put_text(AS_TAG, data, at))
    at = put_number(unknown, data, put_text(NN_TAG, data, at))
    at = put_text(TP_TAG, data, at)
    data[at] = S if rows.flag[row] & SECONDARY else P
    at = put_share(unequal + gaps, pairs + gaps, data, at + 1)
    at = put_text(CG_TAG, data, at)
    for i in range(first, last):
        operation, count, _, _ = run_of(cigar[i])
        if operation != SOFT_CLIP and operation != HARD_CLIP:
            at = put_number(count, data, at)
            data[at] = LETTER_BYTES[operation]
            at += 1
    start, stop = find_field(tags, begin, end, CS)
    if start < stop:
        at = put_copy(tags, start + 3, stop - 1, data, put_text(CS_TAG, data, at))
    data[at] = NEWLINE
    return at + 1
