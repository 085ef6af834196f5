"""Insertions and deletions in alignments."""

import numpy as np
import pytest

from helpers.making import Read, aligned_reads, codes, window_of
from readwarp.call.candidates.sites.find import sites_of
from readwarp.call.likelihoods.evidence import NOTHING
from readwarp.call.likelihoods.phase.links import find_linking, show_gaps, weigh_gaps
from readwarp.call.reads.gap_models import HIFI

REFERENCE = "ACGTCAGGTTTCACGATCAGTTACGCATTAGC"


@pytest.mark.parametrize(
    ("cigar", "shown"),
    [
        ("20M", 0),
        ("4M2D14M", 1),
        ("5M2D13M", 1),  # further right in the tract [9, 13)
        ("4M1D1M1D14M", 1),
        ("4M1D15M", NOTHING),
        ("4M2I14M", NOTHING),
        ("4M6D14M", NOTHING),
        ("12M2D6M", 0),  # behind it
        ("8M", NOTHING),  # does not reach beyond it
        ("4S4M2D10M", 1),
    ],
)
def test_the_length_of_the_tract_counts(cigar, shown):
    size = sum(int(n) for n, o in Read(5, cigar, "", ()).operations if o in "MIS")
    reads = aligned_reads([Read(5, cigar, "A" * size, (30,) * size)])
    offsets, read, found = show_gaps(reads, np.array([9]), np.array([13]), np.array([-2]))
    assert offsets.tolist() == [0, 1] and read.tolist() == [0] and found.tolist() == [shown]


def test_reads_of_two_alleles():
    window = window_of(REFERENCE)
    sites = sites_of([(14, True, [(0, b""), (0, codes("GG").tobytes())])], window)
    text = REFERENCE[:14] + "GG" + REFERENCE[14:]
    reads = [Read(0, "30M", REFERENCE[:30], (30,) * 30, name="a"), Read(0, "14M2I18M", text, (30,) * 34, 16, name="b")]
    out = weigh_gaps(aligned_reads(reads), sites)
    assert out.allele.tolist() == [0, 1] and out.strand.tolist() == [0, 1]
    odds = out.values[1::2] - out.values[::2]
    assert odds[0] == -odds[1] < -2


def test_what_slips_links_nothing():
    """A base less in a run of ten, and one of two alleles."""
    reference = REFERENCE + "A" * 10 + REFERENCE
    rows = [(33, True, [(0, b""), (1, b"")]), (50, True, [(0, b""), (1, b"")])]
    rows += [(60, True, [(0, b""), (1, b""), (2, b"")]), (20, False, [(1, b"\x03"), (1, b"\x00")])]
    bases, gaps = find_linking(sites_of(rows, window_of(reference)), window_of(reference), HIFI)
    assert bases.begin.tolist() == [20] and gaps.begin.tolist() == [50]
