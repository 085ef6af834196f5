"""What alleles are held against beside their reads: the noise of the libraries, and other people's alleles."""

from dataclasses import dataclass

import numpy as np

from readwarp.batches import Sites
from readwarp.call.fractions.calls import Setting
from readwarp.call.fractions.somatic import Known
from readwarp.call.known import KnownAlleles
from readwarp.call.noise.fit import Noise, no_noise
from readwarp.call.strips import Strip
from readwarp.config import CallParameters
from readwarp.device.backend import Backend
from readwarp.index.reference import Reference


@dataclass(frozen=True, slots=True)
class GivenFractions:
    """Of all windows."""

    samples: tuple[str, ...]
    population: KnownAlleles | None = None
    panel: KnownAlleles | None = None  # of normals
    noise: Noise | None = None  # of the samples, once it is learned

    def setting(self, parameters: CallParameters, backend: Backend) -> Setting:
        assert parameters.fractions is not None
        is_normal = np.isin(self.samples, parameters.fractions.normals)
        return Setting(parameters, is_normal, self.noise or no_noise(len(self.samples)), backend)

    def known(self, sites: Sites, reference: Reference, strip: Strip | None) -> Known:
        """strip: whose axis the sites are on. Raises InputError."""
        nothing = np.full(sites.deleted.size, np.nan)
        population, panel = (
            nothing if file is None else file.among(sites, reference, strip) for file in (self.population, self.panel)
        )
        return Known(population, ~np.isnan(panel))
