"""Reads against the alleles of sites (host only)."""

import math

import numpy as np

from readwarp.batches import AlignedReads, Likelihoods, Pileup, Sites
from readwarp.call.evidence import CLEAR, FLANK, INFORMED, MAX_WEIGHT, NOTHING, SEVERAL
from readwarp.call.evidence.pairs import anchors, find_pairs
from readwarp.call.evidence.scalar import log_indel_error, log_match, log_mismatch
from readwarp.call.pileup import MAX_INDEL
from readwarp.call.sites import MAX_ALLELES, MAX_TRACT
from readwarp.config import CallParameters
from readwarp.device.jit import kernel
from readwarp.rules.cigar import DELETION, INSERTION, SOFT_CLIP, find_base, is_match

GAP_COST = 0.5  # log10, of each gap by which a read's own alignment differs besides
LOG_RANDOM = -math.log10(4.0)
MOST_COMPARED = MAX_TRACT + 2 * MAX_INDEL + FLANK


def weigh_indels(
    reads: AlignedReads, pileup: Pileup, sites: Sites, reference: np.ndarray, start: int, max_depth: int
) -> Likelihoods:
    """`reference` begins at `start` and covers what the reads reach. See the step's contract."""
    out = find_pairs(reads, sites, max_depth)
    compare_indels(
        *(reads.position, reads.mapping_quality, reads.cigar, reads.cigar_offsets, reads.bases, reads.read_offsets),
        *(reads.qualities, reference, start, sites.begin, sites.stop, sites.unit, sites.allele_offsets),
        *(sites.deleted, sites.inserted, sites.inserted_offsets, sites.source),
        *(pileup.event_offsets, pileup.event_position, pileup.event_allele),
        *(out.pair_offsets, out.read, out.value_offsets, out.allele, out.quality, out.end_distance, out.values),
        np.empty((2, MAX_ALLELES, MOST_COMPARED), np.uint8),
    )
    return out


def weigh_substitutions(reads: AlignedReads, sites: Sites, parameters: CallParameters) -> Likelihoods:
    """Bases of less than `min_base_quality` say nothing. See the step's contract."""
    out = find_pairs(reads, sites, parameters.max_depth)
    compare_bases(reads, sites, parameters.min_base_quality, out)
    return out


@kernel
def compare_bases(reads, sites, min_base_quality, out):
    """Fill `out`: what the base of each pair's read says about the site's alleles."""
    position, bases, qualities, read_offsets = reads.position, reads.bases, reads.qualities, reads.read_offsets
    cigar, cigar_offsets = reads.cigar, reads.cigar_offsets
    pair_offsets, inserted, values, allele = out.pair_offsets, sites.inserted, out.values, out.allele
    for site in range(sites.begin.size):
        begin, first = sites.begin[site], sites.allele_offsets[site]
        number = sites.allele_offsets[site + 1] - first
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            read, row = out.read[pair], out.value_offsets[site] + (pair - pair_offsets[site]) * number
            start, stop, first_base = cigar_offsets[read], cigar_offsets[read + 1], read_offsets[read]
            place, operation = find_base(cigar, start, stop, position[read], first_base, begin)
            is_deleted = operation == DELETION and place >= first_base
            q = min(qualities[place], reads.mapping_quality[read]) if is_deleted or is_match(operation) else 0
            if q < min_base_quality or q < 2 or (bases[place] > 3 and not is_deleted):
                values[row : row + number] = 0.0
                allele[pair] = NOTHING
                continue
            base = 4 if is_deleted else bases[place]
            allele[pair], out.quality[pair] = SEVERAL, qualities[place]
            out.end_distance[pair] = min(begin - position[read], reads.reference_stop[read] - 1 - begin)
            for a in range(number):
                fits = inserted[first + a] == base
                values[row + a] = log_match(q) if fits else log_mismatch(q)
                if fits:
                    allele[pair] = a


@kernel
def fill_haplotypes(
    begin, stop, first, number, deleted, inserted, inserted_offsets, reference, start, haplotypes, lengths
):  # fmt: skip
    """What each allele makes of the repeat, and FLANK bases behind it; -> how many bases that is.

    `haplotypes` uint8 [2, alleles, bases]: from `begin` to the right, and from `stop` - 1 to the left.
    `lengths`: bases of each allele across the repeat.
    """
    longest = 0
    for a in range(first, first + number):
        longest = max(longest, inserted_offsets[a + 1] - inserted_offsets[a])
    size = min(stop - begin + longest + FLANK, haplotypes.shape[2])
    for a in range(number):
        source, length = inserted_offsets[first + a], inserted_offsets[first + a + 1] - inserted_offsets[first + a]
        tail = stop - begin - deleted[first + a]
        lengths[a] = tail + length
        for k in range(size):
            right, left = begin + tail_start(k, deleted[first + a], length), stop - 1 - k
            if k >= tail:
                left = begin - 1 - (k - tail - length)
            haplotypes[0, a, k] = reference[right - start] if right - start < reference.size else 4
            haplotypes[1, a, k] = reference[left - start] if left >= start else 4
        for k in range(length):
            haplotypes[0, a, k] = inserted[source + k]
            haplotypes[1, a, tail + k] = inserted[source + length - 1 - k]
    return size


@kernel
def tail_start(k, deleted, length):
    return deleted + max(0, k - length)


@kernel
def fit(bases, qualities, anchor, step, haplotype, compared):
    """log10 P of the `compared` bases behind the anchor, given the haplotype."""
    total = 0.0
    for k in range(compared):
        total += score(bases, qualities, anchor + step * (k + 1), haplotype[k])
    return total


