"""Haplotypes: what the reads of a region may have been read from.

build_haplotypes(regions: Regions, reads: AlignedReads, qualities: uint8 [b], sites: Sites, reference: uint8, start)
    -> Haplotypes
"""
