"""Reads against the alleles of single substitutions (host only)."""

import numpy as np

from readwarp.batches import AlignedReads, Likelihoods, Sites
from readwarp.call.evidence import NOTHING, SEVERAL
from readwarp.call.evidence.scalar import log_match, log_mismatch
from readwarp.config import CallParameters
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of
from readwarp.rules.cigar import DELETION, find_base, is_match


def weigh_substitutions(reads: AlignedReads, sites: Sites, parameters: CallParameters) -> Likelihoods:
    """See the step's contract."""
    out = find_pairs(reads, sites, parameters.max_depth)
    compare_bases(reads, sites, parameters.min_base_quality, out)
    return out


def find_pairs(reads: AlignedReads, sites: Sites, max_depth: int) -> Likelihoods:
    """Pairs of each site and the first `max_depth` reads across it, with room for what they say."""
    number = np.zeros(len(sites), np.int64)
    link(reads, sites.begin, max_depth, number, np.empty(0, np.int32))
    offsets = offsets_of(number)
    read = np.empty(offsets[-1], np.int32)
    link(reads, sites.begin, max_depth, offsets[:-1].copy(), read)
    value_offsets = offsets_of(number * np.diff(sites.allele_offsets))
    return Likelihoods(
        pair_offsets=offsets,
        read=read,
        allele=np.empty(read.size, np.int8),
        quality=np.zeros(read.size, np.uint8),
        mapping_quality=reads.mapping_quality[read],
        strand=reads.strand[read],
        sample=reads.sample[read],
        end_distance=np.zeros(read.size, np.int32),
        value_offsets=value_offsets,
        values=np.empty(value_offsets[-1], np.float64),
    )


@kernel
def link(reads, begin, max_depth, cursor, pair_read):
    """Write the reads across each site from `cursor` on, which moves; count them where `pair_read` is empty.

    `begin`: the base of each site, ascending. A read lies across it where its alignment holds the base.
    """
    position, reference_stop, seen = reads.position, reads.reference_stop, np.zeros(begin.size, np.int64)
    for read in range(position.size):
        site = np.searchsorted(begin, position[read])
        while site < begin.size and begin[site] < reference_stop[read]:
            if seen[site] < max_depth:
                if pair_read.size:
                    pair_read[cursor[site]] = read
                seen[site] += 1
                cursor[site] += 1
            site += 1


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
