"""Build calls from records that kernels filled, with annotations of genotypes; join and compare calls (host only)."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.records.genotypes.annotations import round_columns
from readwarp.call.records.genotypes.emitted import STAR, Emitted
from readwarp.call.records.genotypes.filters import OVERLAP, find_failed_filters
from readwarp.call.records.genotypes.order import genotypes_of
from readwarp.call.records.genotypes.quality import no_variant_prior, substitution_prior
from readwarp.call.records.genotypes.spell import Spelled
from readwarp.config import CallParameters
from readwarp.formats.variants.calls import Calls
from readwarp.ragged import columns_of, offsets_of, replace

MIN_SAMPLES = 2  # diploid samples with a genotype, for ExcessHet ...
MIN_INBRED = 10  # ... and for InbreedingCoeff, as in GATK
PerSample = list[tuple[tuple[int, ...], ...]]
NAMED = 1000  # bases; see `name_sets`


def excess_heterozygosity(out: Emitted) -> ndarray:
    """Return the Phred of P(at least as many heterozygous samples) (float64 [records]); NaN for fewer than two."""
    counts = count_diploids(out)
    return np.array([phred_of_excess(*row) if sum(row) >= MIN_SAMPLES else math.nan for row in counts.tolist()])


def inbreeding_coefficient(out: Emitted) -> ndarray:
    """Return 1 - observed / expected heterozygous samples (float64 [records]); NaN below ten samples."""
    none, one, both = count_diploids(out).T
    samples = none + one + both
    frequency = (one + 2 * both) / np.maximum(1, 2 * samples)
    expected = 2 * frequency * (1 - frequency) * samples
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((samples >= MIN_INBRED) & (expected > 0), 1 - one / expected, np.nan)


def count_diploids(out: Emitted) -> ndarray:
    """Count diploid samples with no, one and two alleles other than the reference's (int64 [records, 3])."""
    if out.genotype.shape[2] < 2:
        return np.zeros((len(out), 3), np.int64)
    pair = out.genotype[:, :, :2]
    is_known, others = (out.ploidy == 2) & (pair >= 0).all(axis=2), (pair > 0).sum(axis=2)
    return np.stack([(is_known & (others == k)).sum(axis=1) for k in range(3)], axis=1)


@lru_cache(maxsize=1 << 14)
def phred_of_excess(none: int, one: int, both: int) -> float:
    """Return the one-sided mid-P value of the exact test of Hardy-Weinberg equilibrium (Wigginton et al. 2005).

    P(h) = N! / (a! h! b!) * 2^h * A! B! / (2 N)! for h heterozygous samples, A and B copies of the alleles.
    """
    first, second = 2 * none + one, 2 * both + one
    samples = none + one + both
    fixed = math.lgamma(samples + 1) + math.lgamma(first + 1) + math.lgamma(second + 1) - math.lgamma(2 * samples + 1)

    def share(h: int) -> float:
        counts = (first - h) // 2, h, (second - h) // 2
        return math.exp(fixed + h * math.log(2) - sum(math.lgamma(count + 1) for count in counts))

    p = 0.5 * share(one) + sum(share(h) for h in range(one + 2, min(first, second) + 1, 2))
    return max(0.0, -10 * math.log10(max(p, 1e-300)))


def allele_qualities_by_depth(out: Emitted, quality_by_depth: ndarray, theta: float) -> ndarray:
    """Return AS_QD: tuples with a value for each other allele, 0 for `*` and absent alleles (object [records]).

    The Phred that no sample has the allele, from its PLs under the prior of `call` with `theta`, summed over samples,
    divided by the DP of the samples that have it. With one other allele, it is QD.
    """
    values = np.empty(len(out), object)
    for row, (first, last) in enumerate(pairwise(out.kept_offsets.tolist())):
        alleles, only = last - first, float(quality_by_depth[row])
        if alleles == 2:
            values[row] = (only if only == only else 0.0,)
            continue
        found = []
        for allele in range(1, alleles):
            carriers = (out.genotype[row] == allele).any(axis=1) & (allele != out.star[row])
            depth = int(out.depth[row, carriers].sum())
            found.append(round(phred_without(out, row, alleles, allele, theta) / depth, 2) if depth else 0.0)
        values[row] = tuple(found)
    return values


