"""Calls from what the kernels filled (host only): spelling and nesting."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from readwarp.batches import Calls, Phase, Sites
from readwarp.call.genotypes.annotations import information
from readwarp.call.genotypes.emitted import UNLISTED, Emitted, missing_bases
from readwarp.call.genotypes.filters import failed_filters
from readwarp.call.genotypes.phase import phased
from readwarp.config import CallParameters
from readwarp.formats.variants.gvcf import NON_REF
from readwarp.rules.bases import LETTERS

MARK = "<"  # stands for UNLISTED until alleles are put together
TO_LETTERS = LETTERS.tobytes().ljust(UNLISTED, b"N") + MARK.encode() + b"N" * (255 - UNLISTED)
Rows = tuple[tuple[int, ...], ...]


def build_calls(
    sites: Sites, out: Emitted, reference: np.ndarray, start: int, parameters: CallParameters, phase: Phase | None
) -> Calls:
    """`reference`: bases from `start` on."""
    spelled = list(spell(sites, out, reference, start))
    position = np.array([position for position, _ in spelled], np.int64)
    genotype, phase_set = out.genotype, np.full(out.depth.shape, -1, np.int64)
    if phase is not None:
        genotype, phase_set = phased(out, sites, phase, missing_bases(sites), position)
    samples = out.depth.shape[1]
    return Calls(
        contig=np.full(out.site.size, sites.contig, np.int32),
        position=position,
        alleles=[alleles for _, alleles in spelled],
        quality=out.quality,
        genotype=_genotypes(genotype, out.ploidy),
        genotype_quality=out.genotype_quality,
        depth=out.depth,
        allele_depth=_tables(out.allele_depth, out.allele_offsets, samples),
        likelihoods=_tables(out.phred, out.phred_offsets, samples),
        phase_set=phase_set,
        filters=failed_filters(out, sites.is_indel[out.site], parameters),
        annotations=information(out),
        strands=out.strands,
    )


def _genotypes(genotype: np.ndarray, ploidy: np.ndarray) -> list[Rows]:
    return [
        tuple(tuple(own[:copies]) for own in row)
        for row, copies in zip(genotype.tolist(), ploidy.tolist(), strict=True)
    ]


def _tables(values: np.ndarray, offsets: np.ndarray, samples: int) -> list[Rows]:
    """Each site's samples x values table."""
    flat = values.tolist()
    if samples == 1:
        return [(tuple(flat[a:b]),) for a, b in pairwise(offsets.tolist())]
    out = []
    for a, b in pairwise(offsets.tolist()):
        size = (b - a) // samples
        out.append(tuple(tuple(flat[i : i + size]) for i in range(a, b, size)))
    return out


def spell(sites: Sites, out: Emitted, reference: np.ndarray, start: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Position and alleles of each call as in VCF: indels with their anchor base, over the longest deletion.

    At the contig's first base, which has none before it, the base behind is the anchor.
    """
    text, inserted = _text(reference), _text(sites.inserted)
    ends = sites.inserted_offsets
    first, last = ends[out.allele].tolist(), ends[out.allele + 1].tolist()
    deleted, bounds = sites.deleted[out.allele].tolist(), out.kept_offsets.tolist()
    places = zip(sites.begin[out.site].tolist(), sites.is_indel[out.site].tolist(), pairwise(bounds), strict=True)
    for begin, is_indel, (low, high) in places:
        bases = [inserted[first[i] : last[i]] for i in range(low, high)]
        rest = (NON_REF,) * bases.count(MARK)
        bases, high = bases[: len(bases) - len(rest)], high - len(rest)
        if not is_indel:
            yield begin, (*bases, *rest)
            continue
        here = begin - start
        reach = here + max(deleted[low:high])
        before, behind = (text[here - 1], "") if begin else ("", text[reach])
        alleles = [
            before + own + text[here + gone : reach] + behind
            for own, gone in zip(bases, deleted[low:high], strict=True)
        ]
        position, alleles = trimmed(begin - len(before), alleles)
        yield position, (*alleles, *rest)


def trimmed(position: int, alleles: list[str]) -> tuple[int, list[str]]:
    """Without the bases that all alleles share at an end, as long as each keeps one."""
    while min(map(len, alleles)) > 1 and len({allele[-1] for allele in alleles}) == 1:
        alleles = [allele[:-1] for allele in alleles]
    while min(map(len, alleles)) > 1 and len({allele[0] for allele in alleles}) == 1:
        position, alleles = position + 1, [allele[1:] for allele in alleles]
    return position, alleles


def _text(bases: np.ndarray) -> str:
    return bases.tobytes().translate(TO_LETTERS).decode()
