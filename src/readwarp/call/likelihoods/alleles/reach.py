"""Correct for the places and lengths of fragments, both of which differ between alleles (host only).

    weigh_fragments(reads: AlignedReads, sites: Sites, likelihoods: Likelihoods) -> Sites with their `reach`;
        and the likelihoods with the lengths of fragments added
    lies_within(...): whether reads lie where a tract's length does not show

Fragments begin anywhere on a molecule with equal probability. So the fragments that meet a site show its alleles in
proportion to their copies, times their reach: the places from which a fragment of the usual length meets the allele. A
read that lies wholly in a tract, where all alleles have its bases, is no witness: neither it nor its places count. Nor
do places within new bases, from where a read does not align to the site.

A fragment that begins before a long indel and ends after it is longer by the inserted bases than it appears on the
reference; one that ends within the tract may be. Compared with the median and deviation of the sample's lengths nearby,
its length is evidence for an allele, of at most MAX_SURPRISE, and the only evidence where neither mate spans the
alleles. Such a fragment does not count in AD.

Neither applies to amplicons, whose fragments begin at primers, and long reads do not need it.
"""

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.alleles import INFORMED
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import NOTHING, OTHER
from readwarp.call.reads.clips import MIN_CLIP, clips_of
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import replace, take
from readwarp.rules.flags import PAIRED, SECONDARY, SUPPLEMENTARY

AROUND = 800  # bases on either side for typical fragments; with `steps.CALL_MARGIN` within `steps.MARGIN`
LONG = 16  # bases; shorter indels leave the reach unchanged
ENOUGH = 20  # fewest fragments nearby for their lengths to be evidence
MAX_SURPRISE = 3.0  # log10, for a length; some fragments are chimeras
MANY, SCATTERED = 200, 0.25  # reads, and the least share of them with distinct starts unless from amplicons
NORMAL_DEVIATION = 1.4826  # standard deviation over median absolute deviation of a normal distribution


def weigh_fragments(reads: AlignedReads, sites: Sites, out: Likelihoods) -> Sites:
    """Set the reach of alleles of long indels, and add the evidence of fragment lengths to the values in `out`."""
    change, reach = changes_of(sites), sites.reach.copy()
    own = np.repeat(np.arange(len(sites)), np.diff(sites.allele_offsets))
    for site in np.unique(own[np.abs(change) >= LONG]).tolist():
        first, last = int(sites.position[site]), int(sites.stop[site])
        low, high = np.searchsorted(reads.position, (first - AROUND, first + AROUND)).tolist()
        near = take(reads, "reads", slice(low, high))
        forward = np.flatnonzero(near.strand == 0)
        read = int(np.median(near.shared[forward, 1])) if forward.size else AROUND + 1
        if read > AROUND or np.unique(near.position).size < SCATTERED * min(MANY, len(near)):
            continue
        start, stop = find_ends(near)
        length = stop - start
        usual = forward[(length[forward] > 0) & ((stop[forward] <= first) | (start[forward] >= last))]
        fragment = int(np.median(length[usual])) if usual.size else read
        alleles, pairs = (slice(*of[site : site + 2].tolist()) for of in (sites.allele_offsets, out.pair_offsets))
        places = count_places(last - first, int(sites.unit[site]), change[alleles], read, max(read, fragment))
        reach[alleles] = places / places[0]
        row, samples = out.read[pairs] - low, (out.sample[pairs], near.sample[usual])
        row[(row < 0) | (row >= high - low)] = -1  # last entry of these arrays
        fit, begins = fit_lengths(length[row], change[alleles], length[usual], samples), start[row]
        ends = stop[row]
        ends_within = (begins > first).astype(np.int64) + (ends <= last)
        fit[ends_within == 1] = np.maximum(fit, fit[:, :1])[ends_within == 1]  # the end may be in any copy of the tract
        fit[(begins < 0) | (begins >= last) | (ends <= first + 1) | (ends_within == 2)] = 0.0
        fit -= fit.max(axis=1, keepdims=True)
        values = out.values[slice(*out.value_offsets[site : site + 2].tolist())]
        values += fit.ravel()
        allele = out.allele[pairs]
        allele[(allele == NOTHING) & (fit.min(axis=1) < -INFORMED)] = OTHER
    return replace(sites, reach=reach)