def phred_without(out: Emitted, row: int, alleles: int, allele: int, theta: float) -> float:
    """Return the Phred of P(no sample has the allele). Samples are independent; PLs of only 0 are ignored."""
    samples, total = out.ploidy.shape[1], 0.0
    for ploidy in np.unique(out.ploidy[row][out.ploidy[row] > 0]).tolist():
        prior, has = priors_of(alleles, ploidy, allele, theta)
        columns = row * samples + np.flatnonzero(out.ploidy[row] == ploidy)
        phred = out.phred[out.phred_offsets[columns][:, None] + np.arange(prior.size)]
        weights = -0.1 * phred[phred.any(axis=1)] + np.log10(prior)
        total += float(10 * (log_sums(weights) - log_sums(weights[:, ~has])).sum())
    return max(0.0, total)


def log_sums(weights: ndarray) -> ndarray:
    """Return log10 of the sums of 10 ** weights in each row, however small they are."""
    highest = weights.max(axis=1, keepdims=True)
    return np.asarray(highest[:, 0] + np.log10((10.0 ** (weights - highest)).sum(axis=1)))


@lru_cache(maxsize=1 << 12)
def priors_of(alleles: int, ploidy: int, allele: int, theta: float) -> tuple[ndarray, ndarray]:
    """Return the prior of each genotype, float64, and whether it has the allele, bool."""
    table = genotypes_of(alleles, ploidy)
    rest = no_variant_prior.py_func(theta, ploidy)  # in Python: a kernel for two numbers would have to be compiled
    others = [[a for a in genotype if a] for genotype in table]
    prior = [theta ** len(set(own)) / len(own) if own else rest for own in others]
    return np.array(prior), np.array([allele in own for own in others])


def build_calls(spelled: Spelled, out: Emitted, columns: Any, parameters: CallParameters) -> Calls:
    """Build calls. `columns`: annotations.Columns."""
    columns = columns._replace(ExcessHet=excess_heterozygosity(out), InbreedingCoeff=inbreeding_coefficient(out))
    quality_by_depth = np.round(columns.QD, 2)
    is_copy = np.arange(out.genotype.shape[2]) < out.ploidy[:, :, None]
    samples = out.ploidy.shape[1]
    return Calls(
        contig=np.full(len(out), spelled.contig, np.int32),
        position=spelled.position,
        alleles=spelled.alleles,
        quality=out.quality,
        genotype=_split(out.genotype[is_copy], offsets_of(out.ploidy), samples),
        genotype_quality=out.genotype_quality,
        depth=out.depth,
        allele_depth=_split(out.allele_depth, out.depth_offsets, samples),
        likelihoods=_split(out.phred, out.phred_offsets, samples),
        phase_set=out.phase_set,
        filters=find_failed_filters(out, columns, parameters),
        annotations=round_columns(columns)
        | {"AS_QD": allele_qualities_by_depth(out, quality_by_depth, substitution_prior(parameters.snv_prior))},
        strands=out.strands,
        independent=out.independent,
        squares=out.squares,
        phase_name=name_sets(spelled, out.phase_set),
    )


def name_sets(spelled: Spelled, phase_set: ndarray) -> list[tuple[str, ...]]:
    """Return PID of each record and sample: position, REF and first ALT of the first call of its phase set.

    Records more than NAMED bases away get the position alone: their window may not hold that call.
    """
    names = np.full(phase_set.shape, "", object)
    positions = spelled.position.tolist()
    for sample in np.flatnonzero((phase_set >= 0).any(axis=0)).tolist():
        known = dict[int, str]()
        for row in np.flatnonzero(phase_set[:, sample] >= 0).tolist():
            start = int(phase_set[row, sample])
            if positions[row] == start:
                known.setdefault(start, name_set(start, spelled.alleles[row]))
            is_near = positions[row] - start <= NAMED
            names[row, sample] = known.get(start, f"{start + 1}") if is_near else f"{start + 1}"
    return list(map(tuple, names.tolist()))


def name_set(start: int, alleles: tuple[str, ...]) -> str:
    """Return PID of the phase set whose first call has these alleles."""
    return f"{start + 1}_{alleles[0]}_{alleles[1]}"


