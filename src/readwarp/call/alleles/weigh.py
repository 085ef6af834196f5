"""Haplotypes that explain the reads to sites and likelihoods (host only)."""

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Likelihoods, Phase, Sites, Window
from readwarp.call.alleles.compare import Weighed
from readwarp.call.alleles.marginal import count_rows, spans_of_rows, weigh_rows
from readwarp.call.alleles.select import Selection, bound_reads, number_variants, select_haplotypes
from readwarp.call.alleles.sites import Variant, keep_forced, regional_sites
from readwarp.ragged import offsets_of


def weigh_haplotypes(
    weighed: Weighed, reads: AlignedReads, window: Window, ploidy: ndarray, samples: int, forced: frozenset[Variant]
) -> tuple[Sites, Likelihoods, Phase]:
    """`ploidy`: int8 [regions]; `forced` variants are alleles of the result.

    `weighed.values` are bounded in place. See the step's contract.
    """
    regions, haplotypes = weighed.regions, weighed.haplotypes
    selected = Selection(
        informs=bound_reads(weighed, reads),
        stays=np.zeros(len(haplotypes), bool),
        best=np.zeros((len(regions), samples, int(ploidy.max(initial=1))), np.int32),
    )
    select_haplotypes(weighed, reads, ploidy, number_variants(haplotypes), selected)
    keep_forced(haplotypes, selected.stays, forced)
    sites, region = regional_sites(regions, haplotypes, selected.stays, forced, window)
    phase = Phase(region, np.empty((len(sites), *selected.best.shape[1:]), np.int8))
    spans = spans_of_rows(regions, reads)
    out = new_likelihoods(sites, count_rows(sites, region, regions, spans))
    weigh_rows(sites, weighed, selected, reads, spans, phase, out)
    return sites, out, phase


def new_likelihoods(sites: Sites, counts: ndarray) -> Likelihoods:
    """Room for those of so many reads of each site."""
    pair_offsets, value_offsets = offsets_of(counts), offsets_of(counts * np.diff(sites.allele_offsets))
    pairs = int(pair_offsets[-1])
    return Likelihoods(
        pair_offsets=pair_offsets,
        read=np.empty(pairs, np.int32),
        allele=np.empty(pairs, np.int8),
        quality=np.empty(pairs, np.uint8),
        mapping_quality=np.empty(pairs, np.uint8),
        strand=np.empty(pairs, np.uint8),
        sample=np.empty(pairs, np.uint8),
        end_distance=np.empty(pairs, np.int32),
        value_offsets=value_offsets,
        values=np.empty(int(value_offsets[-1])),
    )
