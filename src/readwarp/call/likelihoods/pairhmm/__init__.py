"""PairHMM: log10 of the probability that a read was sequenced from a haplotype, over all their alignments.

    log_likelihoods(reads: ReadRows, haplotypes: uint8, haplotype_offsets: int64 [h + 1],
                    pair_read: int32 [p], pair_haplotype: int32 [p]) -> float64 [p], Status uint8 [p]
    penalties.gap_penalties(bases: uint8 [b], offsets: int64 [n + 1]) -> gap_open, gap_extend uint8 [b]

Rows i = 1..R run over the bases x of the read, columns j = 1..H over the bases y of the haplotype; M: x_i is aligned to
y_j, X: x_i is inserted after y_j, Y: y_j is deleted after x_i (Durbin et al. 1998, chapter 4):

    M(i, j) = p(x_i, y_j) * (s_(i-1) M(i-1, j-1) + c_(i-1) (X(i-1, j-1) + Y(i-1, j-1)))
    X(i, j) = o_(i-1) M(i-1, j) + e_(i-1) X(i-1, j)
    Y(i, j) = o_i M(i, j-1) + e_i Y(i, j-1)

    Y(0, j) = 1 / H for j = 0..H, all else of row 0 and column 0 is 0, c_0 = 1;    P = sum_j M(R, j) + X(R, j)

with o = 10 ** (-gap_open / 10) of a gap after base i, e = 10 ** (-gap_extend / 10) of each further base of it, c = 1 -
e, s = 1 - 2 o (an opening below Phred 4 counts as 4). So the haplotype's ends are free, the read is aligned end to end,
and inserted bases cost no more than their gap. With error = 10 ** (-quality / 10),

    p(x, y) = 1 - error where x = y, error / 3 where not, 1/4 where y is unknown (code 4);
    1 for any y where x is unknown or its quality is below 2: such a base is uninformative.

A sum is computed in float32, in float64 if it is too small for float32, and in logarithms if it is too small for
float64. Pairs whose haplotype has an unknown base start in float64. Equal pairs are computed once. A read without bases
has log10 P = 0; a haplotype without bases is a ValueError.

A value has the same bits for any set and order of pairs, vector width and number of threads, on CPU and CUDA: each
cell's five fma are IEEE operations in one order (`cpu.cell`), the last row is summed from column 1 on, one rule decides
on both sides when float64 is needed (`scalar.is_enough`), and logarithms are the host's.

Status: OK; TOO_LONG if CUDA has no shape for the pair, so that the host computed it; OVERFLOW if the value was computed
in logarithms, on either side. All values are equally accurate.

    scalar.py  rules, float32 and float64     pairs.py  pairs to compute, their precision
    penalties.py  gaps by context             api.py    pair_hmm()
    cpu.py    CPU lanes                       cuda.py, cuda_sums.py  CUDA
    given.py  inputs of a card, which several processes may share
"""

from collections.abc import Callable
from typing import Annotated, NamedTuple

from numpy import ndarray


class ReadRows(NamedTuple):
    """Reads as rows of the recurrence."""

    bases: Annotated[ndarray, "uint8 [bases]"]  # 0-4
    qualities: Annotated[ndarray, "uint8 [bases]"]  # Phred; a base below 2 is uninformative
    gap_open: Annotated[ndarray, "uint8 [bases]"]  # Phred of a gap that opens after this base
    gap_extend: Annotated[ndarray, "uint8 [bases]"]  # Phred of each further base of a gap there
    offsets: Annotated[ndarray, "int64 [reads + 1] of bases"]

    def __len__(self) -> int:
        return self.offsets.size - 1


LogLikelihoods = Callable[[ReadRows, ndarray, ndarray, ndarray, ndarray], tuple[ndarray, ndarray]]  # see contract
