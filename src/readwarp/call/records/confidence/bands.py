"""Compute the confidence in reference bases, and the likelihoods of <NON_REF>, for a gVCF (host only)."""

import math
from functools import cache
from itertools import product
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Pileup, Sites
from readwarp.call.candidates.pileup import DELETED
from readwarp.call.candidates.sites import MAX_TRACT
from readwarp.call.candidates.sites.find import Site, sites_of
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import LOG10_3, NOTHING, log_match, log_mismatch
from readwarp.call.places.bases import Window, contigs_around, encode
from readwarp.call.reads.gap_models import GapModel, slip_table
from readwarp.call.reads.usable import HIDDEN
from readwarp.call.records.confidence import GQ_BANDS, MAX_UNIT, REACH, UNKNOWN
from readwarp.call.records.genotypes.emitted import UNLISTED
from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.variants.calls import Bands, Calls
from readwarp.ragged import offsets_of, replace, take
from readwarp.rules.cigar import DELETION, INSERTION, is_match, run_of

NOWHERE = -(1 << 30)  # before all reads
MAX_QUALITY = 93
MAX_GENOTYPE_QUALITY = 99
TEN_LOG10_3 = 10.0 * LOG10_3
BAND_OF = np.append(np.searchsorted(GQ_BANDS, np.arange(MAX_GENOTYPE_QUALITY + 1), side="right") - 1, UNKNOWN)  # by GQ


class Repeats(NamedTuple):
    """Span, from the window's start, that a read must cover to support the reference at each position."""

    first: Annotated[ndarray, "int32 [positions]"]  # NOWHERE where the repeat is longer than MAX_TRACT
    last: Annotated[ndarray, "int32 [positions]"]  # inclusive
    phred: Annotated[ndarray, "int32 [positions]"]  # Phred of an indel error


class CalledGaps(NamedTuple):
    """Spans [first, stop), sorted by `first`, in which reads may show the indels that have records."""

    first: Annotated[ndarray, "int64 [gaps]"]  # anchor
    stop: Annotated[ndarray, "int64 [gaps]"]  # past the last base that aligners may delete for it or for an earlier gap


def find_called(calls: Calls, window: Window) -> CalledGaps:
    """Return the indels of one contig's calls, sorted by position."""
    gaps = list[Site]()
    for position, (old, *others) in zip(calls.position.tolist(), calls.alleles, strict=True):
        for other in others:
            size = len(old) - len(other)
            if size and old[0] == other[0] and other.isalpha():
                gaps.append((position + 1, True, [(0, b""), (max(0, size), encode(other[1 : 1 - min(0, size)]))]))
    sites = sites_of(gaps, window)
    return CalledGaps(sites.position, np.maximum.accumulate(sites.stop))


def find_repeats(window: Window, slips: ndarray) -> Repeats:
    """Find the repeats around each position of the window, cut to the window's bases of its contig."""
    begin, end = (edge - window.start for edge in contigs_around(window, np.arange(window.start, window.stop)))
    first = np.arange(window.stop - window.start, dtype=np.int32)
    last = first + np.int32(1)
    phred = np.full(first.size, round(slips[0, 1]), np.int32)
    mark_repeats(window, slips, Repeats(first, last, phred))
    low = np.where(first == NOWHERE, first, np.maximum(first - REACH, begin))
    return Repeats(low.astype(np.int32), np.minimum(last + REACH, end - 1).astype(np.int32), phred)


