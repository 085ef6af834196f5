"""Calls of a cohort from what was found at its sites (host only)."""

from collections.abc import Sequence

import numpy as np

from readwarp.batches import Calls
from readwarp.call.genotypes.emitted import Emitted
from readwarp.call.genotypes.join import no_calls
from readwarp.call.genotypes.overlaps import mark_overlaps
from readwarp.call.genotypes.records import PerSample
from readwarp.call.genotypes.records import build_calls as build_any_calls
from readwarp.call.genotypes.spell import Spelled, count_shared_at_end
from readwarp.call.joint import STAR
from readwarp.call.joint.annotations import join_annotations
from readwarp.call.joint.cells import Evidence
from readwarp.call.joint.sites import JointSite
from readwarp.config import CallParameters
from readwarp.formats.variants.vcf import GENOTYPE_FIELDS, Field
from readwarp.ragged import replace

OWN_FIELDS = {
    "GQ": "Phred of how much less likely the second genotype is, given the cohort; at most 99",
    "DP": "Reads that say something about the alleles; the least of its block of reference",
}
COHORT_FIELDS: tuple[Field, ...] = tuple(
    field._replace(description=OWN_FIELDS.get(field.name, field.description)) for field in GENOTYPE_FIELDS
)


def build_calls(
    contig: int, sites: Sequence[JointSite], evidence: Evidence, out: Emitted, parameters: CallParameters
) -> Calls:
    if not len(out):
        return no_calls(out.ploidy.shape[1])
    own, ends = [sites[s] for s in out.site.tolist()], out.kept_offsets
    alleles = out.allele.tolist()
    names = (alleles[first:last] for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
    spelled = Spelled(
        contig,
        np.array([site.position for site in own], np.int64),
        [trim_end([site.alleles[a] for a in kept]) for site, kept in zip(own, names, strict=True)],
    )
    out = replace(out, is_indel=np.array([site.is_indel for site in own], bool))
    calls = build_any_calls(spelled, out, join_annotations(sites, evidence, out), parameters)
    return replace(calls, filters=mark_overlaps(replace(calls, genotype=_without_star(calls))).filters)


def trim_end(alleles: Sequence[str]) -> tuple[str, ...]:
    """Without the last bases that all share, as long as each keeps one; they need them no more once others are gone."""
    shared = count_shared_at_end([allele for allele in alleles if allele != STAR])
    return tuple(allele if allele == STAR else allele[: len(allele) - shared] for allele in alleles)


def _without_star(calls: Calls) -> PerSample:
    """Genotypes in which `*` is REF: what another call deletes, this one does not change."""
    out = []
    for alleles, genotype in zip(calls.alleles, calls.genotype, strict=True):
        star = len(alleles) - 1 if alleles[-1] == STAR else -2
        out.append(tuple(tuple(0 if a == star else a for a in own) for own in genotype) if star > 0 else genotype)
    return out
