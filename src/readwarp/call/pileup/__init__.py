"""Pileup: counts and base-quality sums per position, allele and strand over a window of the reference."""
