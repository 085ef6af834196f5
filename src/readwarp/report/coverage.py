"""Depth of a BAM or CRAM file: how many bases have each depth, and the mean along the genome and of each target.

Reads that are unmapped, secondary, duplicate or failed do not count. Where mates overlap, they count once; deletions
and skipped bases count nothing. Positions are on one axis on which the contigs follow each other.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads
from readwarp.formats.alignments.regions import AlignedReader, Form, ReadFilter
from readwarp.formats.common.qualities import PHRED33
from readwarp.formats.common.regions import Contigs, read_named_targets
from readwarp.rules.cigar import DELETION, EQUAL, MATCH, SKIP, UNEQUAL
from readwarp.stream.runner import map_ordered

WINDOW = 1 << 17  # bases whose reads are in memory at the same time
BINS = 1500  # along the genome, about
DEEP = 20  # at which heterozygous calls are sure


class Spans(NamedTuple):
    """Stretches of the axis, half-open."""

    start: Annotated[ndarray, "int64 [spans]"]
    stop: Annotated[ndarray, "int64 [spans]"]


class Depth(NamedTuple):
    bases: Annotated[ndarray, "int64 [depths]"]  # at each depth, of the genome or of the targets
    width: int  # of a bin
    bin_means: list[tuple[str, int, int, float]]  # contig, start, stop, mean
    target_means: list[tuple[str, int, int, str, float, float]]  # with the name, and the share at DEEP or more


class Window(NamedTuple):
    """Whole contigs, or a part of one."""

    contigs: range
    start: int
    stop: int


@dataclass(slots=True)
class Tally:
    """Sums over spans, to which windows are added in any order."""

    spans: Spans
    sums: ndarray  # int64 [spans]
    deep: ndarray  # int64 [spans]
    reach: ndarray  # int64 [spans], the last stop so far: ascending

    @classmethod
    def of(cls, spans: Spans) -> "Tally":
        sums, deep = np.zeros((2, spans.start.size), np.int64)
        return cls(spans, sums, deep, np.maximum.accumulate(spans.stop))

    def add(self, window: Window, sums: ndarray, deep: ndarray) -> None:
        """sums, deep: int64 [bases + 1], running totals from the window's first base on."""
        first = np.searchsorted(self.reach, window.start, side="right")
        last = np.searchsorted(self.spans.start, window.stop)
        low = np.clip(self.spans.start[first:last], window.start, window.stop) - window.start
        high = np.clip(self.spans.stop[first:last], window.start, window.stop) - window.start
        self.sums[first:last] += sums[high] - sums[low]
        self.deep[first:last] += deep[high] - deep[low]

    def means(self) -> tuple[list[float], list[float]]:
        """Mean depth, and the share of the bases at DEEP or more."""
        length = np.maximum(1, self.spans.stop - self.spans.start)
        return (self.sums / length).tolist(), (self.deep / length).tolist()


def count_depth(path: Path, reference: Path | None, targets: Sequence[str], threads: int) -> Depth:
    """Raises InputError. targets, as `-L` takes them: all that counts in the distribution; none: the whole genome."""
    reader = AlignedReader(path, reference, form=Form(PHRED33))
    try:
        axis = [0, *accumulate(reader.lengths)]
        width = bin_width(axis[-1])
        bins, names = cut_bins(reader, axis, width)
        contigs = Contigs(reader.names, reader.lengths)
        given = sorted(found for text in targets for found in read_named_targets(text, contigs))
        places = [(axis[target.contig] + target.start, axis[target.contig] + target.stop) for target, _ in given]
        start, stop = np.array(places or np.empty((0, 2)), np.int64).T
        tallies = Tally.of(bins), Tally.of(Spans(start, stop))
        wanted = join_spans(tallies[1]) if targets else Spans(*np.array([[0], [axis[-1]]]))
        bases = np.zeros(1, np.int64)
        count = partial(depth_of, reader, axis)
        for window, depth in map_ordered(cut_windows(reader, axis), count, threads, 2 * threads):
            bases = _add(bases, np.bincount(depth[_mask(wanted, window)]))
            sums, deep = (np.append(0, np.cumsum(values, dtype=np.int64)) for values in (depth, depth >= DEEP))
            for tally in tallies:
                tally.add(window, sums, deep)
    finally:
        reader.close()
    total = int((wanted.stop - wanted.start).sum())
    bases[0] += total - bases.sum()  # where no window was
    means, (target_means, shares) = tallies[0].means()[0], tallies[1].means()
    named = [(reader.names[contig], start, stop, name) for (contig, start, stop), name in given]
    return Depth(
        bases,
        width,
        [(*place, mean) for place, mean in zip(names, means, strict=True)],
        [(*place, mean, share) for place, mean, share in zip(named, target_means, shares, strict=True)],
    )


def bin_width(length: int) -> int:
    """1, 2 or 5 times a power of ten bases, for about BINS bins."""
    size: int = 10 ** max(0, math.floor(math.log10(max(1, length / BINS))))
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor * BINS >= length)


