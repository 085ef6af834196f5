"""Fractions of alleles: any share of the molecules."""

from collections.abc import Callable
from dataclasses import dataclass

from readwarp.batches import Calls, Likelihoods, Phase, Sites
from readwarp.call.records.model import Here
from readwarp.config import CallParameters
from readwarp.somatic.fractions.calls import call_alleles
from readwarp.somatic.fractions.events import count_events
from readwarp.somatic.given import GivenFractions


@dataclass(frozen=True, slots=True)
class Fractions:
    """Alleles at any fraction of the molecules."""

    parameters: CallParameters
    given: GivenFractions
    are_fractions: bool = True

    def call(self, sites: Sites, likelihoods: Likelihoods, phase: Phase | None, here: Here) -> Calls:
        known = self.given.known(sites, here.reference, here.strip)
        setting = self.given.setting(self.parameters, here.backend)
        return call_alleles(sites, (likelihoods, phase), here.reads, here.window, known, setting)

    def finish(self, calls: Calls, join: Callable[[Calls], Calls]) -> Calls:
        assert self.parameters.fractions is not None
        return count_events(join(calls), self.parameters.fractions)
