"""Split fragments whose mates overlap in a repeated unit: they do not show how often it occurs (host only)."""

import numpy as np

from readwarp.call.candidates.batches import Regions
from readwarp.call.candidates.regions import MIN_BASES
from readwarp.call.likelihoods.batches import Haplotypes
from readwarp.call.reads.mates import MIN_ANCHOR, MIN_DIFFERENCES
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of, replace


def part_mates(regions: Regions, haplotypes: Haplotypes, reads: AlignedReads) -> Regions:
    """Split each fragment into two rows if its mates could lie in two copies of what they share.

    Mates were joined where they show the same bases. If a haplotype has these twice, each mate may come from another
    copy. One row then has the bases up to and including them, another the bases that follow.
    """
    size = np.maximum(haplotypes.deleted, np.diff(haplotypes.inserted_offsets))
    is_long = offsets_of(size >= MIN_ANCHOR)[haplotypes.variant_offsets[haplotypes.haplotype_offsets]]
    cut = np.zeros(regions.read.size, np.int64)
    find_cuts(np.flatnonzero(np.diff(is_long)), regions, haplotypes, reads, cut)
    if not cut.any():
        return regions
    order = np.sort(np.concatenate((np.arange(cut.size), np.flatnonzero(cut))))
    is_second = np.append(False, order[1:] == order[:-1])
    is_first = np.append(is_second[1:], False)
    return replace(
        regions,
        read=regions.read[order],
        base_start=np.where(is_second, cut[order], regions.base_start[order]),
        base_stop=np.where(is_first, cut[order], regions.base_stop[order]),
        read_offsets=offsets_of(np.where(cut > 0, 2, 1))[regions.read_offsets],
    )


@kernel
def find_cuts(wanted, regions, haplotypes, reads, cut):
    """Set the base before which each row of the wanted regions is cut; 0 where it is not."""
    for g in wanted:
        for row in range(regions.read_offsets[g], regions.read_offsets[g + 1]):
            read = regions.read[row]
            begin = reads.read_offsets[read]
            first = max(begin + reads.shared[read, 0], regions.base_start[row])
            stop = min(begin + reads.shared[read, 1], regions.base_stop[row])
            shortest = min(stop - first, stop - regions.base_start[row], regions.base_stop[row] - stop)
            if shortest < MIN_BASES:
                continue
            for h in range(haplotypes.haplotype_offsets[g], haplotypes.haplotype_offsets[g + 1]):
                low, high = haplotypes.base_offsets[h], haplotypes.base_offsets[h + 1]
                if occurs_twice(reads.bases[first:stop], haplotypes.bases[low:high]):
                    cut[row] = stop


@kernel
def occurs_twice(bases, haplotype):
    """Return whether the bases occur at two places of the haplotype, with fewer than MIN_DIFFERENCES differences."""
    found = 0
    for place in range(haplotype.size - bases.size + 1):
        differences = i = 0
        while i < bases.size and differences < MIN_DIFFERENCES:
            differences += bases[i] != haplotype[place + i]
            i += 1
        found += differences < MIN_DIFFERENCES
    return found > 1
