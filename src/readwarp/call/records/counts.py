"""Count a window for the metrics, and warn of counts: neighbouring windows see the same reads, each counts its own."""

import logging
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from readwarp.call.candidates.batches import Pileup
from readwarp.call.candidates.pileup import MAX_INDEL
from readwarp.call.candidates.qualities import explain_qualities
from readwarp.call.likelihoods.alleles.compare import WeighedReads
from readwarp.call.places.targets import TargetStretch
from readwarp.call.reads.depth import DepthLimit
from readwarp.call.reads.mates.join import Removed
from readwarp.call.records.limits import ALLELES, Limited
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.common.qualities import MISSING
from readwarp.metrics import Metrics
from readwarp.rules.cigar import DELETION, INSERTION
from readwarp.rules.statuses import Status
from readwarp.wording import counted

logger = logging.getLogger("readwarp")
WARNINGS = {  # counter -> noun and the rest of a warning
    "comparisons_on_host": ("comparison", "of reads with haplotypes too large for the GPU's memory: made on the CPU"),
    "reads_beyond_max_depth": ("read", "left out where the depth exceeds --max-depth"),
    "regions_thinned": ("region", "with too many reads of a sample to compare with haplotypes: some were left out"),
    "regions_short_of_haplotypes": ("region", "with too many haplotypes in a sample: some were left out"),
    "regions_cut": ("region", "too long and split: variants are not phased across the cuts"),
    "alleles_left_out": ("allele", "left out at sites with too many"),
    "reads_without_qualities": ("read", "without base qualities: Q20 is assumed"),
}
LEAST_PRIMED = 0.25  # share of reads at a primer: nearly all are; by chance, 0.1 where amplicons tile a genome


def count_reads(metrics: Metrics, reads: AlignedReads, limit: DepthLimit, window: TargetStretch) -> None:
    """Count the reads that begin in the window, and those that were left out."""
    for name, positions in (
        ("reads_used", reads.position),
        ("reads_beyond_max_depth", limit.lost),
        ("reads_without_sample", reads.unassigned),
        ("reads_without_qualities", reads.position[reads.qualities[reads.read_offsets[:-1]] == MISSING]),
        ("indels_too_long", find_long_indels(reads)),
    ):
        metrics.count(name, lie_within(positions, window).sum())
    metrics.count("bases_counted", 0)


def count_bases(metrics: Metrics, pileup: Pileup, window: TargetStretch) -> None:
    """Count the bases of reads in the window."""
    counts, inside = pileup.counts[window.start - pileup.start : window.stop - pileup.start], window.mask()
    metrics.count("bases_counted", (counts if inside.all() else counts[inside]).sum())


def count_left_out(metrics: Metrics, limited: Iterable[Limited], window: TargetStretch) -> None:
    """Count the alleles that were left out in the window."""
    for places in (limit.start for limit in limited if limit.name == ALLELES):
        metrics.count("alleles_left_out", lie_within(places, window).sum())


def count_removed(metrics: Metrics, removed: Removed, window: TargetStretch, has_primers: bool) -> None:
    """Count the bases without evidence of reads that begin in the window. has_primers: whether its contig has any."""
    own = lie_within(removed.position, window)
    metrics.count("reads_joined_to_mates", removed.is_joined[own].sum())
    metrics.count("bases_beyond_mates", removed.beyond[own].sum())
    metrics.count("bases_of_primers", removed.hidden[own].sum())
    if has_primers:
        metrics.count("reads_at_primers", removed.is_primed[own].sum())
        metrics.count("reads_beside_primers", (~removed.is_primed[own]).sum())


def count_regions(metrics: Metrics, weighed: WeighedReads, window: TargetStretch) -> None:
    """Count the regions that begin in the window's targets; neighbouring windows see some of them too."""
    regions, count = weighed.regions, metrics.count
    own = lie_within(regions.start, window)
    for name, chosen in (
        ("regions", own),
        ("regions_thinned", own & (regions.status == Status.CAPACITY)),
        ("regions_cut", own & (regions.status == Status.TOO_LONG)),
        ("regions_short_of_haplotypes", own & (weighed.haplotypes.status != Status.OK)),
    ):
        count(name, np.unique(regions.place[chosen]).size)


def count_pairs(metrics: Metrics, weighed: WeighedReads, window: TargetStretch) -> None:
    """Count the pairs that were compared in these regions."""
    own, count = lie_within(weighed.regions.start, window), metrics.count
    count("haplotypes", np.diff(weighed.haplotypes.haplotype_offsets)[own].sum())
    count("pairhmm_cells", weighed.cells[own].sum())
    count("pairhmm_pairs", np.diff(weighed.pair_offsets)[own].sum())
    count("pairhmm_pairs_off_card", weighed.pairs_with(Status.TOO_LONG)[own].sum())
    count("pairhmm_pairs_in_logarithms", weighed.pairs_with(Status.OVERFLOW)[own].sum())


def find_long_indels(reads: AlignedReads) -> np.ndarray:
    """Return the positions of reads with indels beyond MAX_INDEL, once for each of these (int64)."""
    is_long = np.isin(reads.cigar & 15, (INSERTION, DELETION)) & (reads.cigar >> 4 > MAX_INDEL)
    return reads.position[np.searchsorted(reads.cigar_offsets, np.flatnonzero(is_long), side="right") - 1]


def lie_within(position: np.ndarray, window: TargetStretch) -> np.ndarray:
    """Return which positions lie in the window's targets (bool [n])."""
    own = (position >= window.start) & (position < window.stop)
    own[own] = window.mask()[position[own] - window.start]
    return own


def warn_of_limits(primers: Path | None, metrics: Metrics) -> None:
    """Warn of what a run left out. primers: the file."""
    for name, (noun, text) in WARNINGS.items():
        if number := metrics.counts.get(name):
            logger.warning("%s %s", counted(number, noun), text)
    at, beside = (metrics.counts.get(f"reads_{where}_primers", 0) for where in ("at", "beside"))
    if at < LEAST_PRIMED * (at + beside):
        text = "%s: only %.0f %% of reads begin at a primer: does the scheme belong to this library?"
        logger.warning(text, primers, 100 * at / (at + beside))
    if promise := explain_qualities(metrics.counts):
        logger.warning("%s", promise)
