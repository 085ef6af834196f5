"""Move the results of a window from the axis of a strip to its contigs; cut calls across a circle's origin in two."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.places.bases import Bases
from readwarp.call.places.circle import Circle
from readwarp.call.places.strips import Strip, StripBases
from readwarp.call.records.found import NO_RUNS, WindowCalls, on_contig
from readwarp.call.records.genotypes.calls import join_calls, name_set, take_calls
from readwarp.call.records.genotypes.order import genotypes_of
from readwarp.call.records.genotypes.score import genotype_phred
from readwarp.call.records.genotypes.spell import count_shared_at_end
from readwarp.formats.variants.calls import Bands, Calls
from readwarp.ragged import replace, take

Letters = Callable[[int, int], str]  # letters of [start, stop) of the axis


def put_back(found: WindowCalls, strip: Strip) -> WindowCalls:
    """Move the results of a window on a strip's axis to the strip's contigs."""
    bands = found.bands and split_bands(found.bands[0], strip)
    return WindowCalls(move_back(found.calls, strip), bands, split_runs(found.shallow[:, 1:], strip))


def move_back(calls: Calls, strip: Strip) -> Calls:
    """Move calls from the axis of a strip to its contigs."""
    if len(calls) == 0:
        return calls
    row, origin_of_set = strip.rows_of(calls.position), strip.origins[strip.rows_of(calls.phase_set)]
    origin, contigs = strip.origins[row], np.array(strip.contigs, np.int32)
    return replace(
        calls,
        contig=contigs[row],
        position=calls.position - origin,
        phase_set=np.where(calls.phase_set >= 0, calls.phase_set - origin_of_set, calls.phase_set),
        phase_name=[
            tuple(_move_name(name, by) for name, by in zip(own, origins, strict=True))
            for own, origins in zip(calls.phase_name, origin_of_set.tolist(), strict=True)
        ],
    )


def split_bands(bands: Bands, strip: Strip) -> list[Bands]:
    """Split bands on a strip's axis into those of its contigs."""
    called = strip.called
    bounds = [*np.searchsorted(bands.start, [origin for _, origin in called]).tolist(), len(bands)]
    own = (take(bands, "blocks", slice(*bound)) for bound in pairwise(bounds))
    return [
        replace(part, contig=stretch.contig, start=part.start - origin, stop=part.stop - origin)
        for part, (stretch, origin) in zip(own, called, strict=True)
    ]


def split_runs(runs: ndarray, strip: Strip) -> ndarray:
    """Move runs from the axis of a strip to its contigs, see `on_contig`."""
    parts = [NO_RUNS]
    for stretch, origin in strip.called:
        own = np.clip(runs - origin, stretch.start, stretch.stop)
        parts.append(on_contig(own[own[:, 0] < own[:, 1]], stretch.contig))
    return np.concatenate(parts)


def _move_name(name: str, by: int) -> str:
    """Move a name made by `name_sets`."""
    position, *rest = name.split("_")
    return "_".join((str(int(position) - by), *rest)) if name else name


class OriginSide(NamedTuple):
    """Change that a call makes on one side of the origin."""

    position: int
    alleles: tuple[str, ...]  # distinct alleles, the reference's first
    number: tuple[int, ...]  # new number of each allele of the call


def cut_at_origin(calls: Calls, bases: Bases) -> Calls:
    """Return calls sorted by position; only the axis of a Circle has an origin within it."""
    if not isinstance(bases, StripBases) or not isinstance(circle := bases.strip, Circle):
        return calls
    stop = calls.position + np.array([len(alleles[0]) for alleles in calls.alleles], np.int64)
    is_cut = circle.crosses(calls.position, stop)
    if not is_cut.any():
        return calls
    pieces = [take_calls(calls, np.flatnonzero(~is_cut))]
    for row in np.flatnonzero(is_cut).tolist():
        whole = take_calls(calls, np.array([row]))
        tie(whole)
        origin = int(circle.origins[circle.rows_of(stop[row] - 1)])
        for part in split(int(calls.position[row]), calls.alleles[row], origin, bases.letters):
            pieces.append(take_part(whole, part))
    samples = calls.phase_set.shape[1]
    return join_calls(pieces, int(calls.position[0]), int(stop.max()) + 1, samples)


