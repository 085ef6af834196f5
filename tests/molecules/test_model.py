"""The call of a column, against logarithms of floats."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.consensus_oracle import call, either, error_of, quality_of
from readwarp.compiler.jit import kernel
from readwarp.config import ConsensusParameters
from readwarp.molecules.model import FRACTION, call_base, exponential, make_model

MODEL = make_model(ConsensusParameters())
BASES = "ACGTN"


@kernel
def called(model, scores):
    return call_base(model, scores[0], scores[1], scores[2], scores[3])


@kernel
def powers(model, distances, out):
    for i in range(distances.size):
        out[i] = exponential(model, distances[i])


def test_exponentials():
    distances = np.random.default_rng(1).integers(0, 700 << FRACTION, 1000)
    found = np.empty(distances.size)
    powers(MODEL, distances, found)
    np.testing.assert_allclose(found, np.exp(-distances / 2**FRACTION), rtol=1e-13)


@given(st.lists(st.tuples(st.sampled_from("ACGT"), st.integers(2, 93)), min_size=1, max_size=60))
def test_calls(column):
    scores = np.zeros(4, np.int64)
    for base, quality in column:
        scores[BASES.index(base)] += MODEL.weights[quality]
    base, quality = called(MODEL, scores)
    expected, exact = call(column, 45, 40)
    assert BASES[base] == expected
    assert abs(quality - min(93, exact + 0.001) + 0.5) <= 0.5 + 1e-4  # rounded down, unless that is a close call


def test_qualities_of_single_reads():
    for quality in range(94):
        assert MODEL.single[quality] == quality_of(either(error_of(quality), error_of(40)))


def test_columns_as_fgbio_calls_them():
    """fgbio_columns.tsv: random columns, called by ConsensusCaller of fgbio 798aca4 with these rates of errors.

    Of 200,000 such columns, 70 differ: two bases are as likely, and fgbio's rounding chooses one of them.
    """
    _, *lines = (Path(__file__).parent / "fgbio_columns.tsv").read_text().splitlines()
    for line in lines:
        pre, post, bases, qualities, base, quality = line.split("\t")
        model = make_model(ConsensusParameters(error_rate_pre_umi=int(pre), error_rate_post_umi=int(post)))
        scores = np.zeros(4, np.int64)
        for letter, each in zip(bases, qualities.split(","), strict=True):
            scores[BASES.index(letter)] += model.weights[int(each)]
        found = called(model, scores)
        assert (BASES[found[0]], found[1]) == (base, int(quality)), line


def test_numbers_by_hand():
    """Two agreeing bases of Q30: each errs with 0.001 + 0.0001 - 4/3e-7; both wrong alike is 1 in 7.4 million."""
    base, quality = called(MODEL, np.array([0, 2 * MODEL.weights[30], 0, 0]))
    assert (base, quality) == (1, 44)  # just above the 45 of errors before the UMI
    assert called(MODEL, np.array([MODEL.weights[30], MODEL.weights[30], 0, 0])) == (4, 2)
    assert called(MODEL, np.zeros(4, np.int64)) == (4, 2)
