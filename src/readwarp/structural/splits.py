"""Find the events between alignments of one read that follow one another on a contig.

The end of the first alignment is trimmed by its overlap with the second, on the reference or on the read. The event
lies between them: reference bases that the read does not have (deletion), or bases of the read that the reference does
not have (insertion). A tandem duplication is an insertion: both alignments end where the copy does, and together they
cover it.
"""

from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np

from readwarp.config import StructuralParameters
from readwarp.ragged import take
from readwarp.structural.evidence import BETWEEN, PARTIAL, ReadSpans, StructuralEvents

MAX_ALIGNMENTS = 100  # most alignments of a read to a contig; more belong to several reads with one name


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
    usable = [each for each in known if is_plausible(each, parameters)]
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


def is_plausible(between: Between, parameters: StructuralParameters) -> bool:
    """Return whether it is an insertion or a deletion, rather than an inversion or something else."""
    size = abs(between.length)
    return parameters.least_length <= size <= parameters.max_sv_length and between.replaced <= size // 2
