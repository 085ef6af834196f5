"""Reads against the alleles of single substitutions (host only)."""

import numpy as np

from readwarp.batches import AlignedReads, Likelihoods, Sites
from readwarp.call.evidence import NOTHING, SEVERAL
from readwarp.call.evidence.pairs import base_at, find_pairs
from readwarp.call.evidence.scalar import log_match, log_mismatch
from readwarp.device.jit import kernel


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
