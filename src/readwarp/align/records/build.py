"""Turn traced places into records: which are reported, with which fields and CIGARs."""

from typing import Any, NamedTuple

import numpy as np

from readwarp.align.places import are_rivals, contig_of, turned
from readwarp.align.records.choose import (
    ALTERNATE,
    FIRST,
    PRIMARY,
    SECONDARY,
    SUPPLEMENTARY,
    UNGAPPED,
    UNPAIRED,
    TracedChoices,
    min_mate_score,
)
from readwarp.align.records.tags import RecordCigars, RecordRows, TagContext, are_equal, base_of, put_tags
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import AlignParameters
from readwarp.device.rows import each_row, empty_beside, ragged_rows
from readwarp.formats.alignments.records import AlignmentBatch
from readwarp.formats.common.reads import ReadBatch
from readwarp.ragged import replace
from readwarp.rules import flags
from readwarp.rules.bases import base_at
from readwarp.rules.cigar import EQUAL, HARD_CLIP, MATCH, SOFT_CLIP, UNEQUAL, run_of


class Layout(NamedTuple):
    """Rules for which places of a read become records."""

    min_score: int
    min_mate_score: int  # for a read of a proper pair
    secondary: bool  # secondary places become records
    five_prime: bool  # the part sequenced first becomes the primary of a split read


class CigarForm(NamedTuple):
    hard_clips: bool  # in supplementary records
    eqx: bool  # = and X in place of M


@scalar
def room_of_rows(r, read_offsets, aligned, traced, layout):
    """Return the maximum records of read r."""
    return 1 + traced.choices.choice_offsets[r + 1] - traced.choices.choice_offsets[r]