def _split(values: np.ndarray, offsets: np.ndarray, samples: int) -> PerSample:
    """Split the values of each column by record."""
    flat = values.tolist()
    columns = (tuple(flat[first:last]) for first, last in pairwise(offsets.tolist()))
    return list(zip(*[columns] * samples, strict=True))


def join_calls(parts: Sequence[Calls], start: int, stop: int, samples: int) -> Calls:
    """Join the calls of all parts with positions in [start, stop), by position, ties in the order of parts."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return no_calls(samples)
    position = np.concatenate([part.position for part in parts])
    order = np.argsort(position, kind="stable")
    order = order[(position[order] >= start) & (position[order] < stop)]
    fields = zip(*(columns_of(part).values() for part in parts), strict=True)
    return Calls(*(_take(columns, order) for columns in fields))


def keep_calls(calls: Calls, start: int, is_inside: np.ndarray) -> Calls:
    """Keep the calls at positions inside (bool [bases]) a stretch that begins at `start`."""
    rows = np.flatnonzero(is_inside[calls.position - start])
    return calls if rows.size == len(calls) else take_calls(calls, rows)


def take_calls(calls: Calls, rows: ndarray) -> Calls:
    """Copy the calls in these rows (int64)."""
    return Calls(*(_take([column], rows) for column in columns_of(calls).values()))


def _take(columns: Sequence[Any], order: np.ndarray) -> Any:
    """Concatenate one column of all parts, in this order."""
    if isinstance(columns[0], dict):
        return {name: _take([part[name] for part in columns], order) for name in columns[0]}
    if isinstance(columns[0], list):
        together = [value for part in columns for value in part]
        return [together[i] for i in order.tolist()]
    return np.concatenate(columns)[order]


def no_calls(samples: int) -> Calls:
    return Calls(
        contig=np.empty(0, np.int32),
        position=np.empty(0, np.int64),
        alleles=[],
        quality=np.empty(0),
        genotype=[],
        genotype_quality=np.empty((0, samples), np.int32),
        depth=np.empty((0, samples), np.int32),
        allele_depth=[],
        likelihoods=[],
        phase_set=np.empty((0, samples), np.int64),
        filters=[],
        annotations={},
        strands=np.empty((0, samples, 4), np.int32),
        independent=np.empty((0, samples, 4), np.int32),
        squares=np.empty(0, np.int64),
        phase_name=[],
    )


def mark_overlaps(calls: Calls) -> Calls:
    """Add the filter Overlap to the worse of two calls that need more copies of the contig than there are.

    `calls` belong to one contig and are sorted by position. A call conflicts with a deletion that spans its position if
    in any sample both together alter more copies than the ploidy. The call of lower QUAL is marked, on a tie the later
    one, whatever other filters the better one fails: so the mark depends on overlapping pairs alone.
    """
    worse: set[int] = set()
    positions = calls.position.tolist()
    for i in np.flatnonzero([len(alleles[0]) > 1 for alleles in calls.alleles]).tolist():
        stop = positions[i] + len(calls.alleles[i][0])
        for j in range(bisect_right(positions, positions[i]), bisect_left(positions, stop)):
            if _conflict(calls, i, j):
                worse.add(j if calls.quality[j] <= calls.quality[i] else i)
    filters = [(*own, OVERLAP) if i in worse else own for i, own in enumerate(calls.filters)]
    return replace(calls, filters=filters)


def _conflict(calls: Calls, deletion: int, other: int) -> bool:
    """Return whether the two alter more copies than a sample has."""
    reference, *_ = alleles = calls.alleles[deletion]
    for first, second in zip(calls.genotype[deletion], calls.genotype[other], strict=True):
        shortest = min((len(alleles[a]) for a in first if a >= 0 and alleles[a] != STAR), default=len(reference))
        deletes = calls.position[other] <= calls.position[deletion] + len(reference) - shortest
        altered = sum(a > 0 and alleles[a] != STAR for a in first)
        altered += sum(a > 0 and calls.alleles[other][a] != STAR for a in second)  # `*`: altered by the deletion
        if deletes and altered > len(first):
            return True
    return False
