"""Measure the depth around a call (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Pileup
from readwarp.call.places.targets import STEP

REACH = 800  # bases on either side; with `steps.CALL_MARGIN` within `steps.MARGIN`
LEAST_SHARE = 0.5  # share of the call's depth: lower places, such as those beside a target, are not comparable


class Depths(NamedTuple):
    """Reads of each sample across every STEP-th position of a window."""

    start: int  # first place, 0-based in the contig
    depth: Annotated[ndarray, "int32 [samples, places]"]


class PairSides(NamedTuple):
    """Haplotypes of the reads of sites: see `readwarp.call.likelihoods.phase`."""

    odds: Annotated[ndarray, "float64 [pairs]"]  # log10 for the first haplotype, without the site's own evidence ...
    whole: Annotated[ndarray, "float64 [pairs]"]  # ... and with it
    phase_set: Annotated[ndarray, "int64 [sites, samples]"]  # 0-based; -1: none


class SitePriors(NamedTuple):
    """Facts known of the samples at sites beyond the reads there."""

    ploidy: Annotated[ndarray, "int8 [sites, samples]"]
    depths: Depths | None = None  # None: unknown
    sides: PairSides | None = None  # None: unknown


def first_place(start: int) -> int:
    """Return the first position from `start` on at which depth is recorded."""
    return -(-start // STEP) * STEP


def note_depth(pileup: Pileup) -> ndarray:
    """Return one sample's row of Depths (int32 [places])."""
    depth: ndarray = pileup.counts[first_place(pileup.start) - pileup.start :: STEP].sum(axis=(1, 2), dtype=np.int32)
    return depth


def find_typical_depth(depths: Depths, position: int, own: ndarray) -> ndarray:
    """Return the median depth within REACH of a call (float64 [samples]), whose `own` depth is int32 [samples].

    Only places with at least LEAST_SHARE of the call's depth count, so within an exon or amplicon it is the target's
    depth. Without any such place it is the call's own.
    """
    low = max(0, first_place(position - REACH) - depths.start) // STEP
    high = max(0, first_place(position + REACH + 1) - depths.start) // STEP
    around = depths.depth[:, low:high]
    out = own.astype(np.float64)
    for sample in np.flatnonzero(own).tolist():
        comparable = around[sample][around[sample] >= LEAST_SHARE * own[sample]]
        if comparable.size:
            out[sample] = np.median(comparable)
    return out