@kernel
def mark_repeats(window, slips, out):
    """Widen `first` and `last` to the repeats, and lower `phred` to that of their errors."""
    offset = window.start - window.first
    for unit in range(1, MAX_UNIT + 1):
        begin = 0  # start of the stretch whose bases equal those one unit before
        for i in range(unit, window.bases.size + 1):
            if i < window.bases.size and window.bases[i] == window.bases[i - unit] and window.bases[i] < 4:
                continue
            tract = i - begin
            if tract >= 2 * unit:
                error = np.int32(round(slips[unit - 1, min(tract // unit, slips.shape[1] - 1)]))
                low = begin - offset if tract <= MAX_TRACT else NOWHERE
                for p in range(max(begin - 1 - offset, 0), min(i - offset, out.first.size)):
                    out.first[p] = min(out.first[p], low)
                    out.last[p] = max(out.last[p], i - 1 - offset)
                    out.phred[p] = min(out.phred[p], error)
            begin = i - unit + 1


@kernel
def count_spanning(reads, start, repeats, called, spanning):
    """Count each read in `spanning` (int32) where it spans the repeat without a gap and its own base is usable.

    Positions count from `start`. called: the CalledGaps.
    """
    cigar = reads.cigar
    for read in range(reads.position.size):
        p, q = reads.position[read] - start, reads.read_offsets[read]
        i, end = reads.cigar_offsets[read], reads.cigar_offsets[read + 1]
        begin = stop = np.int64(p)  # stretch without gaps, called ones aside
        after = i
        while i < end:
            if i == after:
                begin, stop = p, p
                while after < end and (is_aligned(cigar[after]) or is_called(cigar[after], stop + start, called)):
                    stop += run_of(cigar[after])[2]
                    after += 1
            _, _, on_reference, on_read = run_of(cigar[i])
            a, b = max(p, 0), min(p + on_reference, repeats.first.size)
            if is_aligned(cigar[i]) and a < b:
                own = reads.qualities[q + a - p : q + b - p]
                add_spanning(repeats.first[a:b], repeats.last[a:b], own, np.int32(begin), np.int32(stop), spanning[a:b])
            p, q = p + on_reference, q + on_read
            i += 1
            after = max(after, i)


@scalar
def is_aligned(run):
    return is_match(run & 15) or run < 16


@scalar
def is_called(run, position, called):
    """Return whether a record has the indel that begins at this position."""
    before = np.searchsorted(called.first, position - 1, side="right") - 1
    on_reference = run_of(run)[2]
    is_gap = run & 15 == INSERTION or run & 15 == DELETION
    return is_gap and before >= 0 and position + on_reference <= called.stop[before]


@kernel
def add_spanning(first, last, qualities, start, stop, spanning):
    for i in range(spanning.size):
        spanning[i] += np.int32(first[i] >= start) & np.int32(last[i] < stop) & np.int32(qualities[i] > HIDDEN)


class Gaps(NamedTuple):
    """Support of reads for the reference's length at each position of a window."""

    spanning: Annotated[ndarray, "int32 [positions]"]  # reads that support that length
    gaps: Annotated[ndarray, "int64 [positions]"]  # reads with a gap
    phred: Annotated[ndarray, "int32 [positions]"]  # Phred of an indel error


class Confidence(NamedTuple):
    """Confidence in the reference at each position of a window."""

    base: Annotated[ndarray, "uint8 [positions]"]  # reference base, 0-4
    ploidy: Annotated[ndarray, "int8 [positions]"]
    depth: Annotated[ndarray, "int32 [positions]"]
    quality: Annotated[ndarray, "int32 [positions]"]  # GQ, UNKNOWN where nothing is known
    likelihoods: Annotated[ndarray, "int32 [positions, max copies + 1]"]  # PL of 0, 1, ... copies


def reference_bands(
    pileup: Pileup,
    reads: AlignedReads,
    window: Window,
    covered: ndarray,
    ploidy: ndarray,
    causes: tuple[CalledGaps, GapModel],
) -> Bands:
    """Return the bands of a window; see the step's contract."""
    size, copies = window.stop - window.start, int(ploidy.max(initial=1))
    out = Confidence(
        base=window.trim().bases,
        ploidy=ploidy,
        depth=np.zeros(size, np.int32),
        quality=np.zeros(size, np.int32),
        likelihoods=np.zeros((size, copies + 1), np.int32),
    )
    here = take(pileup, "positions", slice(window.start - pileup.start, window.stop - pileup.start))
    called, model = causes
    repeats = find_repeats(window, slip_table(model))
    gaps = Gaps(np.zeros(size, np.int32), count_gaps(pileup, window.start, window.stop), repeats.phred)
    count_spanning(reads, window.start, repeats, called, gaps.spanning)
    weigh_positions(here, gaps, *odds_tables(copies), np.empty((2, copies + 1)), out)
    return join_positions(window, out, ~covered)


def unknown_bands(window: Window, covered: ndarray, ploidy: ndarray) -> Bands:
    """Return `reference_bands` of a window without reads, in a tenth of the time; most windows may have none."""
    kinds = np.where(covered, -1, ploidy).astype(np.int16)
    edges = np.flatnonzero(np.diff(kinds, prepend=-2, append=-2))
    wanted = kinds[edges[:-1]] >= 0
    first, stop = edges[:-1][wanted], edges[1:][wanted]
    return Bands(
        contig=window.contig,
        start=first + window.start,
        stop=stop + window.start,
        base=window.trim().bases[first],
        band=np.full(first.size, UNKNOWN, np.int8),
        ploidy=ploidy[first].astype(np.int8),
        depth_sum=np.zeros(first.size, np.int64),
        min_depth=np.zeros(first.size, np.int32),
        likelihoods=np.zeros((first.size, int(ploidy.max(initial=1)) + 1), np.int32),
    )


def count_gaps(pileup: Pileup, start: int, stop: int) -> ndarray:
    """Count the reads with a gap at each position of [start, stop)."""
    gaps: ndarray = pileup.counts[start - pileup.start : stop - pileup.start, DELETED].sum(axis=1)
    first, last = np.searchsorted(pileup.allele_position, (start, stop))
    np.add.at(gaps, pileup.allele_position[first:last] - start, pileup.allele_counts[first:last].sum(axis=1))
    return gaps


@kernel
def weigh_positions(pileup, gaps, substitutions, indels, losses, out):
    """Fill the depth, likelihoods and quality of `out`.

    substitutions, indels: of `odds_tables`. losses: float64 [kind, copies + 1], scratch for one position.
    """
    phred = gaps.phred
    for w in range(out.base.size):
        copies = np.int64(out.ploidy[w])
        own = other = own_sum = other_sum = 0
        for base in range(4):
            number = np.int64(pileup.counts[w, base, 0]) + pileup.counts[w, base, 1]
            total = np.int64(pileup.quality_sums[w, base, 0]) + pileup.quality_sums[w, base, 1]
            if base == out.base[w]:
                own, own_sum = number, total
            else:
                other, other_sum = other + number, other_sum + total
        out.depth[w] = own + other + pileup.counts[w, DELETED, 0] + pileup.counts[w, DELETED, 1]
        if out.depth[w] == 0 or copies == 0 or out.base[w] > 3:
            out.quality[w] = UNKNOWN
            continue
        match, gap = substitutions[copies], indels[copies]
        own_mean = min(own_sum // max(own, 1), MAX_QUALITY)
        other_mean = min(other_sum // max(other, 1), MAX_QUALITY)
        none = own * match[0, own_mean] - other_sum - TEN_LOG10_3 * other
        whole = gaps.spanning[w] * gap[0, phred[w]] + gaps.gaps[w] * gap[copies, phred[w]]
        for k in range(1, copies + 1):
            fits = own * match[k, own_mean] if k < copies else -own_sum - TEN_LOG10_3 * own
            losses[0, k] = none - fits - other * match[copies - k, other_mean]
            losses[1, k] = whole - gaps.spanning[w] * gap[k, phred[w]] - gaps.gaps[w] * gap[copies - k, phred[w]]
        by_base, by_gap = losses[0, 1], losses[1, 1]
        for k in range(2, copies + 1):
            by_base, by_gap = min(by_base, losses[0, k]), min(by_gap, losses[1, k])
        kind, out.quality[w] = 1 if by_gap < by_base else 0, MAX_GENOTYPE_QUALITY
        for k in range(1, copies + 1):
            out.likelihoods[w, k] = round(max(0.0, losses[kind, k]))
            out.quality[w] = min(out.quality[w], out.likelihoods[w, k])


@cache
def odds_tables(copies: int) -> ndarray:
    """Return [kind, P, k, Q]: 10 log10 P(a read agrees with the reference | k of P copies are another allele).

    Kind 0: its base, of quality Q. Kind 1: its length, where indel errors have Phred Q.
    """
    tables = np.zeros((2, copies + 1, copies + 1, MAX_QUALITY + 1))
    error = np.minimum(0.75, 10.0 ** (-0.1 * np.arange(MAX_QUALITY + 1)))
    for kind, ploidy in product(range(2), range(1, copies + 1)):
        share = 1.0 if kind else 1.0 / 3.0
        k = np.arange(ploidy + 1)[:, None]
        tables[kind, ploidy, : ploidy + 1] = 10.0 * np.log10(
            ((ploidy - k) * (1.0 - error) + k * error * share) / ploidy
        )
    return tables


def join_positions(window: Window, confidence: Confidence, wanted: ndarray) -> Bands:
    """Join neighbouring positions with one band and one ploidy into blocks, of those `wanted` (bool [positions])."""
    rows = np.flatnonzero(wanted)
    here, band = take(confidence, "positions", rows), BAND_OF[confidence.quality[rows]].astype(np.int8)
    is_first = np.ones(rows.size, bool)
    is_first[1:] = (np.diff(rows) > 1) | (band[1:] != band[:-1]) | (here.ploidy[1:] != here.ploidy[:-1])
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], rows.size)[: first.size] - 1

    def reduce(by: np.ufunc, values: ndarray) -> ndarray:
        return by.reduceat(values, first, axis=0) if first.size else values

    return Bands(
        contig=window.contig,
        start=rows[first] + window.start,
        stop=rows[last] + window.start + 1,
        base=here.base[first],
        band=band[first],
        ploidy=here.ploidy[first].astype(np.int8),
        depth_sum=reduce(np.add, here.depth.astype(np.int64)),
        min_depth=reduce(np.minimum, here.depth),
        likelihoods=reduce(np.minimum, here.likelihoods),
    )


def add_non_ref(sites: Sites, likelihoods: Likelihoods, model: GapModel) -> tuple[Sites, Likelihoods]:
    """Append <NON_REF> as the last allele of every site, in new arrays; see above."""
    ends = sites.allele_offsets[1:]
    sizes = np.insert(np.diff(sites.inserted_offsets), ends, 1)
    longer = replace(
        sites,
        allele_offsets=sites.allele_offsets + np.arange(len(sites) + 1),
        deleted=np.insert(sites.deleted, ends, ~sites.is_indel),
        inserted=np.insert(sites.inserted, sites.inserted_offsets[ends], np.uint8(UNLISTED)),
        inserted_offsets=offsets_of(sizes),
        is_forced=np.insert(sites.is_forced, ends, False),
        reach=np.insert(sites.reach, ends, 1.0),
    )
    value_offsets = likelihoods.value_offsets + likelihoods.pair_offsets
    out = replace(likelihoods, value_offsets=value_offsets, values=np.empty(int(value_offsets[-1])))
    weigh_other(sites, likelihoods, slip_table(model), out)
    return longer, out


@kernel
def weigh_other(sites, likelihoods, slips, out):
    """Copy each row of values to `out`, followed by the value of <NON_REF>."""
    for site in range(sites.begin.size):
        n, is_indel = sites.allele_offsets[site + 1] - sites.allele_offsets[site], sites.is_indel[site]
        unit, tract = sites.unit[site], sites.stop[site] - sites.begin[site]
        slip = -0.1 * slips[min(unit, slips.shape[0]) - 1, min(max(tract, 1) // unit, slips.shape[1] - 1)]
        for pair in range(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]):
            k = pair - likelihoods.pair_offsets[site]
            row, target = likelihoods.value_offsets[site] + k * n, out.value_offsets[site] + k * (n + 1)
            lowest, highest = math.inf, -math.inf
            for a in range(n):
                out.values[target + a] = likelihoods.values[row + a]
                lowest, highest = min(lowest, likelihoods.values[row + a]), max(highest, likelihoods.values[row + a])
            q = min(likelihoods.quality[pair], likelihoods.mapping_quality[pair])
            if likelihoods.allele[pair] == NOTHING:
                out.values[target + n] = highest
            elif is_indel:
                out.values[target + n] = highest + slip
            elif lowest == highest and highest == log_mismatch(q):
                out.values[target + n] = log_match(q)
            else:
                out.values[target + n] = lowest
