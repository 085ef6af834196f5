"""Alignments to variant calls: one folder per step, in the order data meets them: pileup -> genotypes."""
