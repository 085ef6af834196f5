"""Which alleles of neighbouring calls lie together (host only). See the step's contract."""

import numpy as np

from readwarp.batches import Phase, Sites
from readwarp.call.genotypes.emitted import MISSING_BASE, Emitted, mark_alleles
from readwarp.ragged import replace


def phase_genotypes(out: Emitted, sites: Sites, phase: Phase, position: np.ndarray) -> Emitted:
    """The records with phase sets, and genotypes in the order of haplotypes where they are in one.

    `position`: int64 [records].
    """
    named = _on_haplotypes(out, sites, phase)
    agrees = np.all(np.sort(named, axis=2) == np.sort(out.genotype, axis=2), axis=2)
    fits = agrees & (out.genotype.max(axis=2, initial=-1) > out.genotype[:, :, 0])
    sets = out.phase_set.copy()
    _, region = np.unique(phase.region[out.site], return_inverse=True)
    for sample in range(fits.shape[1]):
        own = fits[:, sample]
        own &= np.bincount(region[own], minlength=region.size + 1)[region] > 1
        first = np.full(region.size, np.iinfo(np.int64).max)
        np.minimum.at(first, region[own], position[own])
        sets[own, sample] = first[region[own]]
    return replace(out, genotype=np.where(fits[:, :, None], named, out.genotype), phase_set=sets)


def _on_haplotypes(out: Emitted, sites: Sites, phase: Phase) -> np.ndarray:
    """int8 as Emitted.genotype: each call's allele on each haplotype of a sample, -1 where that has none of them."""
    name = np.where(mark_alleles(sites) == MISSING_BASE, 0, -1).astype(np.int8)
    name[out.allele] = np.arange(out.allele.size) - np.repeat(out.kept_offsets[:-1], np.diff(out.kept_offsets))
    copies = np.arange(out.genotype.shape[2])
    shown = phase.allele[out.site][:, :, np.minimum(copies, phase.allele.shape[2] - 1)]
    known = name[sites.allele_offsets[out.site][:, None, None] + np.maximum(shown, 0)]
    is_copy = copies < np.minimum(out.ploidy, phase.allele.shape[2])[:, :, None]
    return np.where(is_copy & (shown >= 0), known, np.int8(-1))
