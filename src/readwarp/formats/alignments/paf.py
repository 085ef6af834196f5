"""Compiled encoder of Alignments to lines of PAF, with the columns and tags of `minimap2 -c`.

    name, length, start, stop, strand                       of the read as sequenced
    name, length, start, stop                               of the contig
    matches; pairs of bases and bases in gaps, without the read's N; MAPQ
    NM:i  AS:i  nn:i (the read's N)  tp:A (P: primary or part of a split read, S: secondary)  de:f  cg:Z
    cs:Z, if the records have it

de is the fraction of differences, a gap counting once. minimap2's own tags on seeds and chains are omitted, and so are
unmapped reads.
"""

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments.layout import field_stop, get_number
from readwarp.formats.common.text import put_copy, put_name, put_next, put_number
from readwarp.rules.cigar import DELETION, HARD_CLIP, INSERTION, LETTER_BYTES, SHARES, SOFT_CLIP, rounded_share, run_of
from readwarp.rules.flags import REVERSE, SECONDARY, UNMAPPED

TAB, NEWLINE, PLUS, MINUS, ZERO, DOT, P, S = b"\t\n+-0.PS"
NM, AS, CS = (int.from_bytes(name, "little") for name in (b"NM", b"AS", b"cs"))
NM_TAG, AS_TAG, NN_TAG, TP_TAG, DE_TAG, CG_TAG, CS_TAG = (
    np.frombuffer(b"\t" + name, np.uint8)
    for name in (b"NM:i:", b"AS:i:", b"nn:i:", b"tp:A:", b"de:f:", b"cg:Z:", b"cs:Z:")
)


@scalar
def put_text(text, out, at):
    return put_copy(text, 0, text.size, out, at)


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
    head, tail, pairs, gap_bases, gaps = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
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
    at, rest, unit = at + 1, rounded % SHARES, SHARES // 10
    while unit > 0:
        out[at] = ZERO + rest // unit % 10
        at += 1
        unit //= 10
    return at


@kernel
def encode_paf(reads, rows, contigs, lengths, out):
    """Write lines to out (Encoded, large enough); contigs are Names, lengths int64 [contigs]. Return the bytes."""
    read, flag, contig, position, quality = rows.read, rows.flag, rows.contig, rows.position, rows.mapping_quality
    cigar, cigar_offsets, tags, tag_offsets = rows.cigar, rows.cigar_offsets, rows.tags, rows.tag_offsets
    names, name_offsets, bases, read_offsets = reads.names, reads.name_offsets, reads.bases, reads.read_offsets
    (contig_letters, contig_offsets), data, offsets, at = contigs, out.data, out.offsets, 0
    for row in range(read.size):
        offsets[row] = at
        if flag[row] & UNMAPPED:
            continue
        r, c, first, last = np.int64(read[row]), np.int64(contig[row]), cigar_offsets[row], cigar_offsets[row + 1]
        head, tail, pairs, gap_bases, gaps = measure(cigar, first, last)
        edits = number_of(tags, tag_offsets[row], tag_offsets[row + 1], NM)
        unequal, deleted = edits - gap_bases, np.int64(0)
        for i in range(first, last):
            deleted += np.int64(cigar[i] >> 4) if cigar[i] & 15 == DELETION else 0
        length, reverse = read_offsets[r + 1] - read_offsets[r], flag[row] & REVERSE != 0
        start, stop = (tail, length - head) if reverse else (head, length - tail)
        unknown = np.int64(0)
        for i in range(read_offsets[r] + start, read_offsets[r] + stop):
            unknown += bases[i] > 3
        at = put_name(names, name_offsets, r, data, at)
        at = put_next(TAB, length, data, at)
        at = put_next(TAB, start, data, at)
        at = put_next(TAB, stop, data, at)
        data[at], data[at + 1], data[at + 2] = TAB, MINUS if reverse else PLUS, TAB
        at = put_name(contig_letters, contig_offsets, c, data, at + 3)
        at = put_next(TAB, lengths[c], data, at)
        at = put_next(TAB, position[row], data, at)
        at = put_next(TAB, position[row] + pairs + deleted, data, at)
        at = put_next(TAB, pairs - unequal, data, at)
        at = put_next(TAB, pairs + gap_bases - unknown, data, at)
        at = put_next(TAB, np.int64(quality[row]), data, at)
        at = put_number(edits, data, put_text(NM_TAG, data, at))
        score = number_of(tags, tag_offsets[row], tag_offsets[row + 1], AS)
        at = put_number(score, data, put_text(AS_TAG, data, at))
        at = put_number(unknown, data, put_text(NN_TAG, data, at))
        at = put_text(TP_TAG, data, at)
        data[at] = S if flag[row] & SECONDARY else P
        at = put_share(unequal + gaps, pairs + gaps, data, at + 1)
        at = put_text(CG_TAG, data, at)
        for i in range(first, last):
            operation, count, _, _ = run_of(cigar[i])
            if operation != SOFT_CLIP and operation != HARD_CLIP:
                at = put_number(count, data, at)
                data[at] = LETTER_BYTES[operation]
                at += 1
        start, stop = find_field(tags, tag_offsets[row], tag_offsets[row + 1], CS)
        if start < stop:
            at = put_copy(tags, start + 3, stop - 1, data, put_text(CS_TAG, data, at))
        data[at] = NEWLINE
        at += 1
    offsets[read.size] = at
    return at