@ragged_rows(RecordRows, room_of_rows)
def lay_rows(r, at, read_offsets, aligned, traced, layout, rows):
    """Lay out the rows of read r: primary, supplementary alignments that add a part or are ALT hits, secondary ones.

    aligned: offsets of the bases that were aligned.
    """
    (_, reads, traces, kinds), (choices, extensions) = rows, traced
    length, first = read_offsets[r + 1] - read_offsets[r], at
    half = max(1, (aligned[r + 1] - aligned[r]) // 2)
    reads[at] = r
    traces[at], kinds[at] = -1, PRIMARY
    at += 1
    for e in range(choices.choice_offsets[r], choices.choice_offsets[r + 1]):
        role = choices.role[e]
        lowest = min(half, layout.min_mate_score if role == PRIMARY and choices.proper[r] else layout.min_score)
        if extensions.status[e] > UNGAPPED or extensions.score[e] < lowest:
            if role == PRIMARY:
                break
        elif role == PRIMARY:
            traces[first] = e
        elif is_row(e, role, traces[first:at], length, layout, traced):
            reads[at] = r
            traces[at], kinds[at] = e, role
            at += 1
    if layout.five_prime:
        lead_with_first_part(traces[first:at], kinds[first:at], length, choices.strand, extensions)
    return at


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


@each_row
def fill_place(row, rows, traced, contig_offsets, out):
    """Set contig, position and MAPQ of a mapped record, and -1, -1 and 0 of any other."""
    e = rows.trace[row]
    out.contig[row] = out.position[row] = -1
    out.mapping_quality[row] = 0
    if e >= 0:
        start = traced.extensions.reference_start[e]
        contig = contig_of(contig_offsets, start)
        out.contig[row], out.position[row] = contig, start - contig_offsets[contig]
        out.mapping_quality[row] = traced.choices.mapping_quality[e]


@kernel
def template_length(e, m, strand, extensions):
    """Return the length from the 5' end of alignment e to that of its mate m on one contig, both included (as bwa)."""
    start, stop = extensions.reference_start, extensions.reference_stop
    own = start[e] if strand[e] == 0 else stop[e] - 1
    other = start[m] if strand[m] == 0 else stop[m] - 1
    return other - own + (1 if other > own else (-1 if other < own else 0))


@each_row
def fill_mate(row, reads, rows, traced, splits, out):
    """Set flags and mate fields; an unmapped read takes its mapped mate's place. splits: flag of supplementary rows."""
    strand, role = traced.choices.strand, traced.choices.role
    kind = rows.kind
    segment, failed = reads.segment, reads.failed
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


@scalar
def room_of_cigar(row, reads, packed, rows, traced, form):
    """Return the maximum operations of a record."""
    e, extensions = rows.trace[row], traced.extensions
    if e < 0:
        return np.int64(0)
    runs = 2 * np.int64(extensions.edit_distance[e]) if form.eqx else np.int64(0)
    return 2 + runs + extensions.cigar_offsets[e + 1] - extensions.cigar_offsets[e]


@ragged_rows(RecordCigars, room_of_cigar)
def put_cigar(row, at, reads, packed, rows, traced, form, out):
    """Put the CIGAR of a record."""
    r, e, (choices, extensions) = rows.read[row], rows.trace[row], traced
    if e < 0:
        return at
    cigar, cigar_offsets = extensions.cigar, extensions.cigar_offsets
    bases, strand = reads.bases[reads.read_offsets[r] : reads.read_offsets[r + 1]], choices.strand[e]
    clip = HARD_CLIP if form.hard_clips and row > rows.offsets[r] and rows.kind[row] != ALTERNATE else SOFT_CLIP
    q, position = np.int64(extensions.query_start[e]), extensions.reference_start[e]
    if q > 0:
        out.values[at] = q << 4 | clip
        at += 1
    for i in range(cigar_offsets[e], cigar_offsets[e + 1]):
        operation, count, on_reference, on_query = run_of(cigar[i])
        if form.eqx and operation == MATCH:
            at = write_matches(bases, strand, q, packed, position, count, out.values, at)
        else:
            out.values[at] = cigar[i]
            at += 1
        q, position = q + on_query, position + on_reference
    if q < bases.size:
        out.values[at] = (bases.size - q) << 4 | clip
        at += 1
    return at


@each_row
def place_in_shown(r, shown, aligned, traced):
    """Move query positions to the reads as shown, which may extend past the 3' ends of the aligned ones."""
    (choices, extensions), beyond = traced, shown[r + 1] - shown[r] - (aligned[r + 1] - aligned[r])
    for e in range(choices.choice_offsets[r], choices.choice_offsets[r + 1]):
        extensions.query_start[e] += beyond * choices.strand[e]
        extensions.query_stop[e] += beyond * choices.strand[e]


def build(
    reads: ReadBatch, aligned: Any, traced: TracedChoices, context: TagContext, parameters: AlignParameters
) -> AlignmentBatch:
    """Build the records of a batch, on the side that its arrays are on; extensions of a trimmed read move in place.

    reads: as shown in records: as aligned, or with more bases at 3' ends; aligned: offsets of the bases that were
    aligned.
    """
    options, genome = parameters.records, context.genome
    if aligned is not reads.read_offsets:
        place_in_shown(len(reads), reads.read_offsets, aligned, traced)
    layout = Layout(
        options.min_score, min_mate_score(parameters), options.secondary_records, options.five_prime_primary
    )
    rows = lay_rows(len(reads), reads.read_offsets, aligned, traced, layout)
    n = rows.read.size
    out = empty_beside(rows.read, AlignmentBatch, {"records": n, "operations": 0, "tag bytes": 0})
    out = replace(out, read=rows.read)
    fill_place(n, rows, traced, genome.contig_offsets, out)
    splits = flags.SECONDARY if options.splits_as_secondary else flags.SUPPLEMENTARY
    fill_mate(n, reads, rows, traced, splits, out)
    form = CigarForm(not options.soft_clip_supplementary, options.eqx)
    cigars = put_cigar(n, reads, genome.packed, rows, traced, form)
    out = replace(out, cigar=cigars.values, cigar_offsets=cigars.offsets)
    tags = put_tags(n, reads, context, rows, traced, out)
    return replace(out, tags=tags.values, tag_offsets=tags.offsets)
