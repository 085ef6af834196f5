"""Traced places to output rows: which are kept, their fields and CIGARs."""

import numpy as np

from readwarp.align.pair.scalar import contig_of
from readwarp.align.records.choose import PRIMARY, SUPPLEMENTARY, Choices, least_mate_score
from readwarp.align.records.tags import encode_tags
from readwarp.align.records.views import Rows, Traces, view_traces
from readwarp.align.views import view_reads, view_reference
from readwarp.batches import Alignments, Extensions, ReadBatch, Segment, Status
from readwarp.config import AlignParameters
from readwarp.device.jit import kernel
from readwarp.index.reference import Reference

UNPAIRED, FIRST, UNGAPPED = int(Segment.UNPAIRED), int(Segment.FIRST), int(Status.UNGAPPED)
MATCHES, INSERTION, DELETION, SOFT_CLIP, HARD_CLIP, EQUAL, DIFFERENT = 0, 1, 2, 4, 5, 7, 8


@kernel
def shares_half(a, b, length, traces):
    """Whether two traced places share at least half of the shorter span of the read."""
    head_a, tail_a = traces.query_start[a], traces.query_stop[a]
    head_b, tail_b = traces.query_start[b], traces.query_stop[b]
    if traces.strand[a] != traces.strand[b]:
        head_b, tail_b = length - tail_b, length - head_b
    return 2 * (min(tail_a, tail_b) - max(head_a, head_b)) >= min(tail_a - head_a, tail_b - head_b)


