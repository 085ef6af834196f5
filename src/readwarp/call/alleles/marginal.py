"""From haplotypes to alleles: the best haplotype with each allele (host only)."""

import numpy as np

from readwarp.call.alleles import CLEAR, INFORMED
from readwarp.call.evidence import NOTHING, SEVERAL
from readwarp.device.jit import kernel
from readwarp.rules.cigar import INSERTION, SOFT_CLIP, is_match

ABSENT = -1000.0  # log10, of an allele that no haplotype has, before reads are bounded


@kernel
def place_of(position, cigar, cigar_offsets, read_offsets, read, target):
    """Index of the base at a reference position, or of the one before a deletion across it.

    Soft-clipped ends count as if they went on along the diagonal. Beyond the read's ends it is its first or last base.
    """
    p, q = position[read], read_offsets[read]
    for i in range(cigar_offsets[read], cigar_offsets[read + 1]):
        operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
        if is_match(operation):
            if p <= target < p + length:
                return q + target - p
            p, q = p + length, q + length
        elif operation == SOFT_CLIP:
            if p == position[read]:
                if target < p:
                    return q + max(0, length - (p - target))
            elif p <= target < p + length:
                return q + target - p
            q += length
        elif operation == INSERTION:
            q += length
        elif operation < SOFT_CLIP:
            if p <= target < p + length and q > read_offsets[read]:
                return q - 1
            p += length
    return read_offsets[read] if target < position[read] else read_offsets[read + 1] - 1


@kernel
def alleles_of_haplotypes(
    first, number, variant_offsets, hap_begin, hap_deleted, hap_inserted, hap_inserted_offsets,
    begin, is_indel, low, high, deleted, inserted, inserted_offsets, out,
):  # fmt: skip
    """Fill `out` (int8 [number]) with the allele of each haplotype of a region at a site with alleles [low, high)."""
    for h in range(number):
        out[h] = 0
        for v in range(variant_offsets[first + h], variant_offsets[first + h + 1]):
            size = hap_inserted_offsets[v + 1] - hap_inserted_offsets[v]
            if hap_begin[v] == begin and (hap_deleted[v] != size) == is_indel:
                out[h] = -1  # an allele that did not fit into the site
                for a in range(low + 1, high):
                    same = hap_deleted[v] == deleted[a] and size == inserted_offsets[a + 1] - inserted_offsets[a]
                    for i in range(size if same else 0):
                        same &= hap_inserted[hap_inserted_offsets[v] + i] == inserted[inserted_offsets[a] + i]
                    if same:
                        out[h] = a - low
            elif size == 0 and hap_begin[v] < begin + (not is_indel) and begin < hap_begin[v] + hap_deleted[v]:
                out[h] = high - low - 1


@kernel
def count_rows(region, read_offsets, begin, is_indel, stop, row_start, row_stop):
    """Reads of each site's region that reach the site (int64 [s])."""
    counts = np.zeros(region.size, np.int64)
    for s in range(region.size):
        for r in range(read_offsets[region[s]], read_offsets[region[s] + 1]):
            counts[s] += row_start[r] < stop[s] and row_stop[r] > begin[s] - is_indel[s]
    return counts


@kernel
def weigh_rows(
    region, begin, is_indel, stop, allele_offsets, deleted, inserted, inserted_offsets,
    read_offsets, read, row_start, row_stop, says,
    haplotype_offsets, kept, chosen, variant_offsets, hap_begin, hap_deleted, hap_inserted, hap_inserted_offsets,
    value_offsets, values, position, cigar, cigar_offsets, qualities, base_offsets,
    pair_offsets, pair_read, pair_value_offsets, allele, quality, end_distance, out, phase,
):  # fmt: skip
    """Fill the pairs of each site and the reads that reach it, and the alleles of the haplotypes chosen (`phase`)."""
    shown = np.empty(haplotype_offsets[-1], np.int8)
    for s in range(region.size):
        g, low, high = region[s], allele_offsets[s], allele_offsets[s + 1]
        first, number, alleles = haplotype_offsets[g], haplotype_offsets[g + 1] - haplotype_offsets[g], high - low
        alleles_of_haplotypes(
            first, number, variant_offsets, hap_begin, hap_deleted, hap_inserted, hap_inserted_offsets,
            begin[s], is_indel[s], low, high, deleted, inserted, inserted_offsets, shown,
        )  # fmt: skip
        for sample in range(chosen.shape[1]):
            for copy in range(chosen.shape[2]):
                phase[s, sample, copy] = shown[chosen[g, sample, copy] - first]
        pair = pair_offsets[s]
        for r in range(read_offsets[g], read_offsets[g + 1]):
            if row_start[r] >= stop[s] or row_stop[r] <= begin[s] - is_indel[s]:
                continue
            table = out[pair_value_offsets[s] + (pair - pair_offsets[s]) * alleles :][:alleles]
            table[:] = ABSENT
            row, lowest = value_offsets[g] + (r - read_offsets[g]) * number, 0.0
            for h in range(number):
                lowest = min(lowest, values[row + h])
                if kept[first + h] and shown[h] >= 0:
                    table[shown[h]] = max(table[shown[h]], values[row + h])
            pair_read[pair] = read[r]
            allele[pair] = settle(table, lowest, says[r])
            place = place_of(position, cigar, cigar_offsets, base_offsets, read[r], begin[s] - is_indel[s])
            quality[pair] = qualities[place]
            end_distance[pair] = min(place - base_offsets[read[r]], base_offsets[read[r] + 1] - 1 - place)
            pair += 1


@kernel
def settle(table, lowest, says):
    """Bound the alleles that no haplotype has; -> the allele that fits best, SEVERAL or NOTHING."""
    best, second = 0, -np.inf
    for a in range(table.size):
        table[a] = max(table[a], lowest) if says else 0.0
        if table[a] > table[best]:
            best = a
    for a in range(table.size):
        if a != best:
            second = max(second, table[a])
    margin = table[best] - second
    return NOTHING if margin <= INFORMED else best if margin > CLEAR else SEVERAL


@kernel
def measure_rows(read, position, reference_stop, cigar, cigar_offsets, row_start, row_stop):
    """Reference span of each row's whole read, soft-clipped ends as if they went on along the diagonal."""
    for r in range(read.size):
        row_start[r], row_stop[r] = position[read[r]], reference_stop[read[r]]
        is_begin = True
        for i in range(cigar_offsets[read[r]], cigar_offsets[read[r] + 1]):
            operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
            if operation == SOFT_CLIP and is_begin:
                row_start[r] -= length
            elif operation == SOFT_CLIP:
                row_stop[r] += length
            is_begin &= operation >= SOFT_CLIP and operation < 7
