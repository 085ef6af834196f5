"""Which alleles of neighbouring calls lie together (host only). See the step's contract."""

import numpy as np

from readwarp.batches import Phase, Sites
from readwarp.call.genotypes.emitted import Emitted


def phased(
    out: Emitted, sites: Sites, phase: Phase, is_missing: np.ndarray, position: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """-> genotypes int8 [v, m, most copies], where they are phased in the order of haplotypes; phase sets int64 [v, m].

    `position`: int64 [v], of the calls; `is_missing`: bool [A], the allele is a deletion across the base.
    """
    named = _on_haplotypes(out, sites, phase, is_missing)
    agrees = np.all(np.sort(named, axis=2) == np.sort(out.genotype, axis=2), axis=2)
    fits = agrees & (out.genotype.max(axis=2, initial=-1) > out.genotype[:, :, 0])
    sets = np.full(fits.shape, -1, np.int64)
    _, region = np.unique(phase.region[out.site], return_inverse=True)
    for sample in range(fits.shape[1]):
        own = fits[:, sample]
        own &= np.bincount(region[own], minlength=region.size + 1)[region] > 1
        first = np.full(region.size, np.iinfo(np.int64).max)
        np.minimum.at(first, region[own], position[own])
        sets[own, sample] = first[region[own]]
    return np.where(fits[:, :, None], named, out.genotype), sets


def _on_haplotypes(out: Emitted, sites: Sites, phase: Phase, is_missing: np.ndarray) -> np.ndarray:
    """int8 as Emitted.genotype: each call's allele on each haplotype of a sample, -1 where that has none of them."""
    name = np.where(is_missing, 0, -1).astype(np.int8)
    name[out.allele] = np.arange(out.allele.size) - np.repeat(out.kept_offsets[:-1], np.diff(out.kept_offsets))
    copies = np.arange(out.genotype.shape[2])
    shown = phase.allele[out.site][:, :, np.minimum(copies, phase.allele.shape[2] - 1)]
    known = name[sites.allele_offsets[out.site][:, None, None] + np.maximum(shown, 0)]
    is_copy = (copies < np.minimum(out.ploidy, phase.allele.shape[2])[:, None])[:, None, :]
    return np.where(is_copy & (shown >= 0), known, np.int8(-1))
