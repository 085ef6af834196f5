"""Traced places to records: which are kept, their fields and CIGARs."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.pair.scalar import contig_of
from readwarp.align.records.choose import PRIMARY, SUPPLEMENTARY, Choices, min_mate_score
from readwarp.align.records.tags import encode_tags
from readwarp.align.records.traced import Cigars, Records, are_equal, base_of, traced_of
from readwarp.batches import Alignments, Extensions, ReadBatch, Segment, Status
from readwarp.config import AlignParameters
from readwarp.device.jit import kernel
from readwarp.index.reference import Reference
from readwarp.ragged import empty, take
from readwarp.rules.bases import base_at
from readwarp.rules.cigar import EQUAL, HARD_CLIP, MATCH, SOFT_CLIP, UNEQUAL, run_of

UNPAIRED, FIRST, UNGAPPED = int(Segment.UNPAIRED), int(Segment.FIRST), int(Status.UNGAPPED)


class Mates(NamedTuple):
    """Fields that a record has of its mate; see `batches.Alignments`."""

    flag: Annotated[ndarray, "uint16 [records]"]
    contig: Annotated[ndarray, "int32 [records]"]
    position: Annotated[ndarray, "int64 [records]"]
    template_length: Annotated[ndarray, "int64 [records]"]


@kernel
def shares_half(a, b, length, traced):
    """Whether two traced places share at least half of the shorter span of the read."""
    head_a, tail_a = traced.query_start[a], traced.query_stop[a]
    head_b, tail_b = traced.query_start[b], traced.query_stop[b]
    if traced.strand[a] != traced.strand[b]:
        head_b, tail_b = length - tail_b, length - head_b
    return 2 * (min(tail_a, tail_b) - max(head_a, head_b)) >= min(tail_a - head_a, tail_b - head_b)


@kernel
def lay_records(read_offsets, traced, min_score, min_mate_score, records):
    """The trace of each record (-1: unmapped): the primary, then supplementary ones that add a part of the read.

    A read of a proper pair is reported from min_mate_score on.
    """
    made = 0
    records.offsets[0] = 0
    for r in range(read_offsets.size - 1):
        length, first = read_offsets[r + 1] - read_offsets[r], made
        half = max(1, length // 2)
        records.read[made], records.trace[made] = r, -1
        made += 1
        for e in range(traced.offsets[r], traced.offsets[r + 1]):
            beside_mate = traced.role[e] == PRIMARY and traced.proper[r]
            lowest = min(half, min_mate_score if beside_mate else min_score)
            if traced.status[e] > UNGAPPED or traced.score[e] < lowest:
                if traced.role[e] == PRIMARY:
                    break
            elif traced.role[e] == PRIMARY:
                records.trace[first] = e
            elif traced.role[e] == SUPPLEMENTARY:
                adds = True
                for other in range(first, made):
                    adds = adds and not shares_half(records.trace[other], e, length, traced)
                if adds:
                    records.read[made], records.trace[made] = r, e
                    made += 1
        records.offsets[r + 1] = made
    return made


@kernel
def fill_places(records, traced, contig_offsets):
    """Contig, position and MAPQ of mapped records; -1, -1 and 0 of the others."""
    for row in range(records.read.size):
        e = records.trace[row]
        records.contig[row], records.position[row], records.mapping_quality[row] = -1, -1, 0
        if e >= 0:
            contig = contig_of(contig_offsets, traced.start[e])
            records.contig[row], records.position[row] = contig, traced.start[e] - contig_offsets[contig]
            records.mapping_quality[row] = traced.mapping_quality[e]


@kernel
def template_length(row, mate_row, records, traced, contig_offsets):
    """From the 5' end of the row to that of its mate, both counted; bwa's rule."""
    e, m = records.trace[row], records.trace[mate_row]
    if records.contig[row] != records.contig[mate_row]:
        return 0
    own = traced.start[e] if traced.strand[e] == 0 else traced.stop[e] - 1
    other = traced.start[m] if traced.strand[m] == 0 else traced.stop[m] - 1
    return other - own + (1 if other > own else (-1 if other < own else 0))


@kernel
def fill_mates(segment, records, traced, contig_offsets, mates):
    """Flags and mate fields; an unmapped read gets the place of its mapped mate."""
    for row in range(records.read.size):
        r, e = records.read[row], records.trace[row]
        own_row = records.offsets[r]
        flag = (0x4 if e < 0 else 0x10 * traced.strand[e]) | (0x800 if row > own_row else 0)
        mates.contig[row], mates.position[row], mates.template_length[row] = -1, -1, 0
        if segment[r] != UNPAIRED:
            mate_row = records.offsets[r + 1] if segment[r] == FIRST else records.offsets[r - 1]
            m = records.trace[mate_row]
            flag |= (0x41 if segment[r] == FIRST else 0x81) | (0x8 if m < 0 else 0x20 * traced.strand[m])
            place_row = mate_row if m >= 0 else own_row
            if m >= 0 or e >= 0:
                mates.contig[row], mates.position[row] = records.contig[place_row], records.position[place_row]
            if e < 0:
                records.contig[row], records.position[row] = mates.contig[row], mates.position[row]
            elif m >= 0:
                flag |= 0x2 * traced.proper[r]
                mates.template_length[row] = template_length(row, mate_row, records, traced, contig_offsets)
        mates.flag[row] = flag


@kernel
def write_matches(bases, strand, q, packed, position, count, out, made):
    """`count` aligned bases as runs of = and X; returns the number of operations written so far."""
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
def write_cigars(reads, packed, records, traced, hard_clips, eqx, cigars):
    """CIGARs of all records; returns their operations."""
    made, read_offsets, (out, offsets) = 0, reads.read_offsets, cigars
    cigar, cigar_offsets = traced.cigar, traced.cigar_offsets
    offsets[0] = 0
    for row in range(records.read.size):
        r, e = records.read[row], records.trace[row]
        if e >= 0:
            bases, strand = reads.bases[read_offsets[r] : read_offsets[r + 1]], traced.strand[e]
            clip = HARD_CLIP if hard_clips and row > records.offsets[r] else SOFT_CLIP
            q, position = np.int64(traced.query_start[e]), traced.start[e]
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


def build(
    reads: ReadBatch, choices: Choices, extensions: Extensions, reference: Reference, parameters: AlignParameters
) -> Alignments:
    """Records of a batch; row e of `extensions` is the trace of row e of `choices`."""
    traced, options, contig_offsets = traced_of(choices, extensions), parameters.records, reference.contig_offsets
    room = len(reads) + int((choices.role == SUPPLEMENTARY).sum())
    records = empty(Records, {"reads": len(reads), "records": room})
    n = lay_records(reads.read_offsets, traced, options.min_score, min_mate_score(parameters), records)
    records = take(records, "records", slice(n))
    fill_places(records, traced, contig_offsets)
    mates = empty(Mates, {"records": n})
    fill_mates(reads.segment, records, traced, contig_offsets, mates)
    room = extensions.cigar.size + 2 * n + (2 * int(extensions.edit_distance.sum()) if options.eqx else 0)
    cigars, hard_clips = empty(Cigars, {"records": n, "operations": room}), not options.soft_clip_supplementary
    used = write_cigars(reads, reference.packed, records, traced, hard_clips, options.eqx, cigars)
    tags, tag_offsets = encode_tags(reads, reference, records, traced, cigars)
    return Alignments(
        read=records.read,
        flag=mates.flag,
        contig=records.contig,
        position=records.position,
        mapping_quality=records.mapping_quality,
        cigar=cigars.operations[:used],
        cigar_offsets=cigars.offsets,
        mate_contig=mates.contig,
        mate_position=mates.position,
        template_length=mates.template_length,
        tags=tags,
        tag_offsets=tag_offsets,
    )
