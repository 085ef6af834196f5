"""Assumptions about alleles, by which sites with likelihoods become calls."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods, Phase
from readwarp.call.likelihoods.phase.sides import ComparisonGroups, take_sides
from readwarp.call.places.bases import Bases, Window
from readwarp.call.places.ploidy import Ploidies
from readwarp.call.reads.gap_models import GapModel
from readwarp.call.reads.sides import Sides
from readwarp.call.records.confidence.bands import add_non_ref
from readwarp.call.records.genotypes.calls import mark_overlaps
from readwarp.call.records.genotypes.genotype import genotype_sites
from readwarp.call.records.genotypes.rarest import drop_rarest, silence_absent
from readwarp.call.records.genotypes.surroundings import Depths, PairSides, SitePriors
from readwarp.call.records.limits import Limited, limit_of
from readwarp.config import CallParameters
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.variants.calls import Calls


class Here(NamedTuple):
    """Surroundings of the sites of a window."""

    reads: AlignedReads
    window: Window
    depths: Depths
    sides: Sides | None  # None: haplotypes are unknown
    ploidies: Ploidies
    bases: Bases  # of the window's contig, or of the axis on which contigs share it
    limited: list[Limited]  # omissions, to be added to


class AlleleModel(Protocol):
    """Assumptions about the copies of alleles: whole ones of a genome, or any fraction of the molecules."""

    @property
    def are_fractions(self) -> bool:
        """Return whether alleles are any fraction of the molecules."""

    def call(self, sites: Sites, likelihoods: Likelihoods, phase: Phase | None, here: Here) -> Calls:
        """Call sites. phase: of sites in regions, where reads were compared with haplotypes."""

    def finish(self, calls: Calls, join: Callable[[Calls], Calls]) -> Calls:
        """Filter the calls of one contig, sorted by position, before or after they are joined."""


@dataclass(frozen=True, slots=True)
class GenotypeModel:
    """Alleles in whole copies of a genome."""

    parameters: CallParameters
    samples: int
    with_bands: bool  # any other allele, <NON_REF>, is one more
    gaps: GapModel  # of its reads
    are_fractions: bool = False

    def call(self, sites: Sites, likelihoods: Likelihoods, phase: Phase | None, here: Here) -> Calls:
        copies = here.ploidies.at(sites.contig, sites.position)
        likelihoods = silence_absent(likelihoods, copies)
        sites, likelihoods, phase, left_out = drop_rarest(sites, likelihoods, phase, copies, int(self.with_bands))
        here.limited.append(limit_of(left_out))
        if self.with_bands:
            sites, likelihoods = add_non_ref(sites, likelihoods, self.gaps)
        sides = None
        if here.sides:
            spans = (phase.start, phase.stop) if phase else (sites.begin, sites.stop)
            groups = ComparisonGroups(likelihoods.pair_offsets, likelihoods.read, likelihoods.sample, *spans)
            sides = PairSides(*take_sides(here.sides, groups, self.samples))
        expected = SitePriors(copies, here.depths, sides)
        return genotype_sites(sites, likelihoods, here.window, expected, self.parameters, phase)

    def finish(self, calls: Calls, join: Callable[[Calls], Calls]) -> Calls:
        return join(mark_overlaps(calls))
