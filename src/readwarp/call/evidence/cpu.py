"""Reads against the alleles of sites (host only)."""

import numpy as np

from readwarp.batches import AlignedReads, Likelihoods, Sites
from readwarp.call.evidence import FLANK, MAX_MASK, MAX_WEIGHT, NOTHING, SEVERAL
from readwarp.call.evidence.pairs import anchors, base_at, find_pairs
from readwarp.call.evidence.scalar import log_indel_error, log_match, log_mismatch
from readwarp.device.jit import kernel


def weigh_indels(
    reads: AlignedReads, sites: Sites, reference: np.ndarray, start: int, max_depth: int
) -> tuple[Likelihoods, np.ndarray]:
    """`reference` begins at `start` and covers what the reads reach. See the step's contract."""
    out = find_pairs(reads, sites, max_depth)
    masked = reads.qualities.copy()
    compare_indels(
        *(reads.position, reads.mapping_quality, reads.cigar, reads.cigar_offsets, reads.bases, reads.read_offsets),
        *(reads.qualities, masked, reference, start, sites.begin, sites.stop, sites.allele_offsets),
        *(sites.deleted, sites.inserted, sites.inserted_offsets),
        *(out.pair_offsets, out.read, out.value_offsets, out.allele, out.quality, out.end_distance, out.values),
    )
    return out, masked


def weigh_substitutions(
    reads: AlignedReads, qualities: np.ndarray, sites: Sites, least: int, max_depth: int
) -> Likelihoods:
    """Bases of quality below `least` say nothing. See the step's contract."""
    out = find_pairs(reads, sites, max_depth)
    compare_bases(
        *(reads.position, reads.reference_stop, reads.mapping_quality, reads.cigar, reads.cigar_offsets),
        *(reads.bases, qualities, reads.read_offsets, least, sites.begin, sites.allele_offsets, sites.inserted),
        *(out.pair_offsets, out.read, out.value_offsets, out.allele, out.quality, out.end_distance, out.values),
    )
    return out


@kernel
def compare_bases(
    position, reference_stop, mapping_quality, cigar, cigar_offsets, bases, qualities, read_offsets, least,
    begin, allele_offsets, inserted,
    pair_offsets, pair_read, value_offsets, allele, quality, end_distance, values,
):  # fmt: skip
    for site in range(begin.size):
        first, number = allele_offsets[site], allele_offsets[site + 1] - allele_offsets[site]
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            read, row = pair_read[pair], value_offsets[site] + (pair - pair_offsets[site]) * number
            place, is_deleted = base_at(position, cigar, cigar_offsets, read_offsets, read, begin[site])
            q = min(qualities[place], mapping_quality[read]) if place >= 0 else 0
            if place < 0 or q < least or q < 2 or (bases[place] > 3 and not is_deleted):
                values[row : row + number] = 0.0
                allele[pair] = NOTHING
                continue
            base = 4 if is_deleted else bases[place]
            allele[pair], quality[pair] = SEVERAL, qualities[place]
            end_distance[pair] = min(begin[site] - position[read], reference_stop[read] - 1 - begin[site])
            for a in range(number):
                fits = inserted[first + a] == base
                values[row + a] = log_match(q) if fits else log_mismatch(q)
                if fits:
                    allele[pair] = a


@kernel
def haplotype_base(k, is_forward, begin, stop, deleted, inserted, source, length, reference, start):
    """Base k of an allele's haplotype: from `begin` to the right, or from `stop` - 1 to the left."""
    if is_forward:
        if k < length:
            return inserted[source + k]
        p = begin + deleted + k - length
    else:
        tail = stop - begin - deleted
        if tail <= k < tail + length:
            return inserted[source + length - 1 - (k - tail)]
        p = stop - 1 - k if k < tail else begin - 1 - (k - tail - length)
    return reference[p - start] if 0 <= p - start < reference.size else np.uint8(4)


