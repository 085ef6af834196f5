"""Regions: where reads are compared with whole haplotypes instead of site by site.

    find_regions(reads: AlignedReads, sites: Sites, reference: uint8, start) -> Regions, bool [s]

`reference` begins at `start` and covers what the reads reach. The second result says which sites lie in a region; the
others are single substitutions that `evidence.weigh_substitutions` answers.
"""
