"""Turn traced places into records: which are reported, with which fields and CIGARs."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.batches import Extensions
from readwarp.align.long.lengths import are_long
from readwarp.align.places import are_rivals, turned
from readwarp.align.records.choose import (
    ALTERNATE,
    FIRST,
    PRIMARY,
    SECONDARY,
    SUPPLEMENTARY,
    UNGAPPED,
    UNPAIRED,
    Choices,
    TracedChoices,
    min_mate_score,
)
from readwarp.align.records.tags import RecordRows, are_equal, base_of, encode_tags
from readwarp.compiler.jit import kernel
from readwarp.config import AlignParameters
from readwarp.formats.alignments.records import AlignmentBatch
from readwarp.formats.common.reads import ReadBatch
from readwarp.index.reference import Reference
from readwarp.ragged import empty, replace, take
from readwarp.rules import flags
from readwarp.rules.bases import base_at
from readwarp.rules.cigar import EQUAL, HARD_CLIP, MATCH, SOFT_CLIP, UNEQUAL, run_of


class Layout(NamedTuple):
    """Rules for which places of a read become records."""

    min_score: int
    min_mate_score: int  # for a read of a proper pair
    secondary: bool  # secondary places become records
    five_prime: bool  # the part sequenced first becomes the primary of a split read


@kernel
def lay_rows(read_offsets, aligned, traced, layout, rows):
    """Lay out the rows of each read: primary, supplementary alignments that add a part or are ALT hits, secondary ones.

    aligned: number of bases of each read that were aligned. Returns the number of rows.
    """
    (offsets, reads, traces, kinds), (choices, extensions) = rows, traced
    made = 0
    offsets[0] = 0
    for r in range(read_offsets.size - 1):
        length, first = read_offsets[r + 1] - read_offsets[r], made
        half = max(1, aligned[r] // 2)
        reads[made] = r
        traces[made], kinds[made] = -1, PRIMARY
        made += 1
        for e in range(choices.choice_offsets[r], choices.choice_offsets[r + 1]):
            role = choices.role[e]
            lowest = min(half, layout.min_mate_score if role == PRIMARY and choices.proper[r] else layout.min_score)
            if extensions.status[e] > UNGAPPED or extensions.score[e] < lowest:
                if role == PRIMARY:
                    break
            elif role == PRIMARY:
                traces[first] = e
            elif is_row(e, role, traces[first:made], length, layout, traced):
                reads[made] = r
                traces[made], kinds[made] = e, role
                made += 1
        if layout.five_prime:
            lead_with_first_part(traces[first:made], kinds[first:made], length, choices.strand, extensions)
        offsets[r + 1] = made
    return made


@kernel
def is_row(e, role, others, length, layout, traced):
    """Return whether a place that is not the primary one becomes a record beside others of the read."""
    if role == SECONDARY:
        return layout.secondary and is_new(e, others, traced.choices.strand, traced.extensions)
    if role == SUPPLEMENTARY:
        for other in others:
            if are_rivals(other, e, length, traced.choices.strand, traced.extensions):
                return False
    return True


@kernel
def is_new(e, others, strand, extensions):
    """Return whether no other alignment of the read begins or ends where alignment e does."""
    start, stop = extensions.reference_start, extensions.reference_stop
    for other in others:
        if strand[other] == strand[e] and (start[other] == start[e] or stop[other] == stop[e]):
            return False
    return True


@kernel
def lead_with_first_part(traces, kinds, length, strand, extensions):
    """Swap a read's primary alignment with the part that was sequenced first."""
    first, least = 0, length + 1
    for row in range(traces.size):
        e = traces[row]
        if e >= 0 and (kinds[row] == PRIMARY or kinds[row] == SUPPLEMENTARY):
            begin, _ = turned(extensions.query_start[e], extensions.query_stop[e], length, strand[e])
            if begin < least:
                first, least = row, begin
    traces[0], traces[first] = traces[first], traces[0]