@kernel
def repeat_unit(begin, deleted, inserted, source, length, reference, start):
    """Smallest period of the inserted or deleted bases."""
    size = length + deleted
    for unit in range(1, size):
        if size % unit == 0:
            is_period = True
            for k in range(unit, size):
                if length:
                    is_period &= inserted[source + k] == inserted[source + k - unit]
                else:
                    is_period &= reference[begin - start + k] == reference[begin - start + k - unit]
            if is_period:
                return unit
    return max(1, size)


@kernel
def base_score(bases, qualities, place, base):
    quality = qualities[place]
    if bases[place] > 3 or base > 3:
        return 0.0
    return log_match(quality) if bases[place] == base else log_mismatch(quality)


@kernel
def compare_indels(
    position, mapping_quality, cigar, cigar_offsets, bases, read_offsets, qualities, masked,
    reference, start, begin, stop, allele_offsets, deleted, inserted, inserted_offsets,
    pair_offsets, pair_read, value_offsets, allele, quality, end_distance, values,
):  # fmt: skip
    """Fill the rows of each pair of a site and a read; mask misaligned ends in `masked`."""
    for site in range(begin.size):
        first, number = allele_offsets[site], allele_offsets[site + 1] - allele_offsets[site]
        low, tract, longest = begin[site], stop[site] - begin[site], np.int64(0)
        unit = 1
        for a in range(first + 1, first + number):
            length = inserted_offsets[a + 1] - inserted_offsets[a]
            longest = max(longest, length)
            if a == first + 1:
                unit = repeat_unit(low, deleted[a], inserted, inserted_offsets[a], length, reference, start)
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            read, row = pair_read[pair], value_offsets[site] + (pair - pair_offsets[site]) * number
            left, right, lowest, highest, aligned_low, aligned_high = anchors(
                position, cigar, cigar_offsets, read_offsets, read, low - 1, stop[site]
            )
            values[row : row + number] = 0.0
            allele[pair] = NOTHING
            is_forward = right < 0 or (left >= 0 and left - aligned_low >= aligned_high - 1 - right)
            anchor = left if is_forward else right
            if anchor < 0 or qualities[anchor] == 0:
                continue
            step = 1 if is_forward else -1
            room = highest - 1 - left if is_forward else right - lowest
            compared = min(room, tract + longest + FLANK)
            own = right - left - 1 if left >= 0 and right >= 0 else -1
            best = 0
            for a in range(number):
                gone, source = deleted[first + a], inserted_offsets[first + a]
                length = inserted_offsets[first + a + 1] - source
                total = 0.0
                for k in range(compared):
                    base = haplotype_base(
                        k, is_forward, low, stop[site], gone, inserted, source, length, reference, start
                    )
                    total += base_score(bases, qualities, anchor + step * (k + 1), base)
                difference = own - (tract - gone + length)
                if own >= 0 and difference != 0:
                    slipped = log_indel_error(difference, unit, tract)
                    for k in range(own, compared):
                        p = stop[site] + k - own if is_forward else low - 1 - (k - own)
                        base = reference[p - start] if 0 <= p - start < reference.size else np.uint8(4)
                        slipped += base_score(bases, qualities, anchor + step * (k + 1), base)
                    total = max(total, slipped)
                values[row + a] = total
                if total > values[row + best]:
                    best = a
            second = -1e9
            floor = values[row + best] - 0.1 * min(mapping_quality[read], MAX_WEIGHT)
            gain = values[row + best] - values[row]
            for a in range(number):
                values[row + a] = max(values[row + a], floor)
                if a != best:
                    second = max(second, values[row + a])
            margin = values[row + best] - second
            if margin > 0.01:
                allele[pair] = best if margin > 0.3 else SEVERAL
            quality[pair] = qualities[anchor]
            end_distance[pair] = min(anchor - aligned_low, aligned_high - 1 - anchor)
            if best > 0 and gain > 1.0 and (own < 0 or own == tract) and room <= MAX_MASK:
                for k in range(room):
                    masked[anchor + step * (k + 1)] = 0
