"""Realign reads to called haplotypes, for --bam-output.

Calls within NEAR bases of each other, or of one phase set, make a region, unless it is a single substitution. A
sample's haplotypes are the reference with the alleles of its genotypes, copy by copy; unphased genotypes are taken in
the order written. A read is compared with the haplotypes of its sample by the PairHMM and aligned to the likeliest one
(local, with a bonus for reaching the read's ends), both extended by the reference as far as reads reach. The read gets
that alignment, carried over to the reference.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise, takewhile
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.pairhmm import ReadRows
from readwarp.call.likelihoods.pairhmm.cpu import log_likelihoods
from readwarp.call.likelihoods.pairhmm.penalties import gap_penalties
from readwarp.call.places.bases import Bases, encode
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.gvcf import NON_REF
from readwarp.pairwise.cpu import score_pairs, trace_pairs
from readwarp.pairwise.pairs import Costs, Pairs, Scheme
from readwarp.pairwise.scalar import LOCAL
from readwarp.ragged import offsets_of
from readwarp.rules.bases import NEVER, UNKNOWN
from readwarp.rules.cigar import DELETION, INSERTION, MATCH, SOFT_CLIP

NEAR = 40  # bases
COSTS = Costs(match=1, mismatch=4, gap_open=6, gap_extend=1, bonus=5)  # costs of aligning reads
ALIKE = 0.1  # log10: haplotypes within this explain a read equally well
Run = tuple[int, int]  # operation, length
Variant = tuple[int, str, str]  # position, REF, ALT


class CalledSite(NamedTuple):
    """Fields of a call that a region needs."""

    contig: int
    position: int
    alleles: tuple[str, ...]
    genotypes: tuple[tuple[int, ...], ...]  # by sample
    phase_sets: tuple[int, ...]  # by sample, -1 none

    @property
    def stop(self) -> int:
        return self.position + len(self.alleles[0])


class Haplotype(NamedTuple):
    """Called haplotype."""

    bases: ndarray  # uint8 0-4
    runs: tuple[Run, ...]  # its alignment to the reference's [start, stop) of the region
    samples: tuple[int, ...]  # samples whose genotypes have it


class CalledRegion(NamedTuple):
    """Called region; its haplotypes span [start, stop)."""

    contig: int
    start: int
    stop: int
    haplotypes: tuple[Haplotype, ...]


def sites_of(calls: Calls) -> Iterator[CalledSite]:
    """Yield the calls in which a sample has an ALT allele."""
    columns = calls.contig.tolist(), calls.position.tolist(), calls.alleles, calls.genotype, calls.phase_set.tolist()
    for contig, position, alleles, genotypes, phase_sets in zip(*columns, strict=True):
        if any(allele > 0 for genotype in genotypes for allele in genotype):
            listed = tuple(allele for allele in alleles if allele != NON_REF)
            yield CalledSite(contig, position, listed, tuple(genotypes), tuple(phase_sets))


def join_sites(sites: Iterable[CalledSite]) -> Iterator[list[CalledSite]]:
    """Yield the sites of each region, in order."""
    group, stop = list[CalledSite](), -1
    for site in sites:
        last = group[-1] if group else None
        is_phased = last is not None and any(
            one == other >= 0 for one, other in zip(last.phase_sets, site.phase_sets, strict=True)
        )
        if last and (site.contig != last.contig or (site.position - stop > NEAR and not is_phased)):
            yield group
            group, stop = [], -1
        group.append(site)
        stop = max(stop, site.stop)
    if group:
        yield group


def region_of(sites: Sequence[CalledSite], bases: Bases) -> CalledRegion | None:
    """Make a region; None for a single substitution. bases: of the contig."""
    if len(sites) == 1 and all(len(allele) == 1 for allele in sites[0].alleles):
        return None
    start, stop = sites[0].position, max(site.stop for site in sites)
    owners: dict[tuple[Variant, ...], list[int]] = {}
    for sample in range(len(sites[0].genotypes)):
        copies = max(len(site.genotypes[sample]) for site in sites)
        for copy in range(copies):
            owners.setdefault(tuple(variants_of(sites, sample, copy)), []).append(sample)
    haplotypes = tuple(_spell(own, start, stop, bases, samples) for own, samples in sorted(owners.items()))
    return CalledRegion(sites[0].contig, start, stop, haplotypes)


def variants_of(sites: Sequence[CalledSite], sample: int, copy: int) -> Iterator[Variant]:
    """Yield the variants on one copy of a sample; if two overlap, the first."""
    done = -1
    for site in sites:
        genotype = site.genotypes[sample]
        allele = site.alleles[genotype[copy]] if copy < len(genotype) and genotype[copy] > 0 else "*"
        if allele != "*" and site.position >= done:
            yield site.position, site.alleles[0], allele
            done = site.stop


def _spell(variants: Sequence[Variant], start: int, stop: int, bases: Bases, samples: Sequence[int]) -> Haplotype:
    parts, runs = list[bytes](), list[Run]()
    at = start
    for position, old, new in variants:
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))
        shared = len(old) if len(old) == len(new) else len(list(alike))
        parts += [bases.between(at, position), encode(new)]
        runs += [(MATCH, position - at + shared), (INSERTION, len(new) - shared), (DELETION, len(old) - shared)]
        at = position + len(old)
    parts.append(bases.between(at, stop))
    sequence = np.frombuffer(b"".join(parts), np.uint8)
    return Haplotype(sequence, join_runs([*runs, (MATCH, stop - at)]), tuple(dict.fromkeys(samples)))


def join_runs(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Drop empty runs, and join neighbours of one operation."""
    groups = groupby((run for run in runs if run[1]), key=lambda run: run[0])
    return tuple((operation, sum(length for _, length in own)) for operation, own in groups)


