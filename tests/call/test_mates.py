"""Overlapping mates against a plain-Python oracle."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from making import Read, aligned_reads, reads_of

from readwarp.call.mates import DEFAULT_QUALITY
from readwarp.call.mates.cpu import merge_mates

LENGTH = 40


def oracle(reads: list[Read]) -> list[int]:
    reads = sorted(reads, key=lambda read: read.position)
    qualities = [list(read.qualities) for read in reads]
    for j, second in enumerate(reads):
        for i, first in enumerate(reads[:j]):
            if first.name != second.name:
                continue
            places = {p: q for p, q, o in first.aligned() if o in "M=X"}
            for p, own, operation in second.aligned():
                if operation not in "M=X" or p not in places:
                    continue
                other = places[p]
                sides = [(qualities[i], other), (qualities[j], own)]
                if qualities[j][own] > qualities[i][other]:
                    sides.reverse()
                (better, b), (worse, w) = sides
                if first.bases[other] != second.bases[own]:
                    better[b] -= worse[w]
                worse[w] = 0
    return [q for row in qualities for q in row]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_equals_plain_python(data):
    reads = data.draw(reads_of(LENGTH, most=10, few_bases="AC"))
    # with three records of one name the order of merging counts: the oracle goes by the second record
    names: dict[str, int] = {}
    pairs = []
    for read in reads:
        names[read.name] = names.get(read.name, 0) + 1
        if names[read.name] <= 2:
            pairs.append(read)
    before = aligned_reads(pairs)
    assert merge_mates(before).tolist() == oracle(pairs)


def merged(first, second):
    return merge_mates(aligned_reads([first, second])).tolist()


def test_agreeing_bases_count_once():
    assert merged(Read(0, "3M", "ACG", (30, 20, 25)), Read(1, "3M", "CGT", (20, 30, 10))) == [30, 20, 0, 0, 30, 10]


def test_differing_bases_leave_the_difference():
    assert merged(Read(0, "2M", "AC", (30, 20)), Read(0, "2M", "GT", (20, 20))) == [10, 0, 0, 0]


def test_other_names_are_left_alone():
    assert merged(Read(0, "2M", "AC", (30, 20)), Read(0, "2M", "AC", (20, 20), name="s")) == [30, 20, 20, 20]


def test_a_position_depends_on_its_own_reads_alone():
    """Long overlaps are merged block by block."""
    size = 10_000
    reads = [Read(0, f"{size}M", "A" * size, (30,) * size), Read(5, f"{size}M", "A" * size, (31,) * size)]
    qualities = merge_mates(aligned_reads(reads))
    assert np.array_equal(qualities[:size], [30] * 5 + [0] * (size - 5))
    assert np.array_equal(qualities[size:], [31] * size)


def test_missing_qualities_take_the_default():
    assert merge_mates(aligned_reads([Read(0, "2M", "AC", (255, 255))])).tolist() == [DEFAULT_QUALITY] * 2
