"""Assumptions about alleles, by which sites with likelihoods become calls."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from readwarp.batches import AlignedReads, Calls, Likelihoods, Phase, Sites, Window
from readwarp.call.places.ploidy import Ploidies
from readwarp.call.places.strips import Strip
from readwarp.call.reads.sides import Sides
from readwarp.call.records.genotypes.surroundings import Depths
from readwarp.call.records.limits import Limited
from readwarp.device.backend import Backend
from readwarp.index.reference import Reference


class Here(NamedTuple):
    """Surroundings of the sites of a window."""

    reads: AlignedReads
    window: Window
    depths: Depths
    sides: Sides | None  # None: haplotypes are unknown
    ploidies: Ploidies
    reference: Reference
    strip: Strip | None  # whose axis the window is on
    backend: Backend
    limited: list[Limited]  # omissions, to be added to


class Model(Protocol):
    """Assumptions about the copies of alleles: whole ones of a genome, or any fraction of the molecules."""

    @property
    def are_fractions(self) -> bool:
        """Return whether alleles are any fraction of the molecules."""

    def call(self, sites: Sites, likelihoods: Likelihoods, phase: Phase | None, here: Here) -> Calls:
        """Call sites. phase: of sites in regions, where reads were compared with haplotypes."""

    def finish(self, calls: Calls, join: Callable[[Calls], Calls]) -> Calls:
        """Filter the calls of one contig, sorted by position, before or after they are joined."""
