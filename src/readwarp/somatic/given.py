"""Know alleles beyond their reads, from the libraries' noise and from other people, and call fractions by it."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods, Phase
from readwarp.call.places.bases import Bases
from readwarp.call.places.targets import TargetStretch
from readwarp.call.records.model import Here
from readwarp.config import CallParameters, FractionParameters
from readwarp.device.backend import Backend
from readwarp.errors import UsageError
from readwarp.formats.variants.calls import Calls
from readwarp.index.reference import Reference
from readwarp.somatic.fractions.calls import Setting, call_alleles
from readwarp.somatic.fractions.events import count_events
from readwarp.somatic.fractions.somatic import PopulationAlleles
from readwarp.somatic.known import KnownAlleles, open_known
from readwarp.somatic.noise.contamination import CommonSites, Contamination, given_contamination
from readwarp.somatic.noise.fit import Noise, no_noise
from readwarp.wording import counted


@dataclass(frozen=True, slots=True)
class GivenFractions:
    """Population, panel, noise and contamination of all windows."""

    samples: tuple[str, ...]
    population: KnownAlleles | None = None
    panel: KnownAlleles | None = None  # panel of normals
    noise: Noise | None = None  # noise of the samples, once learned
    contamination: Contamination | None = None  # estimated or given

    def setting(self, parameters: CallParameters, backend: Backend) -> Setting:
        samples, known = len(self.samples), self.contamination
        foreign = known.fraction if known else np.full(samples, np.nan)
        is_normal, noise = self.is_normal(parameters), self.noise or no_noise(samples)
        return Setting(parameters, is_normal, noise, foreign, backend, self.is_blind(parameters))

    def is_normal(self, parameters: CallParameters) -> ndarray:
        """Return which samples are normals (bool [samples])."""
        assert parameters.fractions is not None
        return np.isin(self.samples, parameters.fractions.normals)

    def is_blind(self, parameters: CallParameters) -> bool:
        """Return whether nothing tells a tumour's mutations from inherited variants."""
        mode = parameters.fractions
        return mode is not None and mode.is_somatic and not (mode.normals or self.population or self.panel)

    def common(self, window: TargetStretch, bases: Bases) -> CommonSites | None:
        """Return the sites of a window of these bases that estimate contamination, or None."""
        if self.population is None or self.contamination is not None:
            return None
        return self.population.common(window.start, window.stop, bases)

    def known(self, sites: Sites, bases: Bases) -> PopulationAlleles:
        """Look up sites of these bases. Raises InputError."""
        nothing, files = np.full(sites.deleted.size, np.nan), (self.population, self.panel)
        population, panel = (nothing if file is None else file.among(sites, bases) for file in files)
        return PopulationAlleles(population, ~np.isnan(panel))


def open_given(
    population: Path | None,
    panel: Path | None,
    parameters: CallParameters,
    reference: Reference,
    samples: tuple[str, ...],
) -> GivenFractions:
    """Open the files. population: a file with frequencies. Raises InputError."""
    known = open_known(population, reference, True) if population else None
    shown = open_known(panel, reference, False, samples) if panel else None
    fraction = parameters.fractions.contamination if parameters.fractions else None
    contamination = None if fraction is None else given_contamination(fraction, len(samples))
    return GivenFractions(samples, known, shown, contamination=contamination)


@dataclass(frozen=True, slots=True)
class FractionModel:
    """Alleles at any fraction of the molecules."""

    parameters: CallParameters
    given: GivenFractions
    are_fractions: bool = True

    @property
    def mode(self) -> FractionParameters:
        assert self.parameters.fractions is not None
        return self.parameters.fractions

    def call(self, sites: Sites, likelihoods: Likelihoods, phase: Phase | None, here: Here) -> Calls:
        known = self.given.known(sites, here.bases)
        setting = self.given.setting(self.parameters, here.backend)
        return call_alleles(sites, (likelihoods, phase), here.reads, here.window, known, setting)

    def finish(self, calls: Calls, join: Callable[[Calls], Calls]) -> Calls:
        return count_events(join(calls), self.mode)


logger = logging.getLogger("readwarp")


def check_roles(mode: FractionParameters, samples: Sequence[str], are_named: bool) -> None:
    """Raise UsageError for samples that do not fit the mode. are_named: by --sample."""
    names = ", ".join(samples)
    for name in mode.normals:
        if name not in samples:
            raise UsageError(f"--normal {name}: no such sample in the alignments, which have {names}")
    if not set(samples).difference(mode.normals):
        raise UsageError(f"--normal names all samples ({names}): the tumour is missing")
    if mode.is_somatic and not mode.normals and len(samples) > 1 and not are_named:
        text = f"--somatic with {len(samples)} samples ({names}): which is the normal? Name it with --normal"
        raise UsageError(f"{text}; if all are tumours, name each with --sample")


def warn_of_inherited(given: GivenFractions | None, parameters: CallParameters, passed: int | None = None) -> None:
    """Warn that calls may be inherited: before calling and, at the end, with the number that `passed`."""
    if given and given.is_blind(parameters):
        which = "what passes" if passed is None else f"the {counted(passed, 'variant')} that pass"
        cause = "without --normal, --population or --panel-of-normals, nothing tells mutations from inherited variants"
        logger.warning("%s: most of %s may be inherited (FORMAT ORIGIN: unknown)", cause, which)
