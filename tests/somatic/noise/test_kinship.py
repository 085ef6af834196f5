"""Whether two samples are of one person, or the same reads."""

import numpy as np

from readwarp.somatic.noise.contamination import (
    CARRIED,
    COVERED,
    EQUAL,
    LACKED,
    are_two_people,
    count_kinship,
    have_same_reads,
)

POSITIONS = 2000
REFERENCE = np.random.default_rng(4).integers(0, 4, POSITIONS).astype(np.uint8)


def person(seed: int, rate: float = 0.05) -> np.ndarray:
    """Copies of an allele at each position: 0, 1 or 2."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(POSITIONS) < rate, rng.integers(1, 3, POSITIONS), 0)


def piled(copies: np.ndarray, seed: int, depth: int = 40) -> np.ndarray:
    """Reads of each base at each position."""
    rng = np.random.default_rng(seed)
    others, bases = rng.binomial(depth, copies / 2), np.zeros((POSITIONS, 4), np.int32)
    rows = np.arange(POSITIONS)
    bases[rows, REFERENCE] = depth - others
    bases[rows, (REFERENCE + 1) % 4] += others
    return bases


def test_counts_are_those_of_a_loop():
    bases = [piled(person(1), 2, 14), piled(person(1), 3), piled(person(9), 4)]
    found = count_kinship(REFERENCE, bases)
    wanted = np.zeros_like(found)
    for a in range(3):
        for b in range(3):
            for w in range(POSITIONS if a != b else 0):
                own, others = bases[a][w], bases[b][w]
                if own.sum() < 15 or others.sum() < 15:
                    continue
                wanted[a, b, COVERED] += 1
                wanted[a, b, EQUAL] += own.tolist() == others.tolist()
                for base in set(range(4)) - {int(REFERENCE[w])}:
                    if own[base] >= 0.35 * own.sum():
                        wanted[a, b, CARRIED] += 1
                        wanted[a, b, LACKED] += others[base] <= 0.05 * others.sum()
    assert found.tolist() == wanted.tolist()


def test_one_person():
    """With a third of the alleles lost in the tumour, or as many new ones, they are still of one person."""
    own = person(1)
    rng = np.random.default_rng(7)
    lost = np.where(rng.random(POSITIONS) < 0.33, 0, own)
    gained = np.maximum(own, rng.random(POSITIONS) < 0.05)
    for tumour in (own, lost, gained):
        found = count_kinship(REFERENCE, [piled(tumour, 2), piled(own, 3)])
        assert not are_two_people(found, 0, 1) and not have_same_reads(found, 0, 1)


def test_two_people():
    found = count_kinship(REFERENCE, [piled(person(1), 2), piled(person(2), 3)])
    assert are_two_people(found, 0, 1) and are_two_people(found, 1, 0)


def test_the_same_reads():
    bases = piled(person(1), 2)
    found = count_kinship(REFERENCE, [bases, bases.copy(), piled(person(1), 3)])
    assert have_same_reads(found, 0, 1) and not have_same_reads(found, 0, 2)


def test_few_sites_say_nothing():
    few = [piled(person(seed, 0.005), seed) for seed in (1, 2)]
    assert not are_two_people(count_kinship(REFERENCE, few), 0, 1)
    assert not have_same_reads(count_kinship(REFERENCE[:400], [few[0][:400]] * 2), 0, 1)
