"""From haplotypes to alleles: the best haplotype with each allele (host only)."""

import numpy as np

from readwarp.call.alleles import CLEAR, INFORMED
from readwarp.call.evidence import NOTHING, SEVERAL
from readwarp.call.haplotypes.drafts import is_equal
from readwarp.device.jit import kernel
from readwarp.rules.cigar import INSERTION, SOFT_CLIP, is_match, run_of

ABSENT = -1000.0  # log10, of an allele that no haplotype has, before reads are bounded


@kernel
def place_of(reads, read, target):
    """Index of the base at a reference position, or of the one before a deletion across it.

    Soft-clipped ends count as if they went on along the diagonal. Beyond the read's ends it is its first or last base.
    """
    position, first, stop = reads.position[read], reads.read_offsets[read], reads.read_offsets[read + 1]
    p, q, cigar = position, first, reads.cigar
    for i in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
        operation, length, on_reference, on_read = run_of(cigar[i])
        if operation == SOFT_CLIP and p == position:
            if target < p:
                return q + max(0, length - (p - target))
        elif p <= target < p + length:
            if is_match(operation) or operation == SOFT_CLIP:
                return q + target - p
            if on_reference and q > first:
                return q - 1
        p, q = p + on_reference, q + on_read
    return first if target < position else stop - 1


@kernel
def alleles_of_haplotypes(g, haplotypes, s, sites, out):
    """Fill `out` (int8) with the allele of site s that each haplotype of region g has; -1: one that is not listed."""
    variant_offsets, begin, deleted = haplotypes.variant_offsets, haplotypes.begin, haplotypes.deleted
    inserted, inserted_offsets = haplotypes.inserted, haplotypes.inserted_offsets
    place, is_indel, low, high = sites.begin[s], sites.is_indel[s], sites.allele_offsets[s], sites.allele_offsets[s + 1]
    first = haplotypes.haplotype_offsets[g]
    for h in range(first, haplotypes.haplotype_offsets[g + 1]):
        out[h - first] = 0
        for v in range(variant_offsets[h], variant_offsets[h + 1]):
            source, size = inserted_offsets[v], inserted_offsets[v + 1] - inserted_offsets[v]
            if begin[v] == place and (deleted[v] != size) == is_indel:
                out[h - first] = -1
                for a in range(low + 1, high):
                    own, length = sites.inserted_offsets[a], sites.inserted_offsets[a + 1] - sites.inserted_offsets[a]
                    if deleted[v] == sites.deleted[a] and is_equal(inserted, source, size, sites.inserted, own, length):
                        out[h - first] = a - low
            elif size == 0 and begin[v] < place + (not is_indel) and place < begin[v] + deleted[v]:
                out[h - first] = high - low - 1


@kernel
def spans_of_rows(regions, reads):
    """Reference span of each row's whole read, soft-clipped ends as if they went on along the diagonal.

    int64 [rows, 2].
    """
    position, reference_stop, cigar, cigar_offsets = (
        reads.position,
        reads.reference_stop,
        reads.cigar,
        reads.cigar_offsets,
    )
    spans = np.empty((regions.read.size, 2), np.int64)
    for r in range(regions.read.size):
        read = regions.read[r]
        spans[r, 0], spans[r, 1] = position[read], reference_stop[read]
        is_begin = True
        for i in range(cigar_offsets[read], cigar_offsets[read + 1]):
            operation, length, on_reference, _ = run_of(cigar[i])
            if operation == SOFT_CLIP and is_begin:
                spans[r, 0] -= length
            elif operation == SOFT_CLIP:
                spans[r, 1] += length
            is_begin &= not on_reference and operation != INSERTION
    return spans


@kernel
def reaches(spans, r, begin, stop):
    """Whether the read of a row reaches a site."""
    return spans[r, 0] < stop and spans[r, 1] > begin


@kernel
def count_rows(sites, region, regions, spans):
    """Reads of each site's region that reach the site (int64 [sites])."""
    counts = np.zeros(region.size, np.int64)
    for s in range(region.size):
        begin, stop = sites.begin[s] - sites.is_indel[s], sites.stop[s]
        for r in range(regions.read_offsets[region[s]], regions.read_offsets[region[s] + 1]):
            counts[s] += reaches(spans, r, begin, stop)
    return counts


@kernel
def weigh_rows(sites, weighed, selected, reads, spans, phase, out):
    """Fill the Likelihoods of each site and the reads that reach it, and the alleles of `phase` by its regions."""
    regions, haplotypes, values = weighed.regions, weighed.haplotypes, weighed.values
    stays, informs, best = selected.stays, selected.informs, selected.best
    shown = np.empty(haplotypes.support.size, np.int8)
    for s in range(phase.region.size):
        g, begin, stop = phase.region[s], sites.begin[s] - sites.is_indel[s], sites.stop[s]
        first = haplotypes.haplotype_offsets[g]
        number = haplotypes.haplotype_offsets[g + 1] - first
        alleles_of_haplotypes(g, haplotypes, s, sites, shown)
        for sample in range(best.shape[1]):
            for copy in range(best.shape[2]):
                phase.allele[s, sample, copy] = shown[best[g, sample, copy] - first]
        pair, low = out.pair_offsets[s], out.value_offsets[s]
        alleles = sites.allele_offsets[s + 1] - sites.allele_offsets[s]
        for r in range(regions.read_offsets[g], regions.read_offsets[g + 1]):
            if not reaches(spans, r, begin, stop):
                continue
            table = out.values[low : low + alleles]
            table[:] = ABSENT
            row, lowest = weighed.pair_offsets[g] + (r - regions.read_offsets[g]) * number, 0.0
            for h in range(number):
                lowest = min(lowest, values[row + h])
                if stays[first + h] and shown[h] >= 0:
                    table[shown[h]] = max(table[shown[h]], values[row + h])
            out.allele[pair] = settle(table, lowest, informs[r])
            fill_pair(regions.read[r], begin, reads, pair, out)
            pair, low = pair + 1, low + alleles


@kernel
def settle(table, lowest, informs):
    """Bound the alleles that no haplotype has; -> the allele that fits best, SEVERAL or NOTHING."""
    best, second = 0, -np.inf
    for a in range(table.size):
        table[a] = max(table[a], lowest) if informs else 0.0
        if table[a] > table[best]:
            best = a
    for a in range(table.size):
        if a != best:
            second = max(second, table[a])
    margin = table[best] - second
    return NOTHING if margin <= INFORMED else best if margin > CLEAR else SEVERAL


@kernel
def fill_pair(read, begin, reads, pair, out):
    """What a pair says of its read, at a site that begins there."""
    place = place_of(reads, read, begin)
    out.read[pair], out.quality[pair], out.sample[pair] = read, reads.qualities[place], reads.sample[read]
    out.mapping_quality[pair], out.strand[pair] = reads.mapping_quality[read], (reads.flag[read] >> 4) & 1
    out.end_distance[pair] = min(place - reads.read_offsets[read], reads.read_offsets[read + 1] - 1 - place)
