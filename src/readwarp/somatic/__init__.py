"""Alleles at any fraction of the molecules: tumours, mixtures, and panels of normals."""