def find_ends(reads: AlignedReads) -> tuple[ndarray, ndarray]:
    """Find start and stop of the fragment of each read, -1 where its mate is missing or an end is clipped.

    Both have a last entry of -1 for any other read. Neighbours of one name are mates.
    """
    leading, trailing = clips_of(reads)
    start, stop = np.full((2, len(reads) + 1), -1)
    is_joined = reads.shared[:, 0] < reads.shared[:, 1]
    rows = np.flatnonzero(~is_joined & (reads.flag & (SECONDARY | SUPPLEMENTARY) == 0) & (reads.flag & PAIRED != 0))
    rows = rows[np.lexsort((reads.name_hash[rows], reads.sample[rows]))]  # stable
    one, other = rows[:-1], rows[1:]
    are_mates = (reads.name_hash[one] == reads.name_hash[other]) & (reads.sample[one] == reads.sample[other])
    are_mates &= (reads.strand[one] == 0) & (reads.strand[other] == 1)
    forward = np.concatenate((one[are_mates], np.flatnonzero(is_joined)))
    reverse = np.concatenate((other[are_mates], np.flatnonzero(is_joined)))
    begin, end = (reads.position - leading)[forward], (reads.reference_stop + trailing)[reverse]
    is_known = (leading[forward] < MIN_CLIP) & (trailing[reverse] < MIN_CLIP) & (end > begin) & (end - begin <= AROUND)
    for mate in (forward[is_known], reverse[is_known]):
        start[mate], stop[mate] = begin[is_known], end[is_known]
    return start, stop


def fit_lengths(length: ndarray, change: ndarray, usual: ndarray, samples: tuple[ndarray, ndarray]) -> ndarray:
    """Return log10 of how well lengths on the reference, changed by each allele, fit those of the sample.

    usual: lengths of other fragments. samples: of both. Returns float64 [lengths, alleles].
    """
    sample, of_usual = samples
    far = np.zeros((length.size, change.size))
    for each in np.unique(sample).tolist():
        own = usual[of_usual == each]
        if own.size >= ENOUGH:
            middle = np.median(own)
            deviation = max(1.0, NORMAL_DEVIATION * float(np.median(np.abs(own - middle))))
            far[sample == each] = (length[sample == each, None] + change - middle) / deviation
    return np.asarray(np.maximum(-0.5 / np.log(10.0) * far**2, -MAX_SURPRISE))


def changes_of(sites: Sites) -> ndarray:
    """Return the bases by which each allele of an indel exceeds the reference's (int64 [alleles])."""
    is_indel = np.repeat(sites.is_indel, np.diff(sites.allele_offsets))
    return np.where(is_indel, np.diff(sites.inserted_offsets) - sites.deleted, 0)


def count_places(span: int, unit: int, change: ndarray, read: int, fragment: int) -> ndarray:
    """Count the places of fragments on each allele from which a mate is a witness (int64 [alleles]).

    span: reference bases from the anchor base on; the tract, of this unit, follows that base.
    """
    places, tract = list[int](), span - 1
    for size in (span + change).tolist():
        start = np.arange(1 - fragment, size)
        is_witness = np.zeros(start.size, bool)
        for mate in (start, start + fragment - read):
            is_silent = (mate >= 1) & (mate + read <= size)
            if size <= span + tract:  # else the tract has bases that no other allele has
                is_silent &= says_nothing(mate - 1, read, unit, tract + change.min())
            is_witness |= (mate < size) & (mate + read > 0) & ~is_silent
        places.append(max(1, int(is_witness.sum())))
    return np.array(places)


def lies_within(sites: Sites, site: ndarray, first: ndarray, stop: ndarray) -> ndarray:
    """Return whether reads of these ends lie where all alleles of their site have the same bases (bool [reads])."""
    least = sites.stop - sites.begin + np.minimum.reduceat(changes_of(sites), sites.allele_offsets[:-1])
    is_within = sites.is_indel[site] & (sites.begin[site] <= first) & (stop <= sites.stop[site])
    return np.asarray(is_within & says_nothing(first - sites.begin[site], stop - first, sites.unit[site], least[site]))


def says_nothing(place: ndarray, read: ndarray | int, unit: ndarray | int, least: ndarray | int) -> ndarray:
    """Return whether the shortest allele's tract has the bases of a read that lies in a longer one from `place` on."""
    return place % unit + read <= least