@kernel
def score(bases, qualities, place, base):
    if bases[place] > 3 or base > 3:
        return 0.0
    return log_match(qualities[place]) if bases[place] == base else log_mismatch(qualities[place])


@kernel
def aligned_fit(
    position, cigar, cigar_offsets, bases, qualities, read_offsets, read, low, length, reference, start
):  # fmt: skip
    """log10 P of `length` bases of a read from index `low` on as they are aligned; clipped ones are random."""
    p, q, high, total = position[read], read_offsets[read], low + length, 0.0
    for i in range(cigar_offsets[read], cigar_offsets[read + 1]):
        operation, size = cigar[i] & 15, np.int64(cigar[i] >> 4)
        if is_match(operation):
            for k in range(max(0, low - q), min(size, high - q)):
                r = p + k - start
                total += score(bases, qualities, q + k, reference[r] if 0 <= r < reference.size else 4)
            p, q = p + size, q + size
        elif operation == SOFT_CLIP:
            total += max(0, min(high, q + size) - max(low, q)) * LOG_RANDOM
            q += size
        elif operation == INSERTION:
            q += size
        elif operation < SOFT_CLIP:
            p += size
    return total


@kernel
def shown_allele(event_offsets, event_position, event_allele, read, anchor, source, first, number):
    """-> (the site's allele that the read's CIGAR shows, 0 the reference's, -1 another one; its other gaps)."""
    shown, others = 0, 0
    for e in range(event_offsets[read], event_offsets[read + 1]):
        if event_position[e] != anchor or event_allele[e] < 0:
            others += 1
            continue
        shown = -1
        for a in range(number):
            if source[first + a] == event_allele[e]:
                shown = a
    return shown, others


@kernel
def slip(fits, lengths, unit, tract, own, own_fit, out):
    """log10 P of each allele: the read fits it, or one that an indel error made of it."""
    is_known = own < 0
    for b in range(out.size):
        is_known |= lengths[b] == own
    for a in range(out.size):
        out[a] = fits[a]
        for b in range(out.size):
            if b != a:
                out[a] = max(out[a], fits[b] + log_indel_error(lengths[b] - lengths[a], unit, tract))
        if not is_known:
            out[a] = max(out[a], own_fit + log_indel_error(own - lengths[a], unit, tract))


@kernel
def settle(values, mapping_quality):
    """Bound what one read can say; -> (the allele that fits best, how much better than the next)."""
    best = 0
    for a in range(1, values.size):
        if values[a] > values[best]:
            best = a
    floor, second = values[best] - 0.1 * min(mapping_quality, MAX_WEIGHT), -np.inf
    for a in range(values.size):
        values[a] = max(values[a], floor)
        if a != best:
            second = max(second, values[a])
    return best, values[best] - second


@kernel
def compare_indels(
    position, mapping_quality, cigar, cigar_offsets, bases, read_offsets, qualities,
    reference, start, begin, stop, unit, allele_offsets, deleted, inserted, inserted_offsets, source,
    event_offsets, event_position, event_allele,
    pair_offsets, pair_read, value_offsets, allele, quality, end_distance, values, haplotypes,
):  # fmt: skip
    """Fill the rows of each pair of a site and a read."""
    fits, lengths = np.empty(haplotypes.shape[1]), np.empty(haplotypes.shape[1], np.int64)
    for site in range(begin.size):
        first, number = allele_offsets[site], allele_offsets[site + 1] - allele_offsets[site]
        tract = stop[site] - begin[site]
        size = fill_haplotypes(
            begin[site], stop[site], first, number, deleted, inserted, inserted_offsets, reference, start,
            haplotypes, lengths,
        )  # fmt: skip
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            read = pair_read[pair]
            left, right, lowest, highest, aligned_low, aligned_high = anchors(
                position, cigar, cigar_offsets, read_offsets, read, begin[site] - 1, stop[site]
            )
            row = value_offsets[site] + (pair - pair_offsets[site]) * number
            table = values[row : row + number]
            table[:] = 0.0
            allele[pair] = NOTHING
            is_forward = right < 0 or (left >= 0 and left - aligned_low >= aligned_high - 1 - right)
            anchor, step = (left, 1) if is_forward else (right, -1)
            if anchor < 0 or qualities[anchor] == 0:
                continue
            room = highest - 1 - left if is_forward else right - lowest
            compared, side = min(room, size), 0 if is_forward else 1
            for a in range(number):
                fits[a] = fit(bases, qualities, anchor, step, haplotypes[side, a], compared)
            own = right - left - 1 if left >= 0 and right >= 0 else -1
            shown, others = shown_allele(
                event_offsets, event_position, event_allele, read, begin[site] - 1, source, first, number
            )
            own_fit = aligned_fit(
                position, cigar, cigar_offsets, bases, qualities, read_offsets, read,
                min(anchor + step, anchor + step * compared), compared, reference, start,
            )  # fmt: skip
            if shown >= 0:
                fits[shown] = max(fits[shown], own_fit - GAP_COST * others)
                own = lengths[shown]
            slip(fits, lengths, unit[site], tract, own, own_fit, table)
            best, margin = settle(table, mapping_quality[read])
            if margin > INFORMED:
                allele[pair] = best if margin > CLEAR else SEVERAL
            quality[pair] = qualities[anchor]
            end_distance[pair] = min(anchor - aligned_low, aligned_high - 1 - anchor)
