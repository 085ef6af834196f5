"""Insertions put together from reads."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import codes, random_sequence
from readwarp.call.candidates.regions.clips import END, assemble, find_overlap, pair_ends


def pieces(bases: str, length: int, step: int) -> list[bytes]:
    return [codes(bases[at : at + length]).tobytes() for at in range(0, len(bases) - length + 1, step)]


@settings(max_examples=40)
@given(st.integers(60, 300), st.integers(50, 120), st.integers(0, 1000))
def test_reads_that_cover_an_insertion_spell_it(size, length, seed):
    inserted = random_sequence(size, seed=seed)
    reads = pieces(
        random_sequence(length, seed=seed + 1) + inserted + random_sequence(length, seed=seed + 2), length, 5
    )
    ends = codes(inserted[:END]).tobytes(), codes(inserted[-END:]).tobytes()
    assert assemble(*ends, reads) == codes(inserted).tobytes()
    rng = random.Random(seed)
    for i, read in enumerate(reads):  # an error in each read
        at = rng.randrange(length)
        reads[i] = read[:at] + bytes([(read[at] + 1) % 4]) + read[at + 1 :]
    assert assemble(*ends, reads) in (codes(inserted).tobytes(), None)


def test_what_reads_do_not_tell_is_not_guessed():
    inserted = random_sequence(200, seed=4)
    ends = codes(inserted[:END]).tobytes(), codes(inserted[-END:]).tobytes()
    reads = pieces(inserted, 60, 5)
    assert assemble(*ends, reads) is not None
    assert assemble(*ends, []) is None
    assert assemble(*ends, reads[:10] + reads[-10:]) is None  # a gap between them
    assert assemble(*ends, reads[::12]) is None  # one read at a time
    other = pieces(inserted[:100] + random_sequence(100, seed=5), 60, 5)
    assert assemble(*ends, reads + other) is None  # two sequences, as often
    assert (
        assemble(codes(random_sequence(400, seed=6)).tobytes(), ends[1], pieces(random_sequence(400, seed=6), 60, 5))
        is None
    )


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("AAAA" + "ACGTACGGTCATTGCA", "ACGTACGGTCATTGCA" + "TTTT", (4, 16)),
        ("AAAA" + "CGTACGGTCATTGCA", "CGTACGGTCATTGCA" + "TTTT", (0, 0)),  # 15 bases
        ("AAAA" + "ACGTACGGTGATTGCA", "ACGTACGGTCATTGCA" + "TTTT", (4, 16)),  # a difference
        ("AAAA" + "ACGAACGGTGATTGCA", "ACGTACGGTCATTGCA" + "TTTT", (0, 0)),  # two
        ("AAAA" + "ACGTACGGTCATTGCATCC" + "GGGG", "ACGTACGGTCATTGCATCC", (4, 19)),  # within
    ],
)
def test_overlaps(left, right, expected):
    assert find_overlap(codes(left).tobytes(), codes(right).tobytes()) == expected


def test_ends_are_paired_once_and_nearest_first():
    assert list(pair_ends([100, 130], [128, 400])) == [(130, 128)]
    assert list(pair_ends([100, 130], [128, 99])) == [(100, 99), (130, 128)]
    assert list(pair_ends([], [5])) == []
    assert list(pair_ends([100], [151])) == []