def cut_bins(reader: AlignedReader, axis: list[int], width: int) -> tuple[Spans, list[tuple[str, int, int]]]:
    """Bins of each contig from its first base on; the last one is shorter."""
    names = [
        (name, start, min(start + width, length))
        for name, length in zip(reader.names, reader.lengths, strict=True)
        for start in range(0, length, width)
    ]
    first = dict(zip(reader.names, axis, strict=False))
    places = np.array([(first[name] + start, first[name] + stop) for name, start, stop in names] or [(0, 0)], np.int64)
    return Spans(*places[: len(names)].T), names


def join_spans(tally: Tally) -> Spans:
    """The spans, sorted by start, without what they have in common."""
    spans, reach = tally.spans, tally.reach
    start = np.maximum(spans.start, np.append(0, reach[:-1])[: spans.start.size])
    return Spans(start, np.maximum(start, spans.stop))


def _mask(wanted: Spans, window: Window) -> ndarray:
    """bool [bases] of the window."""
    edges = np.clip(np.stack(wanted), window.start, window.stop) - window.start
    steps = np.bincount(edges[0], minlength=window.stop - window.start + 1)
    steps -= np.bincount(edges[1], minlength=steps.size)
    return np.asarray(np.cumsum(steps[:-1]) > 0)


def _add(a: ndarray, b: ndarray) -> ndarray:
    """The sum of two counts of different length."""
    out = np.zeros(max(a.size, b.size), np.int64)
    out[: a.size] += a
    out[: b.size] += b
    return out


def cut_windows(reader: AlignedReader, axis: list[int]) -> Iterator[Window]:
    """Windows of WINDOW bases of each contig that has reads; small neighbours share one."""
    first = 0
    for contig in range(len(reader.names) + 1):
        is_end = contig == len(reader.names) or not reader.has_reads(contig)
        if first < contig and (is_end or axis[contig + 1] - axis[first] > WINDOW):
            if contig - first > 1:
                yield Window(range(first, contig), axis[first], axis[contig])
            else:
                starts = range(axis[first], axis[contig], WINDOW)
                yield from (Window(range(first, contig), s, min(s + WINDOW, axis[contig])) for s in starts)
            first = contig
        if is_end:
            first = contig + 1


def depth_of(reader: AlignedReader, axis: list[int], window: Window) -> tuple[Window, ndarray]:
    """The window, and the depth at each of its bases (int32 [bases])."""
    contigs, first, keep = window.contigs, axis[window.contigs.start], ReadFilter()
    if len(contigs) == 1:
        parts = reader.parts(contigs.start, window.start - first, window.stop - first, keep)
    else:
        parts = reader.parts_of_contigs(contigs, np.array(axis[contigs.start : contigs.stop]) - first, keep)
    found = [matched_spans(reads) for reads in parts]
    none = np.empty(0, np.int64)
    name, start, stop = (np.concatenate([none, *(run[column] for run in found)]) for column in range(3))
    start, stop = count_once(name, start, stop)
    low, length = window.start - first, window.stop - window.start
    edges = (np.clip(places - low, 0, length) for places in (start, stop))
    begun, ended = (np.bincount(places, minlength=length + 1) for places in edges)
    return window, np.cumsum((begun - ended)[:length]).astype(np.int32)


def matched_spans(reads: AlignedReads) -> tuple[ndarray, ndarray, ndarray]:
    """Name (int64, a number made of its hash), start and stop of each run of aligned bases, int64 [runs]."""
    operation, length = reads.cigar & 15, (reads.cigar >> 4).astype(np.int64)
    is_match = np.isin(operation, (MATCH, EQUAL, UNEQUAL))
    step = np.where(is_match | np.isin(operation, (DELETION, SKIP)), length, 0)
    before = np.append(0, np.cumsum(step))
    read = np.repeat(np.arange(len(reads)), np.diff(reads.cigar_offsets))
    start = (reads.position - before[reads.cigar_offsets[:-1]])[read] + before[:-1]
    return reads.name_hash[read][is_match].view(np.int64), start[is_match], (start + length)[is_match]


def count_once(name: ndarray, start: ndarray, stop: ndarray) -> tuple[ndarray, ndarray]:
    """Start and stop of the runs, without what an earlier run of the same name has: mates that overlap."""
    if name.size == 0:
        return start, stop
    order = np.lexsort((start, name))
    name, start, stop = name[order], start[order], stop[order]
    is_new = np.append(True, name[1:] != name[:-1])
    shift = np.cumsum(is_new) * (int(stop.max()) + 1)  # so that a running maximum begins anew with each name
    reach = np.maximum.accumulate(stop + shift)
    start[1:] = np.maximum(start[1:], np.where(is_new[1:], start[1:], reach[:-1] - shift[1:]))
    return start, np.maximum(start, stop)