@kernel
def lay_rows(read_offsets, traces, min_score, min_mate_score, rows):
    """The trace behind each row (-1: unmapped): the primary, then supplementary ones that add a part of the read.

    A read of a proper pair is reported from min_mate_score on.
    """
    made = 0
    rows.offsets[0] = 0
    for r in range(read_offsets.size - 1):
        length, first = read_offsets[r + 1] - read_offsets[r], made
        half = max(1, length // 2)
        rows.read[made], rows.trace[made] = r, -1
        made += 1
        for e in range(traces.offsets[r], traces.offsets[r + 1]):
            beside_mate = traces.role[e] == PRIMARY and traces.proper[r]
            least = min(half, min_mate_score if beside_mate else min_score)
            if traces.status[e] > UNGAPPED or traces.score[e] < least:
                if traces.role[e] == PRIMARY:
                    break
            elif traces.role[e] == PRIMARY:
                rows.trace[first] = e
            elif traces.role[e] == SUPPLEMENTARY:
                adds = True
                for row in range(first, made):
                    adds = adds and not shares_half(rows.trace[row], e, length, traces)
                if adds:
                    rows.read[made], rows.trace[made] = r, e
                    made += 1
        rows.offsets[r + 1] = made
    return made


@kernel
def fill_places(rows, traces, contig_offsets):
    """Contig, position and MAPQ of mapped rows; -1, -1 and 0 of the others."""
    for row in range(rows.read.size):
        e = rows.trace[row]
        rows.contig[row], rows.position[row], rows.mapping_quality[row] = -1, -1, 0
        if e >= 0:
            contig = contig_of(contig_offsets, traces.start[e])
            rows.contig[row], rows.position[row] = contig, traces.start[e] - contig_offsets[contig]
            rows.mapping_quality[row] = traces.mapping_quality[e]


@kernel
def template_length(row, mate_row, rows, traces, contig_offsets):
    """From the 5' end of the row to that of its mate, both counted; bwa's rule."""
    e, m = rows.trace[row], rows.trace[mate_row]
    if rows.contig[row] != rows.contig[mate_row]:
        return 0
    own = traces.start[e] if traces.strand[e] == 0 else traces.stop[e] - 1
    other = traces.start[m] if traces.strand[m] == 0 else traces.stop[m] - 1
    return other - own + (1 if other > own else (-1 if other < own else 0))


@kernel
def fill_mates(segment, rows, traces, contig_offsets, flag, mate_contig, mate_position, template):
    """Flags and mate fields; an unmapped read gets the place of its mapped mate."""
    for row in range(rows.read.size):
        r, e = rows.read[row], rows.trace[row]
        own_row = rows.offsets[r]
        flag[row] = (0x4 if e < 0 else 0x10 * traces.strand[e]) | (0x800 if row > own_row else 0)
        mate_contig[row], mate_position[row], template[row] = -1, -1, 0
        if segment[r] == UNPAIRED:
            continue
        mate_row = rows.offsets[r + 1] if segment[r] == FIRST else rows.offsets[r - 1]
        m = rows.trace[mate_row]
        flag[row] |= 0x41 if segment[r] == FIRST else 0x81
        flag[row] |= 0x8 if m < 0 else 0x20 * traces.strand[m]
        place_row = mate_row if m >= 0 else own_row
        if m >= 0 or e >= 0:
            mate_contig[row], mate_position[row] = rows.contig[place_row], rows.position[place_row]
        if e < 0:
            rows.contig[row], rows.position[row] = mate_contig[row], mate_position[row]
        elif m >= 0:
            flag[row] |= 0x2 * traces.proper[r]
            template[row] = template_length(row, mate_row, rows, traces, contig_offsets)


@kernel
def write_matches(count, q, position, read_start, read_stop, strand, bases, packed, out, made):
    """`count` aligned bases as runs of = and X; returns the number of operations written so far."""
    previous, run = -1, 0
    for i in range(count):
        base = np.int64(bases[read_start + q + i]) if strand == 0 else 3 - np.int64(bases[read_stop - 1 - q - i])
        there = np.int64((packed[(position + i) >> 1] >> np.uint8(((position + i) & 1) << 2)) & 15)
        operation = EQUAL if base == there and 0 <= base <= 3 else DIFFERENT
        if operation != previous and run > 0:
            out[made] = run << 4 | previous
            made, run = made + 1, 0
        previous, run = operation, run + 1
    out[made] = run << 4 | previous
    return made + 1


@kernel
def write_cigars(reads, reference, rows, traces, hard_clips, eqx, cigar, cigar_offsets):
    """CIGARs of all rows, clips included; returns their operations."""
    made = 0
    cigar_offsets[0] = 0
    for row in range(rows.read.size):
        r, e = rows.read[row], rows.trace[row]
        if e >= 0:
            first, last, strand = reads.offsets[r], reads.offsets[r + 1], traces.strand[e]
            clip = HARD_CLIP if hard_clips and row > rows.offsets[r] else SOFT_CLIP
            q, position = np.int64(traces.query_start[e]), traces.start[e]
            if q > 0:
                cigar[made] = q << 4 | clip
                made += 1
            for i in range(traces.operation_offsets[e], traces.operation_offsets[e + 1]):
                count, operation = np.int64(traces.operations[i] >> 4), traces.operations[i] & 15
                if eqx and operation == MATCHES:
                    made = write_matches(
                        count, q, position, first, last, strand, reads.bases, reference.packed, cigar, made
                    )
                else:
                    cigar[made] = traces.operations[i]
                    made += 1
                q += count if operation != DELETION else 0
                position += count if operation != INSERTION else 0
            if q < last - first:
                cigar[made] = (last - first - q) << 4 | clip
                made += 1
        cigar_offsets[row + 1] = made
    return made


def build(
    reads: ReadBatch, choices: Choices, extensions: Extensions, reference: Reference, parameters: AlignParameters
) -> Alignments:
    """Output rows of a batch; row e of `extensions` is the trace of row e of `choices`."""
    read_view, reference_view = view_reads(reads), view_reference(reference)
    traces, records = view_traces(choices, extensions), parameters.records
    lowest = records.min_score, least_mate_score(parameters)
    rows = made_rows(reads, traces, int((choices.role == SUPPLEMENTARY).sum()), lowest)
    n = rows.read.size
    fill_places(rows, traces, reference.contig_offsets)
    flag, mate_contig = np.empty(n, np.uint16), np.empty(n, np.int32)
    mate_position, template = np.empty(n, np.int64), np.empty(n, np.int64)
    fill_mates(reads.segment, rows, traces, reference.contig_offsets, flag, mate_contig, mate_position, template)
    room = extensions.cigar.size + 2 * n + (2 * int(extensions.edit_distance.sum()) if records.eqx else 0)
    cigar, cigar_offsets = np.empty(room, np.uint32), np.empty(n + 1, np.int64)
    hard_clips = not records.soft_clip_supplementary
    used = write_cigars(read_view, reference_view, rows, traces, hard_clips, records.eqx, cigar, cigar_offsets)
    tags, tag_offsets = encode_tags(read_view, reference, rows, traces, cigar, cigar_offsets)
    return Alignments(
        read=rows.read,
        flag=flag,
        contig=rows.contig,
        position=rows.position,
        mapping_quality=rows.mapping_quality,
        cigar=cigar[:used],
        cigar_offsets=cigar_offsets,
        mate_contig=mate_contig,
        mate_position=mate_position,
        template_length=template,
        tags=tags,
        tag_offsets=tag_offsets,
    )


def made_rows(reads: ReadBatch, traces: Traces, supplementary: int, lowest: tuple[int, int]) -> Rows:
    """Rows with their traces; the places are not filled yet. lowest: scores, in general and beside the mate."""
    room = len(reads) + supplementary
    offsets, read, trace = np.empty(len(reads) + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int64)
    places = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.uint8)
    made = lay_rows(reads.read_offsets, traces, *lowest, Rows(offsets, read, trace, *places))
    return Rows(offsets, *(column[:made] for column in (read, trace, *places)))
