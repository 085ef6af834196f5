"""PairHMM: log10 of the probability that a read was sequenced from a haplotype, over all their alignments.

log_likelihoods(reads: ReadRows, haplotypes: uint8, haplotype_offsets: int64 [h + 1],
                pair_read: int32 [p], pair_haplotype: int32 [p]) -> float64 [p], Status uint8 [p]
"""

from dataclasses import dataclass

from numpy import ndarray


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Reads as rows of the recurrence; n reads of b bases."""

    bases: ndarray  # uint8 [b], 0-4
    qualities: ndarray  # uint8 [b], Phred; below 2 a base says nothing
    gap_open: ndarray  # uint8 [b], Phred, of a gap that opens behind this base
    gap_extend: ndarray  # uint8 [b], Phred, of each further base of a gap there
    offsets: ndarray  # int64 [n + 1]

    def __len__(self) -> int:
        return self.offsets.size - 1
