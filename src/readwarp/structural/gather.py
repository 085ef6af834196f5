"""Gather the spans of reads, the events within their alignments, and those between two alignments of one read.

For an event between alignments that follow one another on a contig, the end of the first alignment is trimmed by its
overlap with the second, on the reference or on the read. The event lies between them: reference bases that the read
does not have (deletion), or bases of the read that the reference does not have (insertion). A tandem duplication is an
insertion: both alignments end where the copy does, and together they cover it.
"""

from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import StructuralParameters
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of, ranges, take
from readwarp.rules.cigar import DELETION, HARD_CLIP, INSERTION, ON_QUERY, ON_REFERENCE, SOFT_CLIP
from readwarp.rules.flags import PAIRED
from readwarp.structural.evidence import BETWEEN, PARTIAL, WITHIN, ReadSpans, StructuralEvents, StructuralEvidence

MAX_ALIGNMENTS = 100  # most alignments of a read to a contig; more belong to several reads with one name


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


class Between(NamedTuple):
    """Event between two spans (rows), with the fields of `StructuralEvents`."""

    first: int
    second: int
    start: int
    stop: int
    query_start: int
    query_stop: int
    kind: int

    @property
    def length(self) -> int:
        return self.query_stop - self.query_start - self.stop + self.start

    @property
    def replaced(self) -> int:
        """Count the bases that are on both sides."""
        return min(self.query_stop - self.query_start, self.stop - self.start)


def find_splits(spans: ReadSpans, parameters: StructuralParameters) -> StructuralEvents:
    """Find events without bases between the spans of one contig, by read name."""
    clips = np.maximum(spans.query_start, spans.clipped)
    row = np.flatnonzero(clips >= parameters.least_length)
    order = row[np.lexsort((spans.start[row], spans.query_start[row], spans.sample[row], spans.name[row]))]
    named = take(spans, "spans", order)
    is_new = np.ones(len(named), bool)
    is_new[1:] = (named.name[1:] != named.name[:-1]) | (named.sample[1:] != named.sample[:-1])
    bounds = np.append(np.flatnonzero(is_new), len(named)).tolist()
    reads = [bound for bound in pairwise(bounds) if 1 < bound[1] - bound[0] <= MAX_ALIGNMENTS]
    found = [between for low, high in reads for between in pair(named, low, high, parameters)]
    places = np.array(found, np.int64).reshape(-1, len(Between._fields)).T
    first, _, start, stop, query_start, query_stop, kind = places
    return StructuralEvents(
        start=start,
        stop=stop,
        query_start=query_start,
        query_stop=query_stop,
        strand=named.strand[first],
        name=named.name[first],
        sample=named.sample[first],
        kind=kind.astype(np.uint8),
        bases=np.empty(0, np.uint8),
        base_offsets=np.zeros(first.size + 1, np.int64),
    )


def pair(spans: ReadSpans, low: int, high: int, parameters: StructuralParameters) -> list[Between]:
    """Return the events between the spans of one read, rows [low, high): the smallest first, each end of a span once.

    So a piece that lies elsewhere on the contig, or is inverted, does not hide the two around it.
    """
    columns = (spans.strand, spans.start, spans.stop, spans.query_start, spans.query_stop)
    rows = [
        (low + number, *row) for number, row in enumerate(zip(*(c[low:high].tolist() for c in columns), strict=True))
    ]
    known = [between for one, other in permutations(rows, 2) if (between := compare(one, other))]
    least, most = parameters.least_length, parameters.max_sv_length  # of insertions and deletions; others are complex
    usable = [each for each in known if least <= abs(each.length) <= most and each.replaced <= abs(each.length) // 2]
    out, ends = list[Between](), set[int]()
    begins = set[int]()
    for between in sorted(usable, key=lambda each: (abs(each.length), each)):
        if between.first not in ends and between.second not in begins:
            ends.add(between.first)
            begins.add(between.second)
            out.append(between)
    return out


def compare(one: tuple[int, ...], other: tuple[int, ...]) -> Between | None:
    """Return the event between spans (row, strand, start, stop, query_start, query_stop) on one strand and in order."""
    first, strand, start, stop, query_start, query_stop = one
    second, strand_too, start_too, stop_too, query_start_too, query_stop_too = other
    if strand != strand_too or query_start >= query_start_too or query_stop >= query_stop_too:
        return None
    if start >= stop_too:
        return None  # the second lies before the first: no copy of the bases that both cover
    overlap = max(0, stop - start_too, query_stop - query_start_too)
    kind = BETWEEN if overlap <= min(stop - start, query_stop - query_start) else PARTIAL
    return Between(first, second, stop - overlap, start_too, query_stop - overlap, query_start_too, kind)
