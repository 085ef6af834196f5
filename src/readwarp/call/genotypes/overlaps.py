"""Calls that cannot both be true, because one deletes what the other changes (host only)."""

from dataclasses import replace

from readwarp.batches import Calls

NAME = "Overlap"


def mark_overlaps(calls: Calls) -> Calls:
    """Add the filter Overlap to the worse of two calls that need more copies of the contig than there are.

    `calls` of one contig in order of position. A call conflicts with a deletion whose bases hold its position where
    both together have more altered copies than the ploidy. The one with the lower QUAL is marked, on a tie the later
    one, whatever else speaks against the better one: so the mark depends on overlapping pairs alone.
    """
    worse: set[int] = set()
    copies = [sum(allele > 0 for allele in genotype) for genotype in calls.genotype]
    for i, (alleles, genotype) in enumerate(zip(calls.alleles, calls.genotype, strict=True)):
        shortest = min(len(alleles[a]) for a in genotype)
        last = calls.position[i] + len(alleles[0]) - shortest  # deleted base
        j = i + 1
        while j < len(copies) and calls.position[j] <= last:
            if calls.position[j] > calls.position[i] and copies[i] + copies[j] > len(genotype):
                worse.add(j if calls.quality[j] <= calls.quality[i] else i)
            j += 1
    if not worse:
        return calls
    return replace(calls, filters=[(*f, NAME) if i in worse else f for i, f in enumerate(calls.filters)])