def fill_places(rows: RecordRows, traced: TracedChoices, contig_offsets: ndarray, out: AlignmentBatch) -> None:
    """Set contig, position and MAPQ of mapped records, and -1, -1 and 0 of the others."""
    is_mapped = rows.trace >= 0
    e = rows.trace[is_mapped]
    start = traced.extensions.reference_start[e]
    contig = np.searchsorted(contig_offsets, start, side="right") - 1
    out.contig[:] = out.position[:] = -1
    out.mapping_quality[:] = 0
    out.contig[is_mapped], out.position[is_mapped] = contig, start - contig_offsets[contig]
    out.mapping_quality[is_mapped] = traced.choices.mapping_quality[e]


@kernel
def template_length(e, m, strand, extensions):
    """Return the length from the 5' end of alignment e to that of its mate m on one contig, both included (as bwa)."""
    start, stop = extensions.reference_start, extensions.reference_stop
    own = start[e] if strand[e] == 0 else stop[e] - 1
    other = start[m] if strand[m] == 0 else stop[m] - 1
    return other - own + (1 if other > own else (-1 if other < own else 0))


@kernel
def fill_mates(reads, rows, traced, splits, out):
    """Set flags and mate fields; an unmapped read takes its mapped mate's place. splits: flag of supplementary rows."""
    strand, role = traced.choices.strand, traced.choices.role
    kind = rows.kind
    segment, failed = reads.segment, reads.failed
    for row in range(rows.read.size):
        r, e = rows.read[row], rows.trace[row]
        own_row = rows.offsets[r]
        flag = (flags.UNMAPPED if e < 0 else flags.REVERSE * strand[e]) | (splits if kind[row] == SUPPLEMENTARY else 0)
        flag |= flags.SECONDARY if kind[row] == SECONDARY else flags.SUPPLEMENTARY if kind[row] == ALTERNATE else 0
        flag |= flags.FAILED if failed[r] else 0
        out.has_bases[row] = kind[row] != SECONDARY
        out.mate_contig[row] = out.mate_position[row] = -1
        out.template_length[row] = 0
        if segment[r] != UNPAIRED:
            mate_row = rows.offsets[r + 1] if segment[r] == FIRST else rows.offsets[r - 1]
            m = rows.trace[mate_row]
            flag |= flags.PAIRED | (flags.FIRST if segment[r] == FIRST else flags.LAST)
            flag |= flags.MATE_UNMAPPED if m < 0 else flags.MATE_REVERSE * strand[m]
            place_row = mate_row if m >= 0 else own_row
            if m >= 0 or e >= 0:
                out.mate_contig[row], out.mate_position[row] = out.contig[place_row], out.position[place_row]
            if e < 0:
                out.contig[row], out.position[row] = out.mate_contig[row], out.mate_position[row]
            elif m >= 0:
                is_pair = role[rows.trace[own_row]] == PRIMARY and role[m] == PRIMARY  # both rows that make it proper
                flag |= flags.PROPER * traced.choices.proper[r] if is_pair and kind[row] != SECONDARY else 0
                if out.contig[row] == out.contig[mate_row]:
                    out.template_length[row] = template_length(e, m, strand, traced.extensions)
        out.flag[row] = flag


@kernel
def write_matches(bases, strand, q, packed, position, count, out, made):
    """Write `count` aligned bases as runs of = and X to `out`; return the number of operations so far."""
    previous, run = -1, 0
    for i in range(count):
        there = base_at(packed[(position + i) >> 1], position + i)
        operation = EQUAL if are_equal(base_of(bases, q + i, strand), there) else UNEQUAL
        if operation != previous and run > 0:
            out[made] = run << 4 | previous
            made, run = made + 1, 0
        previous, run = operation, run + 1
    out[made] = run << 4 | previous
    return made + 1


