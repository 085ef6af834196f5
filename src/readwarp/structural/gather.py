"""Gather the spans of reads, and the events within their alignments."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import StructuralParameters
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of, ranges, take
from readwarp.rules.cigar import DELETION, HARD_CLIP, INSERTION, ON_QUERY, ON_REFERENCE, SOFT_CLIP
from readwarp.rules.flags import PAIRED
from readwarp.structural.evidence import WITHIN, ReadSpans, StructuralEvents, StructuralEvidence


def gather(reads: AlignedReads, parameters: StructuralParameters) -> StructuralEvidence:
    """Gather single reads aligned to `min_span` reference bases or more. Rows are in the order of the reads."""
    is_long = reads.reference_stop - reads.position >= parameters.min_span
    reads = take(reads, "reads", is_long & (reads.flag & PAIRED == 0))
    course = follow(reads)
    spans = find_spans(reads, course)
    return StructuralEvidence(spans, find_gaps(reads, course, spans, parameters))


class CigarOperations(NamedTuple):
    """Operations of all CIGARs, and the bases before each: int64 [operations + 1], summed over all reads."""

    operation: ndarray  # [operations]
    length: ndarray  # int64 [operations]
    reference: ndarray  # reference bases
    aligned: ndarray  # bases of reads, without clips
    stored: ndarray  # ... with soft clips: the index in `AlignedReads.bases`
    clipped: ndarray  # bases in clips


def follow(reads: AlignedReads) -> CigarOperations:
    operation, length = reads.cigar & 15, (reads.cigar >> 4).astype(np.int64)
    is_clip = (operation == SOFT_CLIP) | (operation == HARD_CLIP)
    on_reference, on_query = (length * (which >> operation & 1) for which in (ON_REFERENCE, ON_QUERY))
    before = map(offsets_of, (on_reference, on_query * ~is_clip, on_query, length * is_clip))
    return CigarOperations(operation, length, *before)


def find_spans(reads: AlignedReads, course: CigarOperations) -> ReadSpans:
    """Find the spans: a read begins and ends with up to two clips; between them are its aligned bases."""
    first, last = reads.cigar_offsets[:-1], reads.cigar_offsets[1:]
    inner = np.flatnonzero(course.clipped[1:] == course.clipped[:-1])
    begin = inner[np.searchsorted(inner, first)] if len(reads) else first  # usable reads have aligned bases
    leading = course.clipped[begin] - course.clipped[first]
    return ReadSpans(
        start=reads.position,
        stop=reads.reference_stop,
        query_start=leading,
        query_stop=leading + course.aligned[last] - course.aligned[first],
        clipped=course.clipped[last] - course.clipped[begin],
        strand=reads.strand,
        name=reads.name_hash,
        sample=reads.sample,
    )


def find_gaps(
    reads: AlignedReads, course: CigarOperations, spans: ReadSpans, parameters: StructuralParameters
) -> StructuralEvents:
    """Find the indels of CIGARs; near ones are joined with the bases between them, since a gap may be split."""
    is_gap = (course.operation == INSERTION) | (course.operation == DELETION)
    gap = np.flatnonzero(is_gap & (course.length >= parameters.min_part))
    read = np.searchsorted(reads.cigar_offsets, gap, side="right") - 1
    is_first = np.ones(gap.size, bool)
    apart = course.reference[gap[1:]] - course.reference[gap[:-1] + 1]
    is_first[1:] = (read[1:] != read[:-1]) | (apart > parameters.max_join)
    first = gap[is_first]
    last = gap[np.append(is_first[1:], True)[: gap.size]] + 1
    read = read[is_first]
    inserted, deleted = (column[last] - column[first] for column in (course.aligned, course.reference))
    size = np.abs(inserted - deleted)
    found = (size >= parameters.least_length) & (size <= parameters.max_sv_length)
    read, first, last, inserted, deleted = (column[found] for column in (read, first, last, inserted, deleted))
    own = reads.cigar_offsets[read]
    start = reads.position[read] + course.reference[first] - course.reference[own]
    query_start = spans.query_start[read] + course.aligned[first] - course.aligned[own]
    stored = np.stack((course.stored[first], course.stored[last]), axis=1).ravel()
    return StructuralEvents(
        start=start,
        stop=start + deleted,
        query_start=query_start,
        query_stop=query_start + inserted,
        strand=spans.strand[read],
        name=spans.name[read],
        sample=spans.sample[read],
        kind=np.full(read.size, WITHIN, np.uint8),
        bases=reads.bases[ranges(stored, 2 * np.arange(read.size))],
        base_offsets=offsets_of(inserted),
    )
