"""Likelihoods of each read's base under the alleles of a single substitution.

    weigh_substitutions(reads: AlignedReads, sites: Sites, parameters: CallParameters) -> Likelihoods

Only substitutions outside active regions, with no other candidate nearby, are weighed here. Within regions, whole
haplotypes are (`readwarp.call.likelihoods.alleles`). Values are log10 P(read | allele): 1 - e where the base is the
allele, e / 3 where it is not, with e = 10 ** (-min(Q, MAPQ) / 10). A deletion across the base is an ordinary allele,
with the quality of the base before it. NOTHING marks uninformative reads, such as those with a base below
`min_base_quality`; OTHER marks reads whose base is no allele.

A read is a fragment if its mates were joined (`readwarp.call.reads.mates`): one observation.

`Likelihoods.strand` is the strand of the mate that read the base, or of the first read where both did. FORMAT SB counts
it. DEPENDENT marks reads that FS and SOR ignore. Where both mates read the base, an error of one strand would have been
contradicted by the other. Where an earlier read begins at the same base of the same strand and shows the same allele,
one end stands for many, as in amplicons and deep data.
"""

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.reads.clips import clips_of, reads_across
from readwarp.call.reads.usable import INFORMATIVE
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import CallParameters
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import empty, first_alike, offsets_of, take
from readwarp.rules.cigar import DELETION, find_base, is_match
from readwarp.rules.flags import FIRST

FAR = 1000  # bases; a read's end farther away counts as this far
NOTHING, OTHER = -2, -1  # values of Likelihoods.allele
DEPENDENT = 2  # bit of Likelihoods.strand: ignore the read for strand bias
LOG10_3 = math.log10(3.0)
PAIRS = 1 << 19  # site-read pairs weighed at a time, of some 100 bytes each


@scalar
def strand_at(shared, flag, read, k):
    """Return the strand of the read's base k; the first read's, with DEPENDENT, if both mates show it."""
    if shared[read, 0] <= k < shared[read, 1]:  # a fragment has the flag of its forward mate
        return DEPENDENT if flag[read] & FIRST else DEPENDENT | 1
    return 1 if k >= shared[read, 1] else 0


def count_ends_once(reads: AlignedReads, likelihoods: Likelihoods) -> None:
    """Mark a pair DEPENDENT if an earlier one shows the same allele from the same 5' end of that strand."""
    strand, allele = likelihoods.strand, likelihoods.allele
    pairs = np.flatnonzero((allele >= 0) & (strand & DEPENDENT == 0))
    site = np.repeat(np.arange(likelihoods.pair_offsets.size - 1), np.diff(likelihoods.pair_offsets))
    end = ends_of(reads)[strand[pairs], likelihoods.read[pairs]]
    first = first_alike(strand[pairs], allele[pairs], end, site[pairs])
    strand[pairs[first != np.arange(pairs.size)]] |= DEPENDENT


def ends_of(reads: AlignedReads) -> ndarray:
    """Return where each read or fragment begins on either strand, clips included (int64 [2, reads])."""
    leading, trailing = clips_of(reads)
    return np.stack(
        (reads.position - reads.hidden[:, 0] - leading, reads.reference_stop + reads.hidden[:, 1] + trailing)
    )


@scalar
def log_match(quality):
    """Return log10(1 - e); a base that is not INFORMATIVE fits all alleles alike."""
    return math.log10(1.0 - 10.0 ** (-0.1 * quality)) if quality >= INFORMATIVE else -LOG10_3


@scalar
def log_mismatch(quality):
    """Return log10(e / 3)."""
    return -0.1 * quality - LOG10_3 if quality >= INFORMATIVE else -LOG10_3


def split_sites(sites: Sites, reads: AlignedReads) -> Iterator[Sites]:
    """Split the sites into parts of at least one site, with about PAIRS reads across them."""
    if len(sites) * len(reads) <= PAIRS:
        parts = np.zeros(len(sites), np.int64)
    else:
        begun, ended = np.searchsorted(reads.position, sites.begin, "right"), np.sort(reads.reference_stop)
        parts = np.cumsum(begun - np.searchsorted(ended, sites.begin, "right")) // PAIRS
    bounds = np.flatnonzero(np.diff(parts, prepend=-1, append=-1)).tolist()
    for first, stop in pairwise(bounds):
        yield take(sites, "sites", slice(first, stop))


def weigh_substitutions(reads: AlignedReads, sites: Sites, parameters: CallParameters) -> Likelihoods:
    """Weigh the alleles of single substitutions; see the step's contract."""
    offsets, read = reads_across(reads, sites.begin, sites.begin + 1)
    out = new_likelihoods(reads, sites, np.diff(offsets), read)
    compare_bases(reads, sites, parameters.min_base_quality, out)
    count_ends_once(reads, out)
    return out


def new_likelihoods(reads: AlignedReads, sites: Sites, number: ndarray, read: ndarray) -> Likelihoods:
    """Pair each site with its `number` of these reads, with room for their likelihoods."""
    return empty(
        Likelihoods,
        {},
        pair_offsets=offsets_of(number),
        read=read,
        quality=np.zeros(read.size, np.uint8),
        mapping_quality=reads.mapping_quality[read],
        strand=np.zeros(read.size, np.uint8),
        sample=reads.sample[read],
        end_distance=np.zeros(read.size, np.int32),
        value_offsets=offsets_of(number * np.diff(sites.allele_offsets)),
    )


@kernel
def compare_bases(reads, sites, min_base_quality, out):
    """Fill in the likelihoods of each pair's base under the site's alleles."""
    for site in range(sites.begin.size):
        begin, first = sites.begin[site], sites.allele_offsets[site]
        number = sites.allele_offsets[site + 1] - first
        for pair in range(out.pair_offsets[site], out.pair_offsets[site + 1]):
            read, row = out.read[pair], out.value_offsets[site] + (pair - out.pair_offsets[site]) * number
            start, stop = reads.cigar_offsets[read], reads.cigar_offsets[read + 1]
            first_base = reads.read_offsets[read]
            place, operation = find_base(reads.cigar, start, stop, reads.position[read], first_base, begin)
            is_deleted = operation == DELETION and place >= first_base
            q = min(reads.qualities[place], reads.mapping_quality[read]) if is_deleted or is_match(operation) else 0
            if q < min_base_quality or q < INFORMATIVE or (reads.bases[place] > 3 and not is_deleted):
                out.values[row : row + number] = 0.0
                out.allele[pair] = NOTHING
                continue
            base = 4 if is_deleted else reads.bases[place]
            out.allele[pair], out.quality[pair] = OTHER, reads.qualities[place]
            out.strand[pair] = strand_at(reads.shared, reads.flag, read, place - first_base)
            before, after = begin - reads.position[read], reads.reference_stop[read] - 1 - begin
            out.end_distance[pair] = min(FAR, before + reads.hidden[read, 0], after + reads.hidden[read, 1])
            for a in range(number):
                fits = sites.inserted[first + a] == base
                out.values[row + a] = log_match(q) if fits else log_mismatch(q)
                if fits:
                    out.allele[pair] = a
