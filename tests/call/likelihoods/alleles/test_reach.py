"""The reach of long alleles, compared with all places of fragments; lengths of fragments."""

import random

import numpy as np
import pytest

from helpers.making import Read, aligned_reads
from helpers.making_sites import made_likelihoods, made_sites
from readwarp.call.likelihoods.alleles import INFORMED
from readwarp.call.likelihoods.alleles.reach import count_places, weigh_fragments
from readwarp.call.likelihoods.evidence import NOTHING, OTHER
from readwarp.ragged import replace

FORWARD, REVERSE = 99, 147


def count_witnesses(haplotype: str, others: list[str], first: int, last: int, read: int, fragment: int) -> int:
    """Fragments of which a mate meets [first, last) of the haplotype and is not in all other haplotypes' tracts."""
    found = 0
    for start in range(first - fragment + 1, last):
        for at in (start, start + fragment - read):
            bases = haplotype[max(0, at) : at + read]
            if (
                at < last
                and at + read > first
                and not (first < at and at + read <= last and all(bases in o for o in others))
            ):
                found += 1
                break
    return found


@pytest.mark.parametrize(("unit", "read", "fragment"), [(30, 50, 120), (60, 50, 120), (60, 40, 90), (90, 50, 200)])
def test_reach_of_a_duplication_is_that_of_its_witnesses(unit, read, fragment):
    rng = random.Random(5)
    left, copy, right = ("".join(rng.choice("ACGT") for _ in range(n)) for n in (300, unit, 300))
    haplotypes = [left + copy * copies + right for copies in (1, 2)]
    tracts = [copy * copies for copies in (1, 2)]
    expected = [
        count_witnesses(h, tracts, 299, 300 + unit * copies, read, fragment) for copies, h in enumerate(haplotypes, 1)
    ]
    assert count_places(unit + 1, unit, np.array([0, unit]), read, fragment).tolist() == expected


def pairs_at(starts: list[int], length: int, name: str, spread: int = 0) -> list[Read]:
    made = []
    for i, start in enumerate(starts):
        length += spread * (-1) ** i
        for at, flag in ((start, FORWARD), (start + length - 50, REVERSE)):
            made.append(Read(at, "50M", "A" * 50, (30,) * 50, flag, 60, f"{name}{i}"))
    return made


def weighed(*, across: int, is_amplicon: bool = False):
    """What a fragment across an insertion of 60 bases says by this length on the reference."""
    starts = [100] * 90 if is_amplicon else list(range(100, 550, 5))
    reads = pairs_at(starts, 290, "u", spread=20) + pairs_at([960], across, "x")
    reads = sorted(reads, key=lambda read: read.position)
    batch = aligned_reads(reads)
    row = next(i for i, read in enumerate(reads) if read.name == "x0")
    likelihoods = replace(made_likelihoods([[[0.0, 0.0]]], [[NOTHING]]), read=np.array([row], np.int32))
    sites = made_sites([(1000, [(0, ""), (0, "ACGTTGCA" * 7 + "TTGA")])])
    sites = weigh_fragments(batch, sites, likelihoods)
    return sites.reach, likelihoods.values, int(likelihoods.allele[0])


def test_a_fragment_across_tells_the_allele_by_its_length():
    _, values, allele = weighed(across=300)
    assert values[0] == 0 and values[1] < -INFORMED and allele == OTHER
    _, values, allele = weighed(across=240)
    assert values[1] == 0 and values[0] < -INFORMED and allele == OTHER
    _, values, allele = weighed(across=270)
    assert np.abs(values).max() < INFORMED and allele == NOTHING


def test_amplicons_begin_at_their_primers():
    reach, values, allele = weighed(across=240, is_amplicon=True)
    assert reach.tolist() == [1, 1] and values.tolist() == [0, 0] and allele == NOTHING
    assert weighed(across=240)[0][1] > 1.1