@kernel
def write_cigars(reads, packed, rows, traced, hard_clips, eqx, alignments):
    """Write the CIGARs of all records; return the number of their operations."""
    made, (choices, extensions) = 0, traced
    out, offsets = alignments.cigar, alignments.cigar_offsets
    cigar, cigar_offsets = extensions.cigar, extensions.cigar_offsets
    offsets[0] = 0
    for row in range(rows.read.size):
        r, e = rows.read[row], rows.trace[row]
        if e >= 0:
            bases, strand = reads.bases[reads.read_offsets[r] : reads.read_offsets[r + 1]], choices.strand[e]
            clip = HARD_CLIP if hard_clips and row > rows.offsets[r] and rows.kind[row] != ALTERNATE else SOFT_CLIP
            q, position = np.int64(extensions.query_start[e]), extensions.reference_start[e]
            if q > 0:
                out[made] = q << 4 | clip
                made += 1
            for i in range(cigar_offsets[e], cigar_offsets[e + 1]):
                operation, count, on_reference, on_query = run_of(cigar[i])
                if eqx and operation == MATCH:
                    made = write_matches(bases, strand, q, packed, position, count, out, made)
                else:
                    out[made] = cigar[i]
                    made += 1
                q, position = q + on_query, position + on_reference
            if q < bases.size:
                out[made] = (bases.size - q) << 4 | clip
                made += 1
        offsets[row + 1] = made
    return made


def place_in_written(aligned: ReadBatch, written: ReadBatch, choices: Choices, extensions: Extensions) -> Extensions:
    """Move query positions to the written reads, which may extend past the 3' ends of the aligned ones."""
    if aligned is written:
        return extensions
    beyond = np.diff(written.read_offsets) - np.diff(aligned.read_offsets)
    shift = (np.repeat(beyond, np.diff(choices.choice_offsets)) * choices.strand).astype(np.int32)
    return replace(extensions, query_start=extensions.query_start + shift, query_stop=extensions.query_stop + shift)


def build(
    batch: tuple[ReadBatch, ReadBatch],
    choices: Choices,
    extensions: Extensions,
    reference: Reference,
    parameters: AlignParameters,
) -> AlignmentBatch:
    """Build the records of a batch; row e of `extensions` is the alignment of row e of `choices`.

    batch: the reads as aligned, and as shown in records: the same, or with more bases at 3' ends.
    """
    aligned, reads = batch
    extensions = place_in_written(aligned, reads, choices, extensions)
    traced, options = TracedChoices(choices, extensions), parameters.records
    layout = Layout(
        options.min_score, min_mate_score(parameters), options.secondary_records, options.five_prime_primary
    )
    room = len(reads) + int((choices.role != PRIMARY).sum())
    rows = empty(RecordRows, {"reads": len(reads), "records": room})
    lengths = np.diff(aligned.read_offsets)
    n = lay_rows(reads.read_offsets, lengths, traced, layout, rows)
    rows = take(rows, "records", slice(n))
    room = extensions.cigar.size + 2 * n + (2 * int(extensions.edit_distance.sum()) if options.eqx else 0)
    out = replace(empty(AlignmentBatch, {"records": n, "operations": room, "tag bytes": 0}), read=rows.read)
    fill_places(rows, traced, reference.contig_offsets, out)
    fill_mates(reads, rows, traced, flags.SECONDARY if options.splits_as_secondary else flags.SUPPLEMENTARY, out)
    hard_clips = not options.soft_clip_supplementary
    used = write_cigars(reads, reference.packed, rows, traced, hard_clips, options.eqx, out)
    if options.secondary_records:  # XA does not name places that are records
        role = np.where(choices.role == SECONDARY, np.uint8(SUPPLEMENTARY), choices.role)
        traced = TracedChoices(replace(choices, role=role), extensions)
    more = options.cs, options.eqx, are_long(aligned, parameters)
    tags, tag_offsets = encode_tags(reads, reference, rows, traced, out, more)
    return replace(out, cigar=out.cigar[:used], tags=tags, tag_offsets=tag_offsets)
