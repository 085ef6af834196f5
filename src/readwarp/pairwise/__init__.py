"""Pairwise alignment of many pairs of sequences with affine gaps: one recurrence for reads in windows and for users.

    E(i, j) = max(E(i-1, j) - e, H(i-1, j) - o - e)          a deletion (gap in the query) that ends at target i
    F(i, j) = max(F(i, j-1) - e, H(i, j-1) - o - e)          an insertion (gap in the target) that ends at query j
    H(i, j) = max(H(i-1, j-1) + s(q_j, t_i), E(i, j), F(i, j) [, 0 in local mode])

with columns j over the query and rows i over the target (Gotoh 1982). A gap of n bases costs o + n e. F opens from the
better of M and E, since an insertion and a deletion score the same in either order.

    mode         first column H(i, 0)    first row H(0, j)    the alignment ends
    local        bonus                   0                    anywhere; in the last column with the bonus
    global       -(o + i e)              -(o + j e)           in the last cell
    semiglobal   0                       -(o + j e)           anywhere in the last column: ends of the target are free

The bonus (0 for users, the end bonus of align/extend) rewards an aligned pair at an end of the query, so a local
alignment never begins or ends with a gap. Ties: the smallest target stop, then the smallest query stop; from there M
before E before F, and a longer gap before a second one, so that gaps are leftmost. A local alignment begins where the
walk back has used up its score.

Lanes have 8, 16 or 32 bits. A pair whose local score overflows moves to wider lanes; other modes choose lanes by an
upper bound. A trace keeps four bits per cell in a band around the diagonal of the end, which no path with the known
score can leave: `scalar.longest_gaps` gives its width on either side.

    scalar.py, band.py  rules     pairs.py  types     lanes.py, groups.py, cpu.py  CPU lanes     cuda*.py     api.py

The package is callable: `readwarp.pairwise(...)` is `readwarp.pairwise.api.pairwise(...)`.
"""

from typing import TYPE_CHECKING

from readwarp.python.callable_package import make_callable

if TYPE_CHECKING:
    from readwarp.pairwise.api import MatrixScoring, pairwise
    from readwarp.pairwise.results import Alignments, Pair

__all__ = ["Alignments", "MatrixScoring", "Pair", "pairwise"]

make_callable(__name__, dict.fromkeys(__all__, "readwarp.pairwise.api"))
