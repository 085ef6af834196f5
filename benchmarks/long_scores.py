"""Alignments of long reads scored anew, by the same costs for every tool.

Number and lengths of gaps are those of the CIGAR, mismatches are NM less the bases in gaps, so neither the bases of the
read nor those of the reference are needed. An N counts as a mismatch.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam
from numpy import ndarray

UNMAPPED, SECONDARY, SUPPLEMENTARY = 0x4, 0x100, 0x800


class Costs(NamedTuple):
    """A gap of n bases costs the least of `opens[i] + n * extends[i]`."""

    match: int
    mismatch: int
    opens: tuple[int, ...]
    extends: tuple[int, ...]


SCALES = {  # of reads of each kind: minimap2's costs for it, and readwarp's
    "hifi": {"two_piece": Costs(1, 4, (6, 26), (2, 1)), "one_piece": Costs(1, 4, (6,), (1,))},
    "ont": {"two_piece": Costs(2, 4, (4, 24), (2, 1)), "one_piece": Costs(1, 4, (6,), (1,))},
}


class Shape(NamedTuple):
    pairs: int  # aligned bases, equal or not
    mismatches: int
    gaps: ndarray  # int64: lengths

    def score(self, costs: Costs) -> int:
        pieces = [open_ + extend * self.gaps for open_, extend in zip(costs.opens, costs.extends, strict=True)]
        lost = int(np.min(pieces, axis=0).sum())
        return costs.match * (self.pairs - self.mismatches) - costs.mismatch * self.mismatches - lost


class Tally(NamedTuple):
    reads: int
    aligned: int
    supplementary: int
    primary: dict[str, int]  # sum of scores by scale
    everything: dict[str, int]  # with supplementary alignments


def shape_of(record: pysam.AlignedSegment) -> Shape:
    operation, length = np.array(record.cigartuples, np.int64).T
    is_gap = (operation == pysam.CINS) | (operation == pysam.CDEL)
    is_pair = (operation == pysam.CMATCH) | (operation == pysam.CEQUAL) | (operation == pysam.CDIFF)
    gaps = length[is_gap]
    return Shape(int(length[is_pair].sum()), int(record.get_tag("NM")) - int(gaps.sum()), gaps)


def records_of(path: Path) -> Iterator[pysam.AlignedSegment]:
    """All records but secondary ones."""
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        yield from (record for record in file if not record.flag & SECONDARY)


def tally(path: Path, scales: dict[str, Costs]) -> Tally:
    """What is in a SAM or BAM file of single reads. Secondary alignments do not count."""
    reads, aligned, supplementary = 0, 0, 0
    primary, everything = dict.fromkeys(scales, 0), dict.fromkeys(scales, 0)
    for record in records_of(path):
        is_primary = not record.flag & SUPPLEMENTARY
        reads += is_primary
        if record.flag & UNMAPPED:
            continue
        aligned += is_primary
        supplementary += not is_primary
        shape = shape_of(record)
        for scale, costs in scales.items():
            score = shape.score(costs)
            everything[scale] += score
            primary[scale] += score if is_primary else 0
    return Tally(reads, aligned, supplementary, primary, everything)
