"""Reads of each record, counted slowly."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads
from helpers.making_sites import made_likelihoods, substitutions
from readwarp.somatic.fractions.annotations import VALUES, TalliedAlleles, orientations_of, tally

SAMPLES = 2


def lower_median(values: list[int]) -> float:
    return float(sorted(values)[(len(values) - 1) // 2]) if values else float("nan")


@st.composite
def made(draw):
    """(reads of each site as rows, alleles of each site, records, which samples are tumours)"""
    sites = [draw(st.sampled_from(["AC", "ACG", "ACGT"])) for _ in range(draw(st.integers(0, 3)))]
    row = st.tuples(
        st.integers(-2, 3),  # allele
        st.integers(0, SAMPLES - 1),
        st.integers(0, 60),  # base quality
        st.integers(0, 255),  # mapping quality
        st.integers(0, 3),  # strand
        st.integers(0, 1000),  # distance from the end
        st.integers(0, 1),  # orientation
    )
    reads = [
        [(min(allele, len(letters) - 1), *rest) for allele, *rest in draw(st.lists(row, max_size=15))]
        for letters in sites
    ]
    chosen = [(site, a) for site, letters in enumerate(sites) for a in range(1, len(letters)) if draw(st.booleans())]
    return reads, sites, chosen, draw(st.lists(st.booleans(), min_size=SAMPLES, max_size=SAMPLES))


@settings(max_examples=60)
@given(made())
def test_equals_plain_python(given_):
    reads, letters, chosen, tumours = given_
    rows = [row for own in reads for row in own]
    sites = substitutions(*((10 * site, own) for site, own in enumerate(letters)))
    likelihoods = made_likelihoods(
        [[[0.0] * len(own)] * len(site) for own, site in zip(letters, reads, strict=True)],
        [[row[0] for row in site] for site in reads],
        sample=[[row[1] for row in site] for site in reads],
        quality=[row[2] for row in rows],
        mapping_quality=[row[3] for row in rows],
        strand=[row[4] for row in rows],
        end_distance=[row[5] for row in rows],
    )
    records = TalliedAlleles(
        np.array([site for site, _ in chosen], np.int64),
        np.array([sites.allele_offsets[site] + allele for site, allele in chosen], np.int64),
    )
    found = tally(sites, likelihoods, np.array([row[6] for row in rows], np.uint8), records, np.array(tumours))
    for number, (site, other) in enumerate(chosen):
        speaking = [row for row in reads[site] if row[0] != -2]
        assert found.squares[number] == sum(row[3] ** 2 for row in speaking)
        for s in range(SAMPLES):
            assert found.depth[number, s] == sum(row[1] == s for row in speaking)
            for side, allele in enumerate((0, other)):
                own = [row for row in speaking if row[1] == s and row[0] == allele]
                assert found.reads[number, s, side] == len(own)
                for k in range(2):
                    forward = [row for row in own if row[4] & 1 == k]
                    assert found.strands[number, s, side, k] == len(forward)
                    assert found.independent[number, s, side, k] == sum(row[4] < 2 for row in forward)
                    assert found.orientations[number, s, side, k] == sum(row[6] == k for row in own)
        for side, allele in enumerate((0, other)):
            own = [row for row in speaking if tumours[row[1]] and row[0] == allele]
            expected = [lower_median([min(row[k], VALUES - 1) for row in own]) for k in (2, 3, 5)]
            assert np.array_equal(found.medians[number, side], expected, equal_nan=True)


def test_orientation_is_the_strand_of_the_first_read():
    """Both reads of a pair have it; a read without a pair has its own strand."""
    flags = {0x41: 0, 0x51: 1, 0x81: 1, 0x91: 0, 0x01: 1, 0: 0, 0x10: 1}
    assert flags.pop(0x01) == 1  # neither first nor last in its template: counted as last
    reads = aligned_reads([Read(i, "1M", "A", (30,), flag) for i, flag in enumerate(flags)])
    assert orientations_of(reads).tolist() == list(flags.values())
