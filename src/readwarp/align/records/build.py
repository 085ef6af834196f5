"""Traced places to output rows: which are kept, their fields and CIGARs."""

import numpy as np

from readwarp.align.pair.scalar import contig_of
from readwarp.align.records.choose import SUPPLEMENTARY, Choices
from readwarp.align.records.tags import encode_tags
from readwarp.batches import Alignments, Extensions, ReadBatch, Segment, Status
from readwarp.config import AlignParameters
from readwarp.device.jit import kernel
from readwarp.index.store import Reference

UNPAIRED, FIRST, UNGAPPED = int(Segment.UNPAIRED), int(Segment.FIRST), int(Status.UNGAPPED)
M, INSERTION, DELETION, SOFT_CLIP, HARD_CLIP, EQUAL, DIFFERENT = 0, 1, 2, 4, 5, 7, 8


@kernel
def half_shared(a, b, length, strand, query_start, query_stop):
    """Whether two traced places share at least half of the shorter span of the read."""
    head_a, tail_a, head_b, tail_b = query_start[a], query_stop[a], query_start[b], query_stop[b]
    if strand[a] != strand[b]:
        head_b, tail_b = length - tail_b, length - head_b
    return 2 * (min(tail_a, tail_b) - max(head_a, head_b)) >= min(tail_a - head_a, tail_b - head_b)


