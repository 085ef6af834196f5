"""Extend long reads: from the anchors of a chain to its alignment.

    cut_chains(bases, starts, chains: LongChains, k, packed, costs: Costs) -> Cut

Between neighbouring anchors, the equal bases at both ends of the two sequences are aligned. That never costs score: of
all paths with the same cost, the furthest one on a diagonal loses to no other (Marco-Sola 2021, Bioinformatics 37:456).
What is left is

    nothing             one run of M
    of equal lengths    a run of M, if it has so few mismatches that two gaps would cost more
    of one sequence     a gap
    of both             a piece for the pairwise engine, in global mode

An anchor that overlaps the one before it, on the read or on the reference, counts from where it no longer does.
"""
