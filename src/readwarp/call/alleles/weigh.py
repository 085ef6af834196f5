"""Haplotypes that explain the reads to sites and likelihoods (host only)."""

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Likelihoods, Phase, Sites
from readwarp.call.alleles.compare import Weighed
from readwarp.call.alleles.marginal import count_rows, measure_rows, weigh_rows
from readwarp.call.alleles.select import bound_reads, number_variants, select_haplotypes
from readwarp.call.alleles.sites import Variant, keep_forced, regional_sites
from readwarp.ragged import offsets_of


def weigh_haplotypes(
    weighed: Weighed,
    reads: AlignedReads,
    qualities: ndarray,
    reference: ndarray,
    start: int,
    ploidy: ndarray,
    samples: int,
    forced: frozenset[Variant],
) -> tuple[Sites, Likelihoods, Phase]:
    """`reference` begins at `start`; `ploidy`: int8 [g]; `forced` variants are alleles of the result.

    `weighed.values` are bounded in place. See the step's contract.
    """
    regions, haplotypes = weighed.regions, weighed.haplotypes
    value_offsets = weighed.value_offsets
    says = bound_reads(
        *(regions.read_offsets, haplotypes.haplotype_offsets, value_offsets, weighed.values),
        *(reads.mapping_quality[regions.read], weighed.rows.bases, weighed.rows.qualities, weighed.rows.offsets),
    )
    numbers = number_variants(
        *(haplotypes.haplotype_offsets, haplotypes.variant_offsets, haplotypes.begin, haplotypes.deleted),
        *(haplotypes.inserted, haplotypes.inserted_offsets),
    )
    kept = np.zeros(len(haplotypes), bool)
    chosen = np.zeros((len(regions), samples, int(ploidy.max(initial=1))), np.int32)
    select_haplotypes(
        *(regions.read_offsets, haplotypes.haplotype_offsets, value_offsets, weighed.values, says),
        *(reads.sample[regions.read], samples, ploidy, haplotypes.variant_offsets, numbers),
        *(haplotypes.deleted, haplotypes.inserted_offsets, kept, chosen),
    )
    keep_forced(haplotypes, kept, forced)
    sites, region = regional_sites(regions, haplotypes, kept, forced, reference, start)
    phase = Phase(region, np.empty((len(sites), *chosen.shape[1:]), np.int8))
    return sites, _likelihoods(sites, phase, chosen, weighed, kept, says, reads, qualities), phase


def _likelihoods(
    sites: Sites,
    phase: Phase,
    chosen: ndarray,
    weighed: Weighed,
    kept: ndarray,
    says: ndarray,
    reads: AlignedReads,
    qualities: ndarray,
) -> Likelihoods:
    regions, haplotypes, region = weighed.regions, weighed.haplotypes, phase.region
    row_start, row_stop = np.empty((2, regions.read.size), np.int64)
    measure_rows(
        *(regions.read, reads.position, reads.reference_stop, reads.cigar, reads.cigar_offsets, row_start, row_stop)
    )
    counts = count_rows(region, regions.read_offsets, sites.begin, sites.is_indel, sites.stop, row_start, row_stop)
    pair_offsets, value_offsets = offsets_of(counts), offsets_of(counts * np.diff(sites.allele_offsets))
    n = int(pair_offsets[-1])
    read, allele, quality = np.empty(n, np.int32), np.empty(n, np.int8), np.zeros(n, np.uint8)
    end_distance, values = np.zeros(n, np.int32), np.empty(int(value_offsets[-1]))
    weigh_rows(
        *(region, sites.begin, sites.is_indel, sites.stop, sites.allele_offsets, sites.deleted, sites.inserted),
        *(sites.inserted_offsets, regions.read_offsets, regions.read, row_start, row_stop, says),
        *(haplotypes.haplotype_offsets, kept, chosen, haplotypes.variant_offsets, haplotypes.begin),
        *(haplotypes.deleted, haplotypes.inserted, haplotypes.inserted_offsets, weighed.value_offsets, weighed.values),
        *(reads.position, reads.cigar, reads.cigar_offsets, qualities, reads.read_offsets),
        *(pair_offsets, read, value_offsets, allele, quality, end_distance, values, phase.allele),
    )
    return Likelihoods(
        pair_offsets=pair_offsets,
        read=read,
        allele=allele,
        quality=quality,
        mapping_quality=reads.mapping_quality[read],
        strand=((reads.flag[read] >> 4) & 1).astype(np.uint8),
        sample=reads.sample[read],
        end_distance=end_distance,
        value_offsets=value_offsets,
        values=values,
    )
