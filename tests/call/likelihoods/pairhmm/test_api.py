"""readwarp.pair_hmm: what it accepts, returns and refuses."""

import subprocess
import sys

import numpy as np
import pytest

import readwarp
from helpers.hmm_oracle import oracle
from readwarp.call.likelihoods.pairhmm.penalties import gap_penalties
from readwarp.errors import UsageError

READS = ["ACGTTGCAACGTAC", "TTGCATCGTAC"]
HAPLOTYPES = ["TTACGTTGCAACGTACGG", "TTACGTTGCATCGTACGG", "NACGTTGCACGTACGG"]


def codes(text):
    return np.array(["ACGTN".index(letter) for letter in text], np.uint8)


def test_all_reads_with_all_haplotypes():
    values = readwarp.pair_hmm(READS, 30, HAPLOTYPES)
    assert values.shape == (2, 3) and values.dtype == np.float64
    for i, read in enumerate(READS):
        gaps = gap_penalties(codes(read), np.array([0, len(read)]))
        for j, haplotype in enumerate(HAPLOTYPES):
            expected = oracle(codes(read), [30] * len(read), *gaps, codes(haplotype))
            assert values[i, j] == pytest.approx(expected, abs=1e-4)
    assert values[0].argmax() == 0 and values[1].argmax() == 1


def test_ways_to_say_the_same():
    expected = readwarp.pair_hmm(READS, 30, HAPLOTYPES, gap_open=45, gap_extend=10)
    per_base = [np.full(len(read), 30) for read in READS]
    gaps = {"gap_open": [[45] * len(read) for read in READS], "gap_extend": 10}
    arrays = [codes(text) for text in READS], [codes(text) for text in HAPLOTYPES]
    for reads, haplotypes in ((READS, HAPLOTYPES), arrays, ([r.lower().encode() for r in READS], HAPLOTYPES)):
        for threads in (1, 2, 7):
            found = readwarp.pair_hmm(reads, per_base, haplotypes, threads=threads, **gaps)
            assert found.tolist() == expected.tolist()
    text = readwarp.pair_hmm(READS, ["?" * len(read) for read in READS], HAPLOTYPES, **gaps)
    assert text.tolist() == expected.tolist()
    single = readwarp.pair_hmm(READS[0], per_base[0], HAPLOTYPES[1], gap_open=[45] * 14, gap_extend=10)
    assert single.tolist() == [[expected[0, 1]]]


def test_qualities_of_a_single_read():
    expected = readwarp.pair_hmm(READS[0], 30, HAPLOTYPES).tolist()
    text, numbers = "?" * len(READS[0]), [30] * len(READS[0])
    for qualities in (text, [text], [text.encode()], numbers, [numbers]):
        assert readwarp.pair_hmm([READS[0]], qualities, HAPLOTYPES).tolist() == expected


def test_chosen_pairs():
    every = readwarp.pair_hmm(READS, 25, HAPLOTYPES)
    some = readwarp.pair_hmm(READS, 25, HAPLOTYPES, pairs=([1, 0, 1], np.array([2, 0, 2])), threads=2)
    assert some.tolist() == [every[1, 2], every[0, 0], every[1, 2]]


def test_nothing():
    assert readwarp.pair_hmm([], 30, HAPLOTYPES).shape == (0, 3)
    assert readwarp.pair_hmm([], [], []).shape == (0, 0)
    assert readwarp.pair_hmm(["", "A"], 30, ["A"]).tolist()[0] == [0.0]
    assert readwarp.pair_hmm(READS, 30, HAPLOTYPES, pairs=([], [])).shape == (0,)


@pytest.mark.parametrize(
    ("reads", "qualities", "haplotypes", "options", "reason"),
    [
        (["AC"], 30, ["ACG", ""], {}, "haplotype 2 has no bases"),
        (["AC", "A-C"], 30, ["ACG"], {}, "read 2 has a letter or code that is not a base, at position 2"),
        (["AC"], 30, [np.array([0, 5])], {}, "haplotype 1 has a letter or code that is not a base, at position 2"),
        ([np.array([0.5])], 30, ["A"], {}, "read 1 is an array, but not of codes"),
        ([None], 30, ["A"], {}, "read 1 is of type NoneType: neither text nor an array of codes"),
        (["AC"], None, ["A"], {}, "read 1 carries no qualities: give one number for all"),
        (["AC", "A"], [[30, 30], [30, 30]], ["A"], {}, "read 2: 2 qualities for 1 bases"),
        (["AC", "A"], [[30, 30]], ["A"], {}, "qualities of 1 reads, but there are 2 reads"),
        (["AC"], 94, ["A"], {}, "qualities: Phreds must be between 0 and 93"),
        (["AC"], [[30, -1]], ["A"], {}, "qualities: Phreds must be between 0 and 93"),
        (["AC"], 30.5, ["A"], {}, "qualities: Phreds must be whole numbers"),
        (["AC"], "I", ["A"], {}, "qualities: 1 Phreds, but 2 bases"),
        (["AC"], "I ", ["A"], {}, "a quality is outside Phred 0 to 93"),
        (["AC"], 30, ["A"], {"gap_open": [45, 45, 45]}, "read 1: 3 gap_open for 2 bases"),
        (["AC"], 30, ["A"], {"gap_extend": 200}, "gap_extend: Phreds"),
        (["AC"], 30, ["A"], {"pairs": ([0, 1], [0])}, "pairs: give equal numbers of read and haplotype indices"),
        (["AC"], 30, ["A"], {"pairs": ([0], [1])}, "pairs: there are 1 haplotypes, counted from 0"),
        (["AC"], 30, ["A"], {"pairs": ([-1], [0])}, "pairs: there are 1 reads, counted from 0"),
        (["AC"], 30, ["A"], {"threads": 0}, "threads 0"),
        (["AC"], 30, ["A"], {"device": "tpu"}, "not one of auto, cpu, cuda"),
    ],
)
def test_refusals(reads, qualities, haplotypes, options, reason):
    with pytest.raises(UsageError, match=reason):
        readwarp.pair_hmm(reads, qualities, haplotypes, **options)


def test_import_is_lazy():
    code = "import sys, readwarp; assert 'pair_hmm' in dir(readwarp); assert 'numba' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
