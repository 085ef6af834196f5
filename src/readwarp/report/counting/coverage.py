"""Measure the depth of a BAM or CRAM file: its distribution, and the mean along the genome and of each target.

Reads that are unmapped, secondary, duplicate or failed do not count. Where mates overlap, they count once; deletions
and skipped bases count nothing. Positions are on one axis on which the contigs follow each other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.formats.common.regions import Contigs, read_named_targets
from readwarp.ragged import offsets_of
from readwarp.report.counting.depth import Spans, count_depths
from readwarp.report.counting.windows import CountWindow

BINS = 1500  # along the genome, approximately
DEEP = 20  # depth at which heterozygous calls are reliable


class Depth(NamedTuple):
    bases: Annotated[ndarray, "int64 [depths]"]  # bases at each depth, of the genome or of the targets
    width: int  # bases of a bin
    bin_means: list[tuple[str, int, int, float]]  # contig, start, stop, mean
    target_means: list[tuple[str, int, int, str, float, float]]  # with the name, and the share at DEEP or more


class Added(NamedTuple):
    """Contribution of a window to some spans."""

    spans: slice
    sums: Annotated[ndarray, "int64 [spans]"]
    deep: Annotated[ndarray, "int64 [spans]"]


@dataclass(slots=True)
class CoverageTally:
    """Sums over spans, to which windows are added in any order."""

    spans: Spans  # sorted by start
    sums: ndarray  # int64 [spans]
    deep: ndarray  # int64 [spans]
    reach: ndarray  # int64 [spans], the last stop so far: ascending

    @classmethod
    def of(cls, spans: Spans) -> "CoverageTally":
        sums, deep = np.zeros((2, spans.start.size), np.int64)
        return cls(spans, sums, deep, np.maximum.accumulate(spans.stop))

    def within(self, window: CountWindow) -> tuple[slice, Spans]:
        """Return the spans that may overlap a window, and their places in it."""
        first = int(np.searchsorted(self.reach, window.start, side="right"))
        chosen = slice(first, max(first, int(np.searchsorted(self.spans.start, window.stop))))
        edges = (np.clip(places[chosen], window.start, window.stop) - window.start for places in self.spans)
        return chosen, Spans(*edges)

    def measure(self, window: CountWindow, depth: ndarray) -> Added:
        """Measure a window. depth: int32 [bases] of the window."""
        chosen, spans = self.within(window)
        sums, deep = offsets_of(depth), offsets_of(depth >= DEEP)
        return Added(chosen, sums[spans.stop] - sums[spans.start], deep[spans.stop] - deep[spans.start])

    def add(self, added: Added) -> None:
        self.sums[added.spans] += added.sums
        self.deep[added.spans] += added.deep

    def means(self) -> tuple[list[float], list[float]]:
        """Return the mean depth, and the share of the bases at DEEP or more."""
        length = np.maximum(1, self.spans.stop - self.spans.start)
        return (self.sums / length).tolist(), (self.deep / length).tolist()


class Measured(NamedTuple):
    """Contribution of a window to all sums."""

    bases: Annotated[ndarray, "int64 [depths]"]
    spans: list[Added]  # by tally


class Coverage:
    """Depth along the genome and of the targets. Any thread may `measure`; one adds."""

    def __init__(self, contigs: Contigs, targets: Sequence[str]):
        """Prepare the sums. targets, in the form `-L` takes: the bases that count; empty: the whole genome.

        Raises InputError.
        """
        axis = [0, *accumulate(contigs.lengths)]
        self._names, self._width = contigs.names, bin_width(axis[-1])
        bins, self._bins = cut_bins(contigs, axis, self._width)
        self._targets = sorted(found for text in targets for found in read_named_targets(text, contigs))
        places = [
            (axis[target.contig] + target.start, axis[target.contig] + target.stop) for target, _ in self._targets
        ]
        start, stop = np.array(places or np.empty((0, 2)), np.int64).T
        self._tallies = CoverageTally.of(bins), CoverageTally.of(Spans(start, stop))
        self._wanted = CoverageTally.of(
            join_spans(self._tallies[1]) if targets else Spans(*np.array([[0], [axis[-1]]]))
        )
        self._bases = np.zeros(1, np.int64)

    def measure(self, window: CountWindow, depth: ndarray) -> Measured:
        """Measure a window. depth: int32 [bases] of the window."""
        bases = np.zeros(int(depth.max(initial=0)) + 1, np.int64)
        count_depths(depth, self._wanted.within(window)[1], bases)
        return Measured(bases, [tally.measure(window, depth) for tally in self._tallies])

    def add(self, measured: Measured) -> None:
        self._bases = np.pad(self._bases, (0, max(0, measured.bases.size - self._bases.size)))
        self._bases[: measured.bases.size] += measured.bases
        for tally, added in zip(self._tallies, measured.spans, strict=True):
            tally.add(added)

    def depth(self) -> Depth:
        """Return the depth over all windows that were added; it is 0 elsewhere."""
        bases = self._bases.copy()
        bases[0] += int((self._wanted.spans.stop - self._wanted.spans.start).sum()) - bases.sum()
        means, (target_means, shares) = self._tallies[0].means()[0], self._tallies[1].means()
        named = [(self._names[contig], start, stop, name) for (contig, start, stop), name in self._targets]
        return Depth(
            bases[: int(np.flatnonzero(bases).max(initial=0)) + 1],
            self._width,
            [(*place, mean) for place, mean in zip(self._bins, means, strict=True)],
            [(*place, mean, share) for place, mean, share in zip(named, target_means, shares, strict=True)],
        )


def bin_width(length: int) -> int:
    """Return 1, 2 or 5 times a power of ten bases, for about BINS bins."""
    size: int = 10 ** max(0, math.floor(math.log10(max(1, length / BINS))))
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor * BINS >= length)


def cut_bins(contigs: Contigs, axis: list[int], width: int) -> tuple[Spans, list[tuple[str, int, int]]]:
    """Cut bins of each contig from its first base on; the last one is shorter."""
    names = [
        (name, start, min(start + width, length))
        for name, length in zip(contigs.names, contigs.lengths, strict=True)
        for start in range(0, length, width)
    ]
    first = dict(zip(contigs.names, axis, strict=False))
    places = np.array([(first[name] + start, first[name] + stop) for name, start, stop in names] or [(0, 0)], np.int64)
    return Spans(*places[: len(names)].T), names


def join_spans(tally: CoverageTally) -> Spans:
    """Sort the spans by start, and remove their overlaps."""
    spans, reach = tally.spans, tally.reach
    start = np.maximum(spans.start, np.append(0, reach[:-1])[: spans.start.size])
    return Spans(start, np.maximum(start, spans.stop))
