"""Weigh single indels in the alignments of long reads (host only)."""

import math

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.candidates.sites.find import list_alleles
from readwarp.call.candidates.sites.slips import slip_rates
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import FAR, NOTHING
from readwarp.call.likelihoods.evidence.substitutions import LOG10_3, new_likelihoods
from readwarp.call.likelihoods.phase import GAP_QUALITY
from readwarp.call.places.window import Window
from readwarp.call.reads.clips import reads_across
from readwarp.call.reads.gap_models import GapModel
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import take
from readwarp.rules.cigar import DELETION, INSERTION, run_of

FITS, MISFITS = math.log10(1 - 10 ** (-0.1 * GAP_QUALITY)), -0.1 * GAP_QUALITY - LOG10_3
GAP_ODDS = FITS - MISFITS


def find_linking(sites: Sites, window: Window, model: GapModel) -> tuple[Sites, Sites]:
    """Find the substitutions and the indels that are rarely slips of the sequencer, among sites of one other allele."""
    sites = take(sites, "sites", np.diff(sites.allele_offsets) == 2)
    gaps = take(sites, "sites", sites.is_indel)
    is_rare = slip_rates(list_alleles(gaps)[1::2], window, model) <= 10 ** (-0.1 * GAP_QUALITY)
    return take(sites, "sites", ~sites.is_indel), take(gaps, "sites", is_rare)


def changes_of(sites: Sites) -> ndarray:
    """Return the bases that the only other allele of each site has beyond the reference (int64 [sites])."""
    return np.asarray((np.diff(sites.inserted_offsets) - sites.deleted)[1::2])


def weigh_gaps(reads: AlignedReads, sites: Sites) -> Likelihoods:
    """Weigh the alleles of indels with one other allele each."""
    offsets, read, shown = show_gaps(reads, sites.begin, sites.stop, changes_of(sites))
    out = new_likelihoods(reads, sites, np.diff(offsets), read)
    out.allele[:], out.quality[:], out.strand[:], out.end_distance[:] = shown, GAP_QUALITY, reads.strand[read], FAR
    fits = np.arange(2) == shown[:, None]
    out.values[:] = np.where(shown[:, None] == NOTHING, 0.0, np.where(fits, FITS, MISFITS)).ravel()
    return out


def show_gaps(reads: AlignedReads, begin: ndarray, stop: ndarray, change: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Return pair offsets, reads, and the allele each shows (int8 [pairs]): 0 REF, 1 the change, else NOTHING.

    begin, stop: of the tracts in which the gap may lie, sorted by `begin`.
    """
    offsets, read = reads_across(reads, begin - 1, begin + 1)
    shown = np.full(read.size, NOTHING, np.int8)
    compare_gaps(reads, (offsets, read), (begin, stop, change), shown)
    return offsets, read, shown


@kernel
def compare_gaps(reads, pairs, sites, shown):
    """Fill `shown` of the reads that are aligned on both sides of a tract, by the sum of their gaps in it."""
    (offsets, read), (begin, stop, change) = pairs, sites
    for site in range(begin.size):
        for pair in range(offsets[site], offsets[site + 1]):
            r = read[pair]
            p, change_here = reads.position[r], np.int64(0)
            number = 0
            if p >= begin[site] or reads.reference_stop[r] <= stop[site]:
                continue
            for i in range(reads.cigar_offsets[r], reads.cigar_offsets[r + 1]):
                operation, length, on_reference, _ = run_of(reads.cigar[i])
                if p > stop[site]:
                    break
                if operation == INSERTION and p >= begin[site]:
                    change_here, number = change_here + length, number + 1
                elif operation == DELETION and p + length > begin[site] and p < stop[site]:
                    change_here, number = change_here - length, number + 1
                p += on_reference
            if number == 0:
                shown[pair] = 0
            elif change_here == change[site]:
                shown[pair] = 1
