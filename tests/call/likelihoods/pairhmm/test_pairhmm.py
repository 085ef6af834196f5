"""PairHMM compared with a float64 oracle in plain Python; neighbours, order, threads and lanes must not matter."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.hmm_oracle import a_batch, all_pairs, all_with_status, oracle, packed, random_read, rows_of
from helpers.processes import environment_with_tests
from readwarp.call.likelihoods.pairhmm import pairs
from readwarp.call.likelihoods.pairhmm.cpu import log_likelihoods
from readwarp.call.likelihoods.pairhmm.pairs import log_probabilities
from readwarp.call.likelihoods.pairhmm.scalar import FLOAT32, FLOAT64
from readwarp.rules.statuses import Status

CLOSE = 1e-4  # log10


def assert_equals_oracle(reads, haplotypes):
    values = all_pairs(reads, haplotypes, log_likelihoods)
    expected = [[oracle(*read, haplotype) for haplotype in haplotypes] for read in reads]
    assert np.abs(values - expected).max() < CLOSE


def test_reads_of_haplotypes():
    rng = np.random.default_rng(5)
    haplotypes = [rng.integers(0, 4, size) for size in (100, 180, 250, 300)]
    haplotypes[1][40:44] = 4
    lengths = (1, 2, 3, 4, 5, 16, 60, 99, 100, 148, 150, 250)
    assert_equals_oracle([random_read(rng, n, h, unknown=0.05) for n in lengths for h in haplotypes], haplotypes)


def test_reads_without_likeness():
    rng = np.random.default_rng(6)
    haplotypes = [rng.integers(0, 4, size) for size in (1, 2, 3, 17, 1000)]
    lengths = (1, 2, 5, 40, 151, 500)
    reads = [random_read(rng, n, haplotypes[0], low=q, high=q) for n in lengths for q in (2, 30, 60)]
    assert_equals_oracle(reads, haplotypes)


def test_nothing_matches():
    """Probabilities far below the range of float64."""
    reads = [(np.zeros(n, int), np.full(n, 60), np.full(n, 60), np.full(n, 60)) for n in (3, 50, 130, 500)]
    haplotypes = [np.full(size, 2) for size in (1, 30, 400)]
    assert_equals_oracle(reads, haplotypes)
    values, status = all_with_status(reads, haplotypes, log_likelihoods)
    assert values.min() < -2500
    assert (status[values < -600] == Status.OVERFLOW).all() and not status[values > -500].any()


@settings(max_examples=60)
@given(st.data())
def test_any_phreds(data):
    length = data.draw(st.integers(1, 12))
    row = st.tuples(st.integers(0, 4), st.integers(0, 93), st.integers(0, 93), st.integers(0, 93))
    read = np.array(data.draw(st.lists(row, min_size=length, max_size=length))).T
    haplotype = np.array(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=16)))
    assert_equals_oracle([read], [haplotype])


@settings(max_examples=30)
@given(st.data())
def test_neighbours_and_order_do_not_matter(data):
    """A pair's value has the same bits whatever it is computed with."""
    reads, haplotypes = a_batch(data.draw(st.integers(0, 3)))
    whole = all_pairs(reads, haplotypes, log_likelihoods)
    chosen = data.draw(st.lists(st.integers(0, whole.size - 1), max_size=40))
    read, haplotype = np.divmod(np.array(chosen, np.int32), np.int32(len(haplotypes)))
    some, _ = log_likelihoods(rows_of(reads), *packed(haplotypes), read, haplotype)
    assert some.tolist() == whole[read, haplotype].tolist()


def test_several_threads_at_once():
    batches = [a_batch(seed) for seed in range(6)]
    expected = [all_pairs(*batch, log_likelihoods).tolist() for batch in batches]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda batch: all_pairs(*batch, log_likelihoods).tolist(), batches * 3))
    assert found == expected * 3


WIDTH = """
from helpers.hmm_oracle import a_batch, all_pairs
from readwarp.call.likelihoods.pairhmm.cpu import log_likelihoods
from readwarp.call.likelihoods.pairhmm.pairs import log_probabilities
from readwarp.call.likelihoods.pairhmm.scalar import FLOAT32, FLOAT64
print(*(x.hex() for x in all_pairs(*a_batch(1), log_likelihoods).ravel()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [16, 32])
def test_the_width_of_vectors_does_not_matter(width, tmp_path):
    environment = environment_with_tests(READWARP_VECTOR_BYTES=str(width), READWARP_CACHE=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", WIDTH], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [x.hex() for x in all_pairs(*a_batch(1), log_likelihoods).ravel()]


def test_equal_pairs_are_computed_once_and_small_sums_again():
    rng = np.random.default_rng(2)
    haplotype = rng.integers(0, 4, 60)
    read = random_read(rng, 30, haplotype)
    reads, haplotypes = rows_of([read, read, random_read(rng, 31, haplotype)]), packed([haplotype, haplotype])
    asked = []

    def sum_pairs(work, precision):
        asked.append((work.read.size, precision))
        return np.array([1.0, 2.0**-100] if precision is FLOAT32 else [1.0], precision.number)

    index = np.array([0, 1, 2, 0, 1, 2]), np.array([0, 1, 0, 1, 0, 1])
    last_resort = partial(log_probabilities, reads, *haplotypes)
    values, _ = pairs.solve(
        pairs.items_of(reads, *haplotypes), *index, partial(pairs.sum_in_turn, sum_pairs), last_resort
    )
    assert asked == [(2, FLOAT32), (1, FLOAT64)]
    assert values.tolist() == [values[0]] * 2 + [values[2]] + [values[0]] * 2 + [values[2]] and values[0] != values[2]


def test_contents_are_compared_not_their_hashes(monkeypatch):
    bases = np.array([0, 1, 0, 1, 0, 1, 1, 1, 0], np.uint8)
    offsets = np.array([0, 2, 4, 4, 6, 7, 8, 9])
    assert pairs.first_of_kind((bases,) * 4, offsets).tolist() == [0, 0, 2, 0, 4, 4, 6]
    other = np.array([0, 1, 0, 2, 0, 1, 1, 1, 0], np.uint8)
    assert pairs.first_of_kind((bases, bases, other, bases), offsets).tolist() == [0, 1, 2, 0, 4, 4, 6]


def test_odd_sizes():
    nothing, some = (np.empty(0, int),) * 4, (np.array([1]), np.array([30]), np.array([45]), np.array([10]))
    haplotypes = [np.array([1]), np.array([2, 1])]
    values = all_pairs([nothing, some], haplotypes, log_likelihoods)
    assert values[0].tolist() == [0, 0]
    assert values[1] == pytest.approx(np.log10([0.999, (0.999 + 0.001 / 3) / 2]), abs=1e-6)
    no_pairs = np.empty(0, np.int32)
    assert log_likelihoods(rows_of([some]), *packed(haplotypes), no_pairs, no_pairs)[0].size == 0
    with pytest.raises(ValueError, match="no bases"):
        all_pairs([some], [np.empty(0, int)], log_likelihoods)
