"""Which strands count for strand bias."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, window_of
from helpers.making_sites import made_likelihoods
from readwarp.call.likelihoods.evidence import DEPENDENT, NOTHING, count_ends_once, ends_of, strand_at
from readwarp.call.reads.mates.join import join_mates
from readwarp.call.reads.mates.primers import NO_PRIMERS
from readwarp.ragged import replace

REFERENCE = "".join("ACGT"[i * i * 7 % 11 % 4] + "GATC"[i % 3] for i in range(100))


@pytest.mark.parametrize(("flags", "first"), [((99, 147), 0), ((163, 83), 1)])
def test_a_base_that_both_mates_show_is_on_the_strand_of_the_first(flags, first):
    reads = [
        Read(low, "60M", REFERENCE[low : low + 60], (30,) * 60, flag) for low, flag in zip((20, 50), flags, strict=True)
    ]
    joined, _ = join_mates(aligned_reads(reads), window_of(REFERENCE), NO_PRIMERS, False)
    both = DEPENDENT | first
    assert [strand_at(joined.shared, joined.flag, 0, k) for k in (0, 29, 30, 59, 60, 89)] == [0, 0, both, both, 1, 1]
    apart = aligned_reads(reads)
    assert [strand_at(apart.shared, apart.flag, read, k) for read in (0, 1) for k in (0, 59)] == [0, 0, 1, 1]


def test_ends_are_where_the_fragment_begins():
    reads = aligned_reads([Read(10, "5S20M3S", "A" * 28, (30,) * 28), Read(40, "2H20M", "A" * 20, (30,) * 20)])
    assert ends_of(reads).tolist() == [[5, 40], [33, 60]]
    assert ends_of(replace(reads, hidden=np.array([[1, 2], [3, 4]], np.int32))).tolist() == [[4, 37], [35, 64]]
    assert ends_of(aligned_reads([])).shape == (2, 0)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 1), st.integers(0, 3)), max_size=40), st.integers(1, 2))
def test_the_first_of_each_end_allele_and_strand_counts(rows, sites):
    reads = aligned_reads([Read(i, "10M", "A" * 10, (30,) * 10) for i in range(4)])
    table, shown = [[[0.0, 0.0]] * len(rows)] * sites, [[row[1] for row in rows]] * sites
    given_ = made_likelihoods(table, shown, strand=[row[2] for row in rows] * sites)
    given_ = replace(given_, read=np.array([row[0] for row in rows] * sites, np.int32))
    count_ends_once(reads, given_)
    expected, seen = [], set()
    for row in rows:
        counts = row[1] >= 0 and row[2] < DEPENDENT
        expected.append(row[2] | DEPENDENT if counts and row in seen else row[2])
        seen.add(row)
    assert given_.strand.tolist() == expected * sites and NOTHING < 0
