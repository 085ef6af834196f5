"""Ends: extend a long read beyond the first and last anchor of a chain until the score drops.

From a fixed corner, in a band around its diagonal, by the recurrence of `pairwise`:

    E(i, j) = max(E(i, j-1) - e, H(i, j-1) - o - e)      a deletion
    F(i, j) = max(F(i-1, j) - e, H(i-1, j) - o - e)      an insertion
    H(i, j) = max(H(i-1, j-1) + s(q_i, t_j), E(i, j), F(i, j))

with rows i over the read and columns j over the reference, both away from the corner. The extension ends with a row
whose best score is more than `drop` below the best so far, or with the read or the contig (Zhang 2000, J. Comput. Biol.
7:203). The read's last base has a bonus. Ties: the first row, then the first column.

    extend_ends(bases, corners: Corners, packed, costs: Costs, band, drop) -> Ended
"""
