"""Calls across the origin, cut into two records."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from readwarp.call.reads.mates.primers import NONE, primers_of, repeat_primers
from readwarp.call.records.axis import join_likelihoods, split, split_allele
from readwarp.call.records.genotypes.order import genotypes_of

HOME = 1000  # the origin


@given(st.text("ACGT", min_size=2, max_size=9), st.text("ACGT", max_size=9), st.data())
def test_both_parts_of_an_allele_make_it(reference, rest, data):
    size = data.draw(st.integers(1, len(reference) - 1))
    allele = data.draw(st.sampled_from((reference[0] + rest, reference[:size] + rest, reference[0] + reference[size:])))
    before, after = split_allele(reference, allele, size)
    assert before + after == allele
    assert split_allele(reference, reference, size) == (reference[:size], reference[size:])
    if len(allele) > len(reference) and allele.endswith(reference[1:]):
        assert after == reference[size:]  # inserted bases are before the origin


def letters(start: int, stop: int) -> str:
    return "ACGTACGTACGTACGTACGT"[start - HOME + 4 : stop - HOME + 4]


def test_the_parts_of_calls():
    """REF is ACGT before the origin and ACGTA after it."""
    reference, first = letters(HOME - 4, HOME + 5), HOME - 4
    cases = {
        ("A",): [(first, ("ACGT", "A"), (0, 1)), (HOME, ("ACGTAC", "C"), (0, 1))],
        ("AGTACGTA", "A"): [(first, ("ACGT", "AGT", "A"), (0, 1, 2)), (HOME, ("ACGTAC", "C"), (0, 0, 1))],
        ("AGTA", "A"): [(first, ("ACGT", "A"), (0, 1, 1)), (HOME, ("ACGTAC", "GTAC", "C"), (0, 1, 2))],
        ("A", "<NON_REF>"): [
            (first, ("ACGT", "A", "<NON_REF>"), (0, 1, 2)),
            (HOME, ("ACGTAC", "C", "<NON_REF>"), (0, 1, 2)),
        ],
        ("ATTA",): [(first, ("ACGT", "AT"), (0, 1)), (HOME, ("ACGTA", "TA"), (0, 1))],
        ("ACGAACGTA",): [(first, ("ACGT", "ACGA"), (0, 1))],
        ("ACGACCGTA",): [(first, ("ACGT", "ACGA"), (0, 1)), (HOME, ("ACGTA", "CCGTA"), (0, 1))],
    }
    for alleles, parts in cases.items():
        assert list(split(first, (reference, *alleles), HOME, letters)) == parts
    only_after = list(split(HOME - 1, ("TACG", "T"), HOME, letters))
    assert only_after == [(HOME, ("ACGT", "T"), (0, 1))]  # the base before the origin stays


@given(st.integers(2, 4), st.integers(1, 3), st.data())
def test_likelihoods_of_joined_alleles_are_the_least(alleles, copies, data):
    number = (0, *(data.draw(st.integers(0, 1)) for _ in range(alleles - 1)))
    old = genotypes_of(alleles, copies)
    phred = tuple(data.draw(st.lists(st.integers(0, 99), min_size=len(old), max_size=len(old))))
    out = join_likelihoods(phred, number, copies)
    for genotype, value in zip(genotypes_of(max(number) + 1, copies), out, strict=True):
        same = [p for g, p in zip(old, phred, strict=True) if tuple(sorted(number[a] for a in g)) == genotype]
        assert value == min(same)


def test_an_amplicon_across_the_origin_has_its_partner_on_the_next_copy():
    """The forward primer of `b` is the later one."""
    rows = [
        (10, 30, True, "b"),
        (50, 70, False, "a"),
        (200, 220, True, "a"),
        (900, 920, False, "b"),
        (950, 970, True, ""),
    ]
    own, origins = primers_of(rows), np.array([-1000, 0, 1000])
    out = repeat_primers(own, origins)
    assert out.start.tolist() == [start + origin for origin in origins for start, *_ in rows]
    pairs = {(int(out.start[i]), int(out.start[k])) for i, k in enumerate(out.partner) if k != NONE}
    forward = {(-950, -800), (50, 200), (1050, 1200), (-100, 10), (900, 1010)}
    assert pairs == forward | {(b, a) for a, b in forward}
    assert (np.diff(out.start) > 0).all()
