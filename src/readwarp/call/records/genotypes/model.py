"""Genotypes of sites: alleles in whole copies."""

from collections.abc import Callable
from dataclasses import dataclass

from readwarp.batches import Calls, Likelihoods, Phase, Sites
from readwarp.call.likelihoods.phase.sides import ComparisonGroups, take_sides
from readwarp.call.records.confidence.other import add_non_ref
from readwarp.call.records.genotypes.calls import mark_overlaps
from readwarp.call.records.genotypes.genotype import genotype_sites
from readwarp.call.records.genotypes.rarest import drop_rarest, silence_absent
from readwarp.call.records.genotypes.surroundings import PairSides, SitePriors
from readwarp.call.records.limits import limit_of
from readwarp.call.records.model import Here
from readwarp.config import CallParameters


@dataclass(frozen=True, slots=True)
class Genotypes:
    """Alleles in whole copies of a genome."""

    parameters: CallParameters
    samples: int
    with_bands: bool  # any other allele, <NON_REF>, is one more
    are_fractions: bool = False

    def call(self, sites: Sites, likelihoods: Likelihoods, phase: Phase | None, here: Here) -> Calls:
        copies = here.ploidies.at(sites.contig, sites.position)
        likelihoods = silence_absent(likelihoods, copies)
        sites, likelihoods, phase, left_out = drop_rarest(sites, likelihoods, phase, copies, int(self.with_bands))
        here.limited.append(limit_of(left_out))
        if self.with_bands:
            sites, likelihoods = add_non_ref(sites, likelihoods)
        sides = None
        if here.sides:
            spans = (phase.start, phase.stop) if phase else (sites.begin, sites.stop)
            groups = ComparisonGroups(likelihoods.pair_offsets, likelihoods.read, likelihoods.sample, *spans)
            sides = PairSides(*take_sides(here.sides, groups, self.samples))
        expected = SitePriors(copies, here.depths, sides)
        return genotype_sites(sites, likelihoods, here.window, expected, self.parameters, phase)

    def finish(self, calls: Calls, join: Callable[[Calls], Calls]) -> Calls:
        return join(mark_overlaps(calls))
