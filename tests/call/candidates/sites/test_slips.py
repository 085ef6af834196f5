"""Insertions and deletions that are slips of the sequencer are no alleles."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, window_of
from readwarp.call.candidates.pileup import count_window
from readwarp.call.candidates.sites import MAX_SHOWN, MAX_SLIP, MIN_SHOWN
from readwarp.call.candidates.sites.find import drop_slips, find_sites, list_alleles, odds_against_slips, slip_rates
from readwarp.call.reads.gap_models import HIFI, NANOPORE
from readwarp.call.reads.sides import SURE, split_sides
from readwarp.config import CallParameters
from readwarp.ragged import replace, take

P = CallParameters()
REFERENCE = "GCATC" + "A" * 8 + "CGTGT"
BEGIN = 5


def read(gap: int, base: str = "C") -> Read:
    """A read of the reference with so many As more or less, and a base before them."""
    start, end = REFERENCE[: BEGIN - 1] + base, REFERENCE[BEGIN + 8 :]
    bases = start + "A" * (8 + gap) + end
    cigar = {0: f"{len(bases)}M"}.get(gap, f"5M{abs(gap)}{'DI'[gap > 0]}{len(bases) - 5 - max(gap, 0)}M")
    return Read(0, cigar, bases, (20,) * len(bases))


def kept(first: list[int], second: list[int], either: list[int] = [], ploidy: int = 2) -> list[tuple[int, int]]:  # noqa: B006
    """Deleted and inserted bases of the alleles that stay. Of each side, the gaps of its reads."""
    gaps = [*first, *second, *either]
    odds = np.array([3.0] * len(first) + [-3.0] * len(second) + [0.0] * len(either))
    reads, window = aligned_reads([read(gap) for gap in gaps]), window_of(REFERENCE)
    sites = find_sites(count_window(reads, window, P), window, P)
    sided = [count_window(take(reads, "reads", rows), window, P) for rows in split_sides(odds)]
    copies = np.full((len(REFERENCE), 1), ploidy, np.int8)
    found = drop_slips(sites, window, [sided], copies, NANOPORE)
    assert (np.diff(found.allele_offsets) > 1).all() and (found.begin == BEGIN).all()
    return [(gone, len(bases)) for _, gone, bases in list_alleles(found) if gone or bases]


def test_slips_of_both_haplotypes_are_none():
    slips = [-1] * 2 + [0] * 10
    assert kept(slips, slips) == [] and kept([], [], slips * 2) == []


def test_an_allele_is_of_one_haplotype_or_of_both():
    carrier, other = [-1] * 10 + [0] * 2, [0] * 11 + [-1]
    for sides in ((carrier, other), (other, carrier), (carrier, carrier), ([], [], carrier + other)):
        assert kept(*sides) == [(1, 0)], sides


def test_a_slip_more_does_not_hide_an_allele():
    """Both haplotypes differ, by one A and by two; a few slips are another A away."""
    assert sorted(kept([-1] * 11 + [-2], [2] * 9 + [1] * 3)) == [(0, 2), (1, 0)]


def test_as_many_reads_as_one_copy_of_four_has():
    shown = [-3] * 6 + [0] * 18
    assert kept(shown, [], ploidy=2) == kept([], [], shown, ploidy=4) == [(3, 0)]
    assert kept([], [], [-1] * 6 + [0] * 18, ploidy=2) == []


def test_alleles_asked_for_stay_and_substitutions_do():
    reads, window = aligned_reads([read(0, "G"), read(-1, "G"), *[read(0)] * 5]), window_of(REFERENCE)
    p = CallParameters(min_alternate_count=1)
    pileup = count_window(reads, window, p)
    sites = find_sites(pileup, window, p)
    assert sites.is_indel.tolist() == [False, True]  # in order of position as VCF has it
    copies, none = np.full((len(REFERENCE), 1), 2, np.int8), count_window(take(reads, "reads", slice(0, 0)), window, p)
    fewer = drop_slips(sites, window, [[none, none, pileup]], copies, NANOPORE)
    assert fewer.is_indel.tolist() == [False] and fewer.begin.tolist() == [BEGIN - 1]
    forced = replace(sites, is_forced=np.arange(sites.deleted.size) == sites.deleted.size - 1)
    again = drop_slips(forced, window, [[none, none, pileup]], copies, NANOPORE)
    assert list_alleles(again) == list_alleles(sites) and again.stop.tolist() == sites.stop.tolist()
    assert len(drop_slips(fewer, window, [[none, none, pileup]], copies, NANOPORE)) == 1


def test_any_sample_keeps_an_allele():
    window = window_of(REFERENCE)
    own = [aligned_reads([read(gap) for gap in gaps]) for gaps in ([-1] * 2 + [0] * 10, [-1] * 11)]
    every = aligned_reads([read(gap) for gap in [-1] * 13 + [0] * 10])
    sites = find_sites(count_window(every, window, P), window, P)
    none = count_window(take(every, "reads", slice(0, 0)), window, P)
    sided = [[none, none, count_window(reads, window, P)] for reads in own]
    copies = np.full((len(REFERENCE), 2), 2, np.int8)
    assert len(drop_slips(sites, window, sided, copies, NANOPORE)) == 1
    assert len(drop_slips(sites, window, sided[:1], copies[:, :1], NANOPORE)) == 0


def test_rates_are_those_of_the_model():
    window = window_of(REFERENCE)
    one, two, more = (BEGIN, 1, b""), (BEGIN, 2, b""), (BEGIN, 0, b"\x00")
    alone, repeat = (2, 1, b""), (14, 2, b"")
    for model in (HIFI, NANOPORE):
        variants = alone, one, two, more, repeat
        rate = dict(zip(variants, slip_rates(variants, window, model), strict=True))
        first, slope, lowest = model.slips[0]
        slip = max(lowest, first - slope * (8 - model.repeats))
        expected = 10 ** (-0.1 * slip) / (1 - 10 ** (-0.1 * model.extensions[0]))
        assert rate[one] == rate[more] == pytest.approx(min(MAX_SLIP, expected), rel=0.15)
        assert rate[two] == pytest.approx(rate[one] * 10 ** (-0.1 * model.extensions[0]), rel=1e-9)
        assert rate[alone] == pytest.approx(10 ** (-0.1 * model.opening))
        assert rate[repeat] == pytest.approx(3 * 10 ** (-0.1 * (model.opening + model.extension)))  # no tract


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=3), st.floats(0.001, MAX_SLIP))
@settings(max_examples=60)
def test_odds_are_those_of_the_reads_one_by_one(counts, slip):
    number, depth = np.array(counts).T.copy()
    depth += number
    best = -math.inf
    for w in ((1, 0, 0.5), (0, 1, 0.5), (1, 1, 1), (0.5, 0.5, 0.5)):
        carriers = sum(share * n for share, n in zip(w, depth, strict=True))
        own = sum(n for share, n in zip(w, number, strict=True) if share)
        s, total = min(MAX_SHOWN, max(MIN_SHOWN, own / max(1, carriers))), 0.0
        for share, n, reads in zip(w, number, depth, strict=True):
            shows = share * s + (1 - share) * slip
            for k in range(reads):
                total += math.log10(shows / slip) if k < n else math.log10((1 - shows) / (1 - slip))
        best = max(best, total)
    found = odds_against_slips(number[:, None], depth[:, None], np.array([0.5]), np.array([slip]))
    assert found[0] == pytest.approx(best, abs=1e-9)


def test_reads_are_of_a_side_if_that_is_sure():
    odds = np.array([SURE, -SURE, 0.9 * SURE, -3.0, 0.0, 3.0])
    assert [rows.tolist() for rows in split_sides(odds)] == [[0, 5], [1, 3], [2, 4]]