def tie(call: Calls) -> None:
    """Give samples without a phase set one for this call, so that its parts stay together."""
    position = int(call.position[0])
    sets = zip(call.phase_set[0].tolist(), call.genotype[0], strict=True)
    is_new = np.array([own < 0 <= min(genotype, default=-1) for own, genotype in sets], bool)
    call.phase_set[0, is_new] = position
    name = name_set(position, call.alleles[0])
    call.phase_name[0] = tuple(name if new else own for own, new in zip(call.phase_name[0], is_new, strict=True))


def split(position: int, alleles: tuple[str, ...], origin: int, letters: Letters) -> Iterator[OriginSide]:
    """Yield the parts of a call that change anything."""
    reference, size = alleles[0], origin - position
    known = [allele for allele in alleles if allele.isalpha()]
    parts = [split_allele(reference, allele, size) for allele in known]
    before, after = zip(*parts, strict=True)
    if not all(after):  # the base after is the anchor
        following = letters(position + len(reference), position + len(reference) + 1)
        after = tuple(own + following for own in after)
    for start, spelled in ((position, before), (origin, after)):
        row = iter(spelled)
        all_alleles = [next(row) if allele.isalpha() else allele for allele in alleles]
        distinct = tuple(dict.fromkeys(all_alleles))
        if len(set(spelled)) > 1:
            yield OriginSide(start, distinct, tuple(map(distinct.index, all_alleles)))


def split_allele(reference: str, allele: str, size: int) -> tuple[str, str]:
    """Split an allele into replacements of the first `size` reference bases and of the rest.

    Inserted bases are before the origin. Alleles of the reference's length are aligned base by base; otherwise the
    first base of both is an anchor, and bases are deleted or inserted after it.
    """
    if len(allele) == len(reference):
        return allele[:size], allele[size:]
    shared = count_shared_at_end((allele, reference))
    stop = len(reference) - shared  # end of the replaced bases
    changed = allele[: len(allele) - shared]
    return changed + reference[stop:size], reference[max(stop, size) :]


def take_part(call: Calls, part: OriginSide) -> Calls:
    """Return one call with the alleles of a part of it."""
    out = take_calls(call, np.zeros(1, np.int64))
    out.position[0], out.alleles[0] = part.position, part.alleles
    number, size = part.number, len(part.alleles)
    if number == tuple(range(size)):
        return out
    out.genotype[0] = tuple(tuple(number[a] if a >= 0 else a for a in own) for own in call.genotype[0])
    out.allele_depth[0] = tuple(
        tuple(sum(depth for depth, a in zip(own, number, strict=True) if a == new) for new in range(size))
        if own
        else own
        for own in call.allele_depth[0]
    )
    likelihoods = []
    for sample, (genotype, phred) in enumerate(zip(call.genotype[0], call.likelihoods[0], strict=True)):
        likelihoods.append(join_likelihoods(phred, number, len(genotype)))
        if phred and min(genotype) >= 0:
            values, copies = np.array(likelihoods[-1], np.int32), len(genotype)
            genotypes = np.array(genotypes_of(size, copies), np.int8)
            quality = genotype_phred(values, genotypes, copies, int(values.argmin()), False)
            out.genotype_quality[0, sample] = quality
    out.likelihoods[0] = tuple(likelihoods)
    first = [number.index(new) for new in range(1, size)]
    for name, column in call.annotations.items():
        if isinstance(column[0], tuple):
            out.annotations[name][0] = tuple(column[0][old - 1] for old in first)
    return out


def join_likelihoods(phred: tuple[int, ...], number: tuple[int, ...], copies: int) -> tuple[int, ...]:
    """Return the PL of each genotype of the new numbers: the least of the old genotypes that become it."""
    if not phred:
        return phred
    least = dict[tuple[int, ...], int]()
    for genotype, value in zip(genotypes_of(len(number), copies), phred, strict=True):
        new = tuple(sorted(number[a] for a in genotype))
        least[new] = min(value, least.get(new, value))
    return tuple(least[genotype] for genotype in genotypes_of(max(number) + 1, copies))
