"""Check that base qualities are present, and match the error rate.

At sites without a variant a base that differs from the reference is an error (or, rarely, misplaced). So the share of
such bases should match the qualities. It is measured on one read in SHARE, by the hash of its name, at positions of at
least MIN_DEPTH bases where fewer than two, or fewer than RARE, differ from the reference: others may be variants. Only
bases of quality SURE or more count, since a few bad bases would mask errors in good ones.
"""

import math

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Pileup
from readwarp.call.places.bases import Window
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.common.qualities import MISSING
from readwarp.metrics import Metrics
from readwarp.rules.cigar import is_match, run_of

SHARE = 64
MIN_DEPTH, RARE = 8, 0.1
SURE = 20  # Phred
FAR = 5.0  # factor of errors over those predicted by quality: 7 Phred
ENOUGH = 100  # errors
CHANCES = np.rint(10.0 ** (6 - 0.1 * np.arange(256))).astype(np.int64)  # errors in a million bases, by quality
CHECKED, ERRORS, EXPECTED = "bases_checked", "bases_checked_that_differ", "bases_checked_expected_to_differ_x1e6"


def check_qualities(reads: AlignedReads, pileup: Pileup, window: Window, is_inside: ndarray, metrics: Metrics) -> None:
    """Count bases and errors of the window. reads: trimmed to evidence. is_inside: bool [bases]."""
    rows = np.flatnonzero(reads.name_hash % np.uint64(SHARE) == 0)
    number, errors = out = np.zeros((2, 256), np.int64)
    if rows.size:
        bases = window.bases[window.start - window.first :][: is_inside.size]
        own = pileup.counts[window.start - pileup.start :][: is_inside.size]
        compare_bases(reads, rows, window.start, bases, own, is_inside, MIN_DEPTH, out)
    metrics.count(CHECKED, int(number[SURE:MISSING].sum()))
    metrics.count(ERRORS, int(errors[SURE:MISSING].sum()))
    metrics.count(EXPECTED, int((CHANCES * number)[SURE:MISSING].sum()))


@kernel
def compare_bases(reads, rows, start, reference, counts, is_inside, min_depth, out):
    """Compare the bases of these reads with the reference, where it is inside.

    reference: from `start` on. counts: of the pileup (symbols and strands), at the reference's positions. out: int64
    [2, 256], to which bases and errors are added by quality.
    """
    for i in range(rows.size):
        read = rows[i]
        p, q = reads.position[read] - start, reads.read_offsets[read]
        for j in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
            operation, length, on_reference, on_read = run_of(reads.cigar[j])
            if is_match(operation):
                for k in range(max(0, -p), min(length, reference.size - p)):
                    w, base = p + k, reads.bases[q + k]
                    if is_inside[w] and base < 4 and reference[w] < 4 and is_plain(counts, w, reference[w], min_depth):
                        out[0, reads.qualities[q + k]] += 1
                        out[1, reads.qualities[q + k]] += base != reference[w]
            p, q = p + on_reference, q + on_read


@kernel
def is_plain(counts, w, base, min_depth):
    """Return whether a variant is unlikely at position w, where the reference has this base."""
    depth = counts[w].sum()
    others = depth - counts[w, base, 0] - counts[w, base, 1]
    return depth >= min_depth and (others < 2 or others < RARE * depth)


def explain_qualities(counts: dict[str, int]) -> str | None:
    """Return a warning if the counts of a whole job show qualities that promise too much, else None."""
    bases, errors, expected = (counts.get(name, 0) for name in (CHECKED, ERRORS, EXPECTED))
    if errors < ENOUGH or 1e6 * errors < FAR * expected:
        return None
    said, seen = (round(-10 * math.log10(max(1e-9, share / bases))) for share in (expected / 1e6, errors))
    return (
        f"base qualities promise too much: those of Q{SURE} and more say Q{said} on average, but at sites without a"
        f" variant 1 such base in {bases // errors:,} differs from the reference (Q{seen}; {errors:,} of {bases:,})."
        " QUAL and GQ are too high: recalibrate the qualities"
    )
