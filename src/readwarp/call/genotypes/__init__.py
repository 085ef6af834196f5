"""Genotypes: likelihoods, the most likely genotype and its qualities at each site (host only)."""
