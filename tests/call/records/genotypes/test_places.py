"""One record per position: a substitution and an indel there become one, checked by hand and by their sequences."""

from math import log10

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making_sites import made_calls
from readwarp.call.records.genotypes.order import genotypes_of, most_alleles
from readwarp.call.records.genotypes.places import SampleCall, join_places, join_records
from readwarp.formats.variants.calls import Calls

OTHER = "<NON_REF>"


def phred_of(genotype, alleles: int, each: int = 30) -> tuple[int, ...]:
    """PL that grows with the copies that differ from the genotype's."""
    rows = genotypes_of(alleles, len(genotype))
    return tuple(each * sum(a != b for a, b in zip(row, sorted(genotype), strict=True)) for row in rows)


def made(*rows) -> Calls:
    """Position, alleles without <NON_REF>, genotype, phase set (-1: none) and AD of each call."""
    n = len(rows)
    positions, alleles, genotypes, sets, depths = zip(*rows, strict=True)
    listed = [(*own, OTHER) for own in alleles]
    return made_calls(
        *(positions, listed, genotypes),
        quality=100.0 + np.arange(n),
        genotype_quality=np.full((n, 1), 30, np.int32),
        depth=np.array([[sum(own)] for own in depths], np.int32),
        allele_depth=[((*own, 0),) for own in depths],
        likelihoods=[(phred_of(g, len(own) + 1),) for g, own in zip(genotypes, alleles, strict=True)],
        phase_set=np.array([[s] for s in sets]),
        annotations={"DP": np.array([sum(own) for own in depths]), "QD": np.full(n, 5.0)},
        strands=np.array([[[own[0], 0, sum(own[1:]), 0]] for own in depths], np.int32),
        independent=np.array([[[own[0] // 2, 0, sum(own[1:]) // 2, 0]] for own in depths], np.int32),
        squares=np.array([3600 * sum(own) for own in depths]),
        phase_name=[("",) if s < 0 else (f"{s + 1}_A_C",) for s in sets],
    )


SNV = (5, ("A", "C"))
GONE = (5, ("AGT", "A"))
MORE = (5, ("A", "ATT"))


def test_on_different_haplotypes():
    calls = join_places(made((*SNV, (0, 1), 3, (11, 9)), (*GONE, (1, 0), 3, (9, 10))))
    assert calls.alleles == [("AGT", "CGT", "A", OTHER)] and calls.genotype == [((2, 1),)]
    assert calls.allele_depth == [((1, 9, 10, 0),)] and calls.depth.tolist() == [[20]]
    assert calls.phase_set.tolist() == [[3]] and calls.phase_name == [("4_A_C",)]
    phred = dict(zip(genotypes_of(4, 2), calls.likelihoods[0][0], strict=True))
    assert phred[1, 2] == 0 and phred[0, 1] == phred[0, 2] == 30 and phred[0, 0] == 60
    weights = [10 ** (-x / 10) / max(1, sum(a > 0 for a in g)) for g, x in phred.items()]
    assert calls.genotype_quality.tolist() == [[round(-10 * log10(1 - 0.5 / sum(weights)))]]  # GT has PL 0 and 2 copies
    assert calls.annotations["DP"].tolist() == [20]
    assert calls.strands.tolist() == [[[1, 0, 19, 0]]] and calls.independent.tolist() == [[[0, 0, 9, 0]]]
    assert calls.squares.tolist() == [72000]
    assert calls.quality.tolist() == [101.0]


def test_on_one_haplotype():
    calls = join_places(made((*SNV, (0, 1), 3, (11, 9)), (*GONE, (0, 1), 3, (10, 9))))
    assert calls.alleles == [("AGT", "C", OTHER)] and calls.genotype == [((0, 1),)]
    assert calls.allele_depth == [((11, 9, 0),)] and calls.strands.tolist() == [[[11, 0, 9, 0]]]


def test_one_is_homozygous():
    calls = join_places(made((*SNV, (1, 1), -1, (0, 20)), (*MORE, (0, 1), -1, (12, 8))))
    assert calls.alleles == [("A", "C", "CTT", OTHER)] and calls.genotype == [((1, 2),)]
    assert calls.allele_depth == [((0, 12, 8, 0),)]


def test_without_a_phase_they_are_on_different_haplotypes():
    calls = join_places(made((*SNV, (0, 1), -1, (10, 10)), (*MORE, (0, 1), -1, (10, 10))))
    assert calls.genotype == [((1, 2),)] and calls.phase_set.tolist() == [[-1]]


def test_one_is_unknown():
    calls = join_places(made((*SNV, (-1, -1), -1, (0, 0)), (*GONE, (0, 1), -1, (4, 4))))
    assert calls.alleles == [("AGT", "A", OTHER)] and calls.genotype == [((0, 1),)]


def test_other_positions_stay():
    calls = made((3, ("T", "G"), (0, 1), -1, (4, 4)), (*SNV, (0, 1), -1, (9, 9)), (6, ("G", "GA"), (0, 1), -1, (4, 4)))
    assert join_places(calls) is calls
    joint = join_places(
        made((3, ("T", "G"), (0, 1), -1, (4, 4)), (*SNV, (0, 1), -1, (9, 9)), (*GONE, (1, 1), -1, (0, 18)))
    )
    assert joint.position.tolist() == [3, 5] and joint.alleles == [("T", "G", OTHER), ("AGT", "A", "C", OTHER)]
    nothing = made((*SNV, (0, 1), -1, (9, 9)))
    assert len(join_places(nothing)) == 1


@settings(max_examples=150)
@given(st.data())
def test_haplotypes_are_those_of_the_records(data):
    """With a common phase, each copy has the base of one record and the length of the other."""
    reference, ploidy = "AGTTCA", data.draw(st.integers(1, 3))
    bases = data.draw(st.lists(st.sampled_from("CGT"), min_size=1, max_size=2, unique=True))
    lengths = data.draw(st.lists(st.sampled_from(["A", "AGTT", "ACC", "AC"]), min_size=1, max_size=2, unique=True))
    size = data.draw(st.integers(2, 4))
    lengths = [own for own in lengths if own != reference[:size]] or ["AGTCC"]
    first, second = (
        tuple(data.draw(st.lists(st.integers(0, len(own)), min_size=ploidy, max_size=ploidy)))
        for own in (bases, lengths)
    )
    calls = made(
        (5, ("A", *bases), first, 5, (5,) * (len(bases) + 1)),
        (5, (reference[:size], *lengths), second, 5, (5,) * (len(lengths) + 1)),
    )
    joint = join_places(calls)
    (alleles,), ((genotype,),) = joint.alleles, joint.genotype
    assert len(set(alleles)) == len(alleles) and alleles[0] == reference[:size] and alleles[-1] == OTHER
    for copy, (a, b) in enumerate(zip(first, second, strict=True)):
        wanted = (reference[:size], *lengths)[b]
        assert alleles[genotype[copy]] == ("A", *bases)[a] + wanted[1:]
    phred = dict(zip(genotypes_of(len(alleles), ploidy), joint.likelihoods[0][0], strict=True))
    assert min(phred.values()) == phred[tuple(sorted(genotype))] == 0
    assert len(joint.allele_depth[0][0]) == len(alleles) and sum(joint.allele_depth[0][0]) <= joint.depth[0, 0]


@pytest.mark.parametrize("rows", [0, 1])
def test_few_calls(rows):
    calls = made(*[(*SNV, (0, 1), -1, (9, 9))] * 1)
    if rows == 0:
        calls = Calls(
            **{f: getattr(calls, f)[:0] for f in calls.__slots__ if f not in ("annotations", "of_samples")},
            annotations={},
        )
    assert len(join_places(calls)) == rows


def test_no_more_alleles_than_can_be_told_apart():
    """Those with the fewest reads go."""

    def record(alleles: str, genotype: tuple[int, ...], depths: tuple[int, ...]) -> SampleCall:
        names = (*alleles.split(), "<NON_REF>")
        phred = phred_of(genotype, len(names))
        return SampleCall(names, genotype, -1, "", sum(depths), (*depths, 0), phred, (9, 9, 9, 9), (9, 9, 9, 9), 900)

    base = record("A C G", (0,) * 5 + (1,) * 8 + (2,) * 7, (50, 80, 70))
    length = record("A AT ATT", (0,) * 17 + (1,) * 2 + (2,), (170, 20, 10))
    joint = join_records(base, length)
    assert joint.alleles == ("A", "C", "G", "<NON_REF>") and len(joint.alleles) == most_alleles(20)
    assert len(joint.phred) == len(genotypes_of(4, 20))
    assert joint.genotype.count(1) == 8 and joint.genotype.count(2) == 7 and joint.genotype.count(-1) == 3
