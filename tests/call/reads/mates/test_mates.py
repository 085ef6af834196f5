"""Overlapping mates compared with a plain-Python oracle."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, reads_of
from readwarp.call.reads.mates import pairs
from readwarp.call.reads.mates.pairs import order_by_name
from readwarp.ragged import replace

LENGTH = 40


def oracle(reads: list[Read]) -> list[int]:
    """At each position, go through the reads of a name in file order, and compare the one kept so far with the next."""
    reads = sorted(reads, key=lambda read: read.position)
    qualities = [list(read.qualities) for read in reads]
    kept: dict[tuple[str, int], tuple[int, int]] = {}  # (name, position) -> read, base
    for j, read in enumerate(reads):
        for p, q, operation in read.aligned():
            if operation not in "M=X":
                continue
            if (read.name, p) not in kept:
                kept[read.name, p] = j, q
                continue
            better, worse = kept[read.name, p], (j, q)
            if qualities[j][q] > qualities[better[0]][better[1]]:
                better, worse = worse, better
            if reads[better[0]].bases[better[1]] != reads[worse[0]].bases[worse[1]]:
                qualities[better[0]][better[1]] -= qualities[worse[0]][worse[1]]
            qualities[worse[0]][worse[1]] = 0
            kept[read.name, p] = better
    return [q for row in qualities for q in row]


@settings(max_examples=150)
@given(st.data())
def test_equals_plain_python(data):
    reads = data.draw(reads_of(LENGTH, most=14, few_bases="AC"))
    assert merged(aligned_reads(reads)).tolist() == oracle(reads)


def merged(reads):
    pairs.merge_mates(reads, np.arange(len(reads)))
    return reads.qualities


def pair(first, second):
    return merged(aligned_reads([first, second])).tolist()


def test_agreeing_bases_count_once():
    assert pair(Read(0, "3M", "ACG", (30, 20, 25)), Read(1, "3M", "CGT", (20, 30, 10))) == [30, 20, 0, 0, 30, 10]


def test_differing_bases_leave_the_difference():
    assert pair(Read(0, "2M", "AC", (30, 20)), Read(0, "2M", "GT", (20, 20))) == [10, 0, 0, 0]


def test_other_names_are_left_alone():
    assert pair(Read(0, "2M", "AC", (30, 20)), Read(0, "2M", "AC", (20, 20), name="s")) == [30, 20, 20, 20]


def test_other_samples_are_left_alone():
    reads = aligned_reads([Read(0, "2M", "AC", (30, 20))] * 3)
    reads = replace(reads, sample=np.array([0, 1, 0], np.uint16))
    assert merged(reads).tolist() == [30, 20, 30, 20, 0, 0]


def test_many_reads_of_one_name_take_no_time():
    reads = aligned_reads([Read(i % 50, "100M", "A" * 100, (30,) * 100) for i in range(10_000)])
    began = time.process_time()
    qualities = merged(reads)
    assert time.process_time() - began < 5
    assert (qualities > 0).sum() == 149


def test_a_position_depends_on_its_own_reads_alone():
    """Long overlaps are merged block by block."""
    size = 10_000
    reads = [Read(0, f"{size}M", "A" * size, (30,) * size), Read(5, f"{size}M", "A" * size, (31,) * size)]
    qualities = merged(aligned_reads(reads))
    assert np.array_equal(qualities[:size], [30] * 5 + [0] * (size - 5))
    assert np.array_equal(qualities[size:], [31] * size)


@pytest.mark.parametrize("names", [1, 3, 100, 10**6])
def test_order_by_name(names):
    """Also of many reads of one name."""
    random = np.random.default_rng(names)
    hashes = random.integers(0, names, 1000).astype(np.uint64)
    assert order_by_name(hashes).tolist() == np.argsort(hashes, kind="stable").tolist()
