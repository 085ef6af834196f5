"""Load the context of alleles beyond their reads: the noise of the libraries, and other people's alleles."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy import ndarray

from readwarp.batches import Sites
from readwarp.call.places.strips import Strip
from readwarp.call.places.targets import TargetStretch
from readwarp.config import CallParameters
from readwarp.device.backend import Backend
from readwarp.index.reference import Reference
from readwarp.somatic.fractions.calls import Setting
from readwarp.somatic.fractions.somatic import PopulationAlleles
from readwarp.somatic.known import KnownAlleles, open_known
from readwarp.somatic.noise.contamination import CommonSites, Contamination, given_contamination
from readwarp.somatic.noise.fit import Noise, no_noise


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

    def common(self, window: TargetStretch, reference: Reference, strip: Strip | None) -> CommonSites | None:
        """Return the sites that estimate contamination, or None. strip: whose axis the window is on."""
        if self.population is None or self.contamination is not None:
            return None
        return self.population.common(window[:3], reference, strip)

    def known(self, sites: Sites, reference: Reference, strip: Strip | None) -> PopulationAlleles:
        """Look up the sites. strip: whose axis the sites are on. Raises InputError."""
        nothing = np.full(sites.deleted.size, np.nan)
        population, panel = (
            nothing if file is None else file.among(sites, reference, strip) for file in (self.population, self.panel)
        )
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
