"""Adapters are learned from libraries that have some, and from nothing else."""

import numpy as np
import pytest

from helpers.trim_oracle import reverse_complement
from readwarp.align import steps
from readwarp.align.trim import learn, trim, with_learned
from readwarp.align.trim.known import ADAPTERS
from readwarp.config import TrimParameters
from readwarp.formats.common.reads import ReadBatch
from readwarp.ragged import take

RNG = np.random.default_rng(2)
GENOME = "".join(RNG.choice(list("ACGT"), 20_000))
UNKNOWN = "CAGTTGCAAGGCTTACGACTTGCATGACCAGTTAAC", "GTACCTGATCGGATTGCACTAGCATCGTACCGTTA"
PARAMETERS = TrimParameters(min_length=0)


def library(inserts: list[int], adapters=UNKNOWN, errors: float = 0.0, length: int = 100) -> ReadBatch:
    rng, reads = np.random.default_rng(3), []
    for number, insert in enumerate(inserts):
        start = int(rng.integers(0, len(GENOME) - insert))
        fragment = GENOME[start : start + insert]
        for side, adapter in zip((fragment, reverse_complement(fragment)), adapters, strict=True):
            bases = np.array(list((side + adapter + "A" * length)[:length]))
            wrong = rng.random(length) < errors
            bases[wrong] = rng.choice(list("ACGTN"), int(wrong.sum()))
            reads.append((f"r{number}", "".join(bases), None))
    return steps.make_batch(reads, True)


@pytest.mark.parametrize("errors", [0.0, 0.02])
def test_adapters_that_are_not_known(errors):
    inserts = np.random.default_rng(4).integers(30, 200, 600).tolist()
    batch = library(inserts, errors=errors)
    learned = learn([batch], PARAMETERS)
    assert learned and (learned.first, learned.last) == (UNKNOWN[0][:32], UNKNOWN[1][:32])
    assert learned == learn([take(batch, "reads", slice(500)), take(batch, "reads", slice(500, None))], PARAMETERS)
    trimmed = trim(batch, with_learned(PARAMETERS, learned))
    right = [min(insert, 100) for insert in inserts for _ in range(2)]
    kept = np.diff(trimmed.aligned.read_offsets).tolist()
    assert sum(a == b for a, b in zip(kept, right, strict=True)) > (0.98 if errors else 0.999) * len(right)


def test_known_ones_stay():
    learned = learn([library(list(range(20, 90)))], PARAMETERS)
    assert learned
    parameters = with_learned(PARAMETERS, learned)
    for adapters in (UNKNOWN, *ADAPTERS.values()):
        assert np.diff(trim(library([40], adapters), parameters).aligned.read_offsets).tolist() == [40, 40]


@pytest.mark.parametrize(
    ("inserts", "adapters"),
    [
        ([300] * 300, UNKNOWN),  # longer than the reads
        (list(range(20, 90)), next(iter(ADAPTERS.values()))),  # known
        (list(range(20, 90)), (UNKNOWN[0], UNKNOWN[0])),  # mates go on alike: need not be known
        ([60, 70, 80] * 40, UNKNOWN),  # what follows a few amplicons may be anything
        (list(range(20, 44)), UNKNOWN),  # too few
        (list(range(90, 100)) * 10, UNKNOWN),  # too little of them
        ([], UNKNOWN),
    ],
)
def test_nothing_to_learn(inserts, adapters):
    assert learn([library(inserts, adapters)], PARAMETERS) is None


def test_given_adapters_are_those_of_the_library():
    assert learn([library(list(range(20, 90)))], TrimParameters(adapters=("ACGTACGTACGT",))) is None
    assert learn([], PARAMETERS) is None


def test_repeats_are_no_adapters():
    """Fragments that end with the repeat that they begin with, of many lengths, but each goes on in its own way."""
    rng, reads = np.random.default_rng(5), []
    repeat = GENOME[:60]
    for number in range(100):
        start, size = int(rng.integers(100, 19_000)), int(rng.integers(150, 300))
        fragment = repeat[: 20 + number % 40] + GENOME[start : start + size] + repeat[: 20 + number % 40]
        reads += [(f"r{number}", side[:100], None) for side in (fragment, reverse_complement(fragment))]
    batch = steps.make_batch(reads, True)
    assert learn([batch], PARAMETERS) is None
    assert trim(batch, PARAMETERS).cuts.bases.sum() == 0
