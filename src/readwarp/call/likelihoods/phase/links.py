"""Link the heterozygous sites of a window through its reads, for the phase of a contig. See the step's contract.

Indels are weighed one by one, in the alignments of long reads.
"""

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.candidates.sites.find import list_alleles, slip_rates
from readwarp.call.likelihoods.alleles.reach import changes_of
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import FAR, LOG10_3, NOTHING, OTHER, new_likelihoods
from readwarp.call.likelihoods.phase import GAP_QUALITY, MAX_ODDS, MIN_QUALITY
from readwarp.call.places.bases import Window
from readwarp.call.reads.clips import reads_across
from readwarp.call.reads.gap_models import GapModel
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.variants.calls import Calls
from readwarp.ragged import concatenate, empty, offsets_of, ranges, take
from readwarp.rules.cigar import DELETION, INSERTION, run_of

FITS, MISFITS = math.log10(1 - 10 ** (-0.1 * GAP_QUALITY)), -0.1 * GAP_QUALITY - LOG10_3
GAP_ODDS = FITS - MISFITS
HETEROZYGOUS = (0, 1)


def find_linking(sites: Sites, window: Window, model: GapModel) -> tuple[Sites, Sites]:
    """Find the substitutions and the indels that are rarely slips of the sequencer, among sites of one other allele."""
    sites = take(sites, "sites", np.diff(sites.allele_offsets) == 2)
    gaps = take(sites, "sites", sites.is_indel)
    is_rare = slip_rates(list_alleles(gaps)[1::2], window, model) <= 10 ** (-0.1 * GAP_QUALITY)
    return take(sites, "sites", ~sites.is_indel), take(gaps, "sites", is_rare)


def weigh_gaps(reads: AlignedReads, sites: Sites) -> Likelihoods:
    """Weigh the alleles of indels with one other allele each."""
    offsets, read, shown = show_gaps(reads, sites.begin, sites.stop, changes_of(sites)[1::2])
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


class Links(NamedTuple):
    """Heterozygous sites of one contig, by position and sample, and the odds of reads at them."""

    position: Annotated[ndarray, "int64 [sites]"]  # 0-based in the contig, see Sites
    sample: Annotated[ndarray, "uint16 [sites]"]
    reference: Annotated[ndarray, "uint8 [sites]"]  # base of a substitution, 0-3
    alternate: Annotated[ndarray, "uint8 [sites]"]
    change: Annotated[ndarray, "int64 [sites]"]  # bases that an insertion adds; negative: that a deletion removes
    stop: Annotated[ndarray, "int64 [sites]"]  # see Sites
    pair_offsets: Annotated[ndarray, "int64 [sites + 1] of pairs"]
    name_hash: Annotated[ndarray, "uint64 [pairs]"]
    odds: Annotated[ndarray, "float64 [pairs]"]  # log10 P(read | ALT) / P(read | REF)


class Phasing(NamedTuple):
    """Haplotypes of one contig; a read's odds are log10 of how much likelier it is of the first one."""

    position: Annotated[ndarray, "int64 [sites]"]  # 0-based in the contig; see Links for this and the next five
    sample: Annotated[ndarray, "uint16 [sites]"]
    reference: Annotated[ndarray, "uint8 [sites]"]
    alternate: Annotated[ndarray, "uint8 [sites]"]
    change: Annotated[ndarray, "int64 [sites]"]
    stop: Annotated[ndarray, "int64 [sites]"]
    side: Annotated[ndarray, "int8 [sites]"]  # 1: ALT is on the first haplotype; -1: on the second
    name_hash: Annotated[ndarray, "uint64 [reads]"]  # ascending for each sample
    read_sample: Annotated[ndarray, "uint16 [reads]"]  # ascending
    odds: Annotated[ndarray, "float64 [reads]"]
    phase_set: Annotated[ndarray, "int64 [reads]"]  # position of its first site; -1: none


def link_sites(reads: AlignedReads, sites: Sites, calls: Calls, evidence: Likelihoods) -> Links:
    """Link sites with one ALT allele each, all substitutions or none; `calls` and `evidence` are theirs."""
    site = np.searchsorted(sites.position, calls.position)
    first = np.append(sites.inserted, np.uint8(0))[sites.inserted_offsets[:-1]] * ~sites.is_indel.repeat(2)
    parts = [no_links()]
    for sample in range(calls.depth.shape[1]):
        chosen = [row for row in range(len(calls)) if _is_heterozygous(calls, row, sample)]
        own = site[chosen]
        pairs = ranges(evidence.pair_offsets, own)
        group = np.repeat(np.arange(own.size), np.diff(evidence.pair_offsets)[own])
        speaks = (evidence.sample[pairs] == sample) & (evidence.allele[pairs] > OTHER)
        pairs, group = pairs[speaks], group[speaks]
        parts.append(
            Links(
                position=sites.position[own],
                sample=np.full(own.size, sample, np.uint16),
                reference=first[2 * own],
                alternate=first[2 * own + 1],
                change=changes_of(sites)[1::2][own],
                stop=sites.stop[own],
                pair_offsets=offsets_of(np.bincount(group, minlength=own.size)),
                name_hash=reads.name_hash[evidence.read[pairs]],
                odds=log_odds(evidence)[pairs],
            )
        )
    return join_links(parts)


def _is_heterozygous(calls: Calls, row: int, sample: int) -> bool:
    genotype = tuple(sorted(calls.genotype[row][sample]))
    is_sure = calls.genotype_quality[row, sample] >= MIN_QUALITY and calls.filters[row] == ()
    return bool(is_sure and genotype == HETEROZYGOUS and len(calls.alleles[row]) == 2)


def log_odds(evidence: Likelihoods) -> np.ndarray:
    """Return the log odds of ALT against REF, float64 [pairs], of sites with two alleles."""
    odds = evidence.values[1::2] - evidence.values[::2]
    return np.where(evidence.allele == NOTHING, 0.0, np.clip(odds, -MAX_ODDS, MAX_ODDS))


def join_links(parts: Sequence[Links]) -> Links:
    """Join links, sorted by position, then sample."""
    links = concatenate(parts, "sites")
    return take(links, "sites", np.lexsort((links.sample, links.position)))


def no_links() -> Links:
    return empty(Links, {"sites": 0, "pairs": 0}, pair_offsets=np.zeros(1, np.int64))
