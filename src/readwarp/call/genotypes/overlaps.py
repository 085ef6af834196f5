"""Calls that cannot both be true, because one deletes what the other changes (host only)."""

import numpy as np

from readwarp.batches import Calls
from readwarp.call.genotypes.filters import OVERLAP
from readwarp.ragged import replace


def mark_overlaps(calls: Calls, reach: int = 1 << 30) -> Calls:
    """Add the filter Overlap to the worse of two calls that need more copies of the contig than there are.

    `calls` of one contig in order of position. A call conflicts with a deletion whose bases hold its position where
    both together have more altered copies than the ploidy in one of the samples. The one with the lower QUAL is marked,
    on a tie the later one, whatever else speaks against the better one: so the mark depends on overlapping pairs alone,
    and of these on such as are no more than `reach` bases apart.
    """
    worse: set[int] = set()
    positions = calls.position.tolist()
    for i in np.flatnonzero([len(alleles[0]) > 1 for alleles in calls.alleles]).tolist():
        j = i + 1
        while j < len(positions) and positions[j] < positions[i] + min(len(calls.alleles[i][0]), reach + 1):
            if positions[j] > positions[i] and _conflict(calls, i, j):
                worse.add(j if calls.quality[j] <= calls.quality[i] else i)
            j += 1
    if not worse:
        return calls
    return replace(calls, filters=[(*f, OVERLAP) if i in worse else f for i, f in enumerate(calls.filters)])


def _conflict(calls: Calls, deletion: int, other: int) -> bool:
    """Whether a sample has more copies altered by the two than it has copies."""
    reference, *_ = alleles = calls.alleles[deletion]
    for first, second in zip(calls.genotype[deletion], calls.genotype[other], strict=True):
        shortest = min(len(alleles[a]) for a in first if a >= 0) if first[0] >= 0 else len(reference)
        deletes = calls.position[other] <= calls.position[deletion] + len(reference) - shortest
        if deletes and _altered(first) + _altered(second) > len(first):
            return True
    return False


def _altered(genotype: tuple[int, ...]) -> int:
    return sum(allele > 0 for allele in genotype)