class Realignment(NamedTuple):
    """New alignment of a read."""

    haplotype: int  # index among those given, -1: several fit equally
    position: int  # 0-based
    runs: tuple[Run, ...]  # empty: the read does not align


def realign(
    region: CalledRegion, haplotypes: Sequence[Haplotype], bases: Bases, reads: Sequence[tuple[ndarray, ndarray]]
) -> list[Realignment]:
    """Realign each read (bases, qualities; both uint8) to these haplotypes of the region. bases: of the contig."""
    reach = max(own.size for own, _ in reads) + NEAR
    low, high = max(0, region.start - reach), min(bases.length, region.stop + reach)
    before, after = bases.array(low, region.start), bases.array(region.stop, high)
    targets = [np.concatenate((before, haplotype.bases, after)) for haplotype in haplotypes]
    values = _compare(reads, targets)
    are_alike = values > values.max(axis=1, keepdims=True) - ALIKE
    best = are_alike.argmax(axis=1)  # the first, so that no read has a needless gap
    places = [_places([(MATCH, before.size), *haplotype.runs, (MATCH, after.size)], low) for haplotype in haplotypes]
    pairs, scheme = _pairs(reads, targets, best), Scheme(COSTS, LOCAL)
    traces = trace_pairs(pairs, scheme, score_pairs(pairs, scheme))
    spans = pairwise(traces.cigar_offsets.tolist())
    out = list[Realignment]()
    for i, (first, last) in enumerate(spans):
        runs = [(int(run) & 15, int(run) >> 4) for run in traces.cigar[first:last]]
        start, skipped = int(traces.target_start[i]), int(traces.query_start[i])
        position, carried = carry_over(runs, places[best[i]][start:], skipped, reads[i][0].size)
        out.append(Realignment(-1 if are_alike[i].sum() > 1 else int(best[i]), position, carried))
    return out


def _compare(reads: Sequence[tuple[ndarray, ndarray]], targets: Sequence[ndarray]) -> ndarray:
    """Return log10 P(read | haplotype) (float64 [reads, haplotypes])."""
    offsets = offsets_of([bases.size for bases, _ in reads])
    bases, qualities = (np.concatenate(column) for column in zip(*reads, strict=True))
    rows = ReadRows(bases, qualities, *gap_penalties(bases, offsets), offsets)
    ends = offsets_of([target.size for target in targets])
    read, haplotype = (column.ravel() for column in np.mgrid[: len(reads), : len(targets)])
    found, _ = log_likelihoods(rows, np.concatenate(targets), ends, read, haplotype)
    return np.asarray((found + np.log10(np.diff(ends))[haplotype]).reshape(len(reads), len(targets)))


def _pairs(reads: Sequence[tuple[ndarray, ndarray]], targets: Sequence[ndarray], best: ndarray) -> Pairs:
    """Pair each read with its best haplotype."""
    lengths, sizes = (np.array([part.size for part in parts]) for parts in ([r for r, _ in reads], targets))
    starts, places = offsets_of(lengths)[:-1], offsets_of(sizes)[:-1]
    queries, codes = np.concatenate([bases for bases, _ in reads]), np.concatenate(targets)
    codes = np.where(codes == UNKNOWN, np.uint8(NEVER), codes)
    return Pairs(queries, starts, lengths, codes, places[best], sizes[best])


def _places(runs: Sequence[Run], start: int) -> list[int]:
    """Return the reference position of each base of a haplotype, -1 if it is inserted."""
    out = list[int]()
    for operation, length in runs:
        out += [-1] * length if operation == INSERTION else []
        out += range(start, start + length) if operation == MATCH else []
        start += length if operation != INSERTION else 0
    return out


def carry_over(runs: Sequence[Run], places: Sequence[int], skipped: int, length: int) -> tuple[int, tuple[Run, ...]]:
    """Carry a read's alignment from a haplotype over to the reference: position and CIGAR, clipped at insertions.

    places: the reference position of each base of the haplotype from the start of the alignment on. skipped: bases of
    the read before it, of `length`.
    """
    steps = list[tuple[int, int]]()  # operation and position of each base of the read
    at, used = 0, skipped
    for operation, number in runs:
        for _ in range(number):
            if operation != DELETION:
                place = places[at] if operation == MATCH else -1
                steps.append((MATCH if place >= 0 else INSERTION, place))
                used += 1
            at += operation != INSERTION
    aligned = [i for i, (operation, _) in enumerate(steps) if operation == MATCH]
    if not aligned:
        return -1, ()
    first, last = aligned[0], aligned[-1]
    out, before = [(SOFT_CLIP, skipped + first)], steps[first][1]
    for operation, place in steps[first : last + 1]:
        if operation == MATCH:
            out.append((DELETION, place - before))
            before = place + 1
        out.append((operation, 1))
    out.append((SOFT_CLIP, length - used + len(steps) - 1 - last))
    return steps[first][1], join_runs(out)