@kernel
def lay_rows(
    read_offsets,
    choice_offsets,
    role,
    strand,
    score,
    query_start,
    query_stop,
    status,
    min_score,
    row_offsets,
    row_read,
    row_choice,
):
    """The choice behind each output row (-1: unmapped): the primary, then supplementary ones that add a part of the read."""
    made = 0
    row_offsets[0] = 0
    for r in range(read_offsets.size - 1):
        length, first_row = read_offsets[r + 1] - read_offsets[r], made
        least = min(min_score, max(1, length // 2))
        row_read[made], row_choice[made] = r, -1
        made += 1
        for e in range(choice_offsets[r], choice_offsets[r + 1]):
            if status[e] > UNGAPPED or score[e] < least:
                if role[e] == 0:
                    break
                continue
            if role[e] == 0:
                row_choice[first_row] = e
            elif role[e] == SUPPLEMENTARY:
                adds = True
                for row in range(first_row, made):
                    adds &= not half_shared(row_choice[row], e, length, strand, query_start, query_stop)
                if adds:
                    row_read[made], row_choice[made] = r, e
                    made += 1
        row_offsets[r + 1] = made
    return made


@kernel
def fill_mate_fields(
    segment,
    row_offsets,
    row_read,
    row_choice,
    strand,
    stop,
    proper,
    contig_offsets,
    flag,
    contig,
    position,
    mate_contig,
    mate_position,
    template,
):
    """Flags and mate fields of all rows, and the place of unmapped reads beside their mates."""
    for row in range(row_read.size):
        r = row_read[row]
        e = row_choice[row]
        flag[row] = (0x4 if e < 0 else 0x10 * strand[e]) | (0x800 if row > row_offsets[r] else 0)
        mate_contig[row], mate_position[row], template[row] = -1, -1, 0
        if segment[r] == UNPAIRED:
            continue
        mate_row = row_offsets[r + 1] if segment[r] == FIRST else row_offsets[r - 1]
        m = row_choice[mate_row]
        flag[row] |= 0x41 if segment[r] == FIRST else 0x81
        flag[row] |= 0x8 if m < 0 else 0x20 * strand[m]
        if m >= 0:
            mate_contig[row], mate_position[row] = contig[mate_row], position[mate_row]
            if e < 0:
                contig[row], position[row] = contig[mate_row], position[mate_row]
        elif e >= 0:
            mate_contig[row], mate_position[row] = contig[row_offsets[r]], position[row_offsets[r]]
        if e >= 0 and m >= 0:
            flag[row] |= 0x2 * proper[r]
            if contig[row] == contig[mate_row]:
                own = position[row] if strand[e] == 0 else stop[e] - contig_offsets[contig[row]] - 1
                other = position[mate_row] if strand[m] == 0 else stop[m] - contig_offsets[contig[mate_row]] - 1
                template[row] = other - own + (1 if other > own else (-1 if other < own else 0))


@kernel
def fill_places(row_choice, start, contig_offsets, mapping_quality, contig, position, row_quality):
    """Contig, position and MAPQ of mapped rows; -1, -1 and 0 of the others."""
    for row in range(row_choice.size):
        e = row_choice[row]
        contig[row], position[row], row_quality[row] = -1, -1, 0
        if e >= 0:
            contig[row] = contig_of(contig_offsets, start[e])
            position[row] = start[e] - contig_offsets[contig[row]]
            row_quality[row] = mapping_quality[e]


@kernel
def write_matches(count, q, position, read_start, read_stop, strand, bases, packed, out, made):
    """`count` aligned bases as runs of = and X; returns the number of operations written so far."""
    previous, run = -1, 0
    for i in range(count):
        base = np.int64(bases[read_start + q + i]) if strand == 0 else 3 - np.int64(bases[read_stop - 1 - q - i])
        where = position + i
        there = np.int64((packed[where >> 1] >> np.uint8((where & 1) << 2)) & 15)
        operation = EQUAL if base == there and 0 <= base <= 3 else DIFFERENT
        if operation != previous and run > 0:
            out[made] = run << 4 | previous
            made, run = made + 1, 0
        previous, run = operation, run + 1
    out[made] = run << 4 | previous
    return made + 1


@kernel
def write_cigars(read_offsets, bases, packed, row_offsets, row_read, row_choice, strand, query_start, query_stop, start,
                 operations, operation_offsets, hard, eqx, cigar, cigar_offsets):  # fmt: skip
    """CIGARs of all rows, clips included."""
    made = 0
    cigar_offsets[0] = 0
    for row in range(row_read.size):
        r, e = row_read[row], row_choice[row]
        if e >= 0:
            length = read_offsets[r + 1] - read_offsets[r]
            clip = HARD_CLIP if hard and row > row_offsets[r] else SOFT_CLIP
            q, position = np.int64(query_start[e]), start[e]
            if q > 0:
                cigar[made] = q << 4 | clip
                made += 1
            for i in range(operation_offsets[e], operation_offsets[e + 1]):
                count, operation = np.int64(operations[i] >> 4), operations[i] & 15
                if eqx and operation == M:
                    made = write_matches(
                        count, q, position, read_offsets[r], read_offsets[r + 1], strand[e], bases, packed, cigar, made
                    )
                else:
                    cigar[made] = operations[i]
                    made += 1
                q += count if operation != DELETION else 0
                position += count if operation != INSERTION else 0
            if query_stop[e] < length:
                cigar[made] = (length - query_stop[e]) << 4 | clip
                made += 1
        cigar_offsets[row + 1] = made
    return made


def build(
    reads: ReadBatch, choices: Choices, extensions: Extensions, reference: Reference, parameters: AlignParameters
) -> Alignments:
    """Output rows of a batch; row e of `extensions` is the trace of row e of `choices`."""
    records, n = parameters.records, len(reads)
    room = n + int((choices.role == SUPPLEMENTARY).sum())
    row_offsets, row_read, row_choice = np.empty(n + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int64)
    rows = lay_rows(
        reads.read_offsets, choices.choice_offsets, choices.role, choices.strand, extensions.score, extensions.query_start,
        extensions.query_stop, extensions.status, records.min_score, row_offsets, row_read, row_choice,
    )  # fmt: skip
    row_read, row_choice = row_read[:rows], row_choice[:rows]
    contig, mate_contig, flag = np.empty(rows, np.int32), np.empty(rows, np.int32), np.empty(rows, np.uint16)
    quality = np.empty(rows, np.uint8)
    position, mate_position, template = (np.empty(rows, np.int64) for _ in range(3))
    fill_places(
        row_choice,
        extensions.reference_start,
        reference.contig_offsets,
        choices.mapping_quality,
        contig,
        position,
        quality,
    )
    fill_mate_fields(
        reads.segment, row_offsets, row_read, row_choice, choices.strand, extensions.reference_stop, choices.proper,
        reference.contig_offsets, flag, contig, position, mate_contig, mate_position, template,
    )  # fmt: skip
    operations = int(np.diff(extensions.cigar_offsets).sum()) + 2 * rows
    if records.eqx:
        operations += 2 * int(extensions.edit_distance.sum())
    cigar, cigar_offsets = np.empty(operations, np.uint32), np.empty(rows + 1, np.int64)
    used = write_cigars(
        reads.read_offsets, reads.bases, reference.packed, row_offsets, row_read, row_choice, choices.strand,
        extensions.query_start, extensions.query_stop, extensions.reference_start, extensions.cigar, extensions.cigar_offsets,
        not records.soft_clip_supplementary, records.eqx, cigar, cigar_offsets,
    )  # fmt: skip
    tags, tag_offsets = encode_tags(
        reads,
        choices,
        extensions,
        reference,
        row_offsets,
        row_read,
        row_choice,
        contig,
        position,
        quality,
        cigar,
        cigar_offsets,
    )
    return Alignments(
        read=row_read, flag=flag, contig=contig, position=position, mapping_quality=quality, cigar=cigar[:used],
        cigar_offsets=cigar_offsets, mate_contig=mate_contig, mate_position=mate_position, template_length=template,
        tags=tags, tag_offsets=tag_offsets,
    )  # fmt: skip
