"""Which haplotype reads are of: without what is compared, and by one phase set."""

import numpy as np

from helpers.making import Read, aligned_reads, window_of
from readwarp.call.likelihoods.phase.links import Phasing
from readwarp.call.likelihoods.phase.sides import ComparisonGroups, find_sides, take_sides
from readwarp.call.reads.sides import Sides
from readwarp.config import CallParameters

REFERENCE = "ACGTACGTAC" * 4


def groups_of(*own: list[int], start: int = 0, stop: int = 0) -> ComparisonGroups:
    n = len(own)
    return ComparisonGroups(
        np.cumsum([0, *map(len, own)]),
        np.array([read for reads in own for read in reads], np.int32),
        np.zeros(sum(map(len, own)), np.uint16),
        np.full(n, start),
        np.full(n, stop),
    )


def sides_of(odds: list[float], sets: list[int], own: list[list[tuple[int, float]]] | None = None) -> Sides:
    own = own or [[] for _ in odds]
    return Sides(
        np.array(odds, np.float64),
        np.array(sets, np.int64),
        np.cumsum([0, *map(len, own)]),
        np.array([position for sites in own for position, _ in sites], np.int64),
        np.array([value for sites in own for _, value in sites], np.float64),
    )


def test_what_is_compared_is_no_evidence():
    sides = sides_of([2.5, -1.0], [0, 0], [[(10, 1.0), (20, 1.5)], [(20, -1.0)]])
    for start, stop, expected in (
        (10, 11, [1.5, -1.0]),
        (20, 21, [1.0, 0.0]),
        (5, 25, [0.0, 0.0]),
        (11, 20, [2.5, -1.0]),
    ):
        odds, whole, sets = take_sides(sides, groups_of([0, 1], start=start, stop=stop), 1)
        assert odds.tolist() == expected and sets.tolist() == [[0]]
        assert whole.tolist() == [2.5, -1.0]


def test_reads_of_other_sets_are_of_either_haplotype():
    sides = sides_of([2.0, 9.0, -2.0, -9.0, 1.0], [7, 7, 5, 7, -1])
    odds, _, sets = take_sides(sides, groups_of([0, 1, 2, 3, 4], [2], [4], []), 1)
    assert odds.tolist() == [2.0, 3.0, 0.0, -3.0, 0.0, -2.0, 0.0] and sets.tolist() == [[7], [5], [-1], [-1]]


def test_reads_are_known_by_name():
    bases = REFERENCE[:20] + "C" + REFERENCE[21:30]  # A to C at 20
    reads = aligned_reads(
        [
            Read(0, "30M", bases, (30,) * 30, name="a"),
            Read(0, "30M", REFERENCE[:30], (30,) * 30, name="b"),
            Read(5, "20M", REFERENCE[5:25], (30,) * 20, name="c"),
        ]
    )
    names = reads.name_hash[:2]
    order = np.argsort(names)
    phasing = Phasing(
        position=np.array([20]),
        sample=np.zeros(1, np.uint16),
        reference=np.array([0], np.uint8),
        alternate=np.array([1], np.uint8),
        change=np.zeros(1, np.int64),
        stop=np.array([21]),
        side=np.array([-1], np.int8),
        name_hash=names[order],
        read_sample=np.zeros(2, np.uint16),
        odds=np.array([-4.0, 4.0])[order],
        phase_set=np.array([3, 3]),
    )
    sides = find_sides(reads, phasing, window_of(REFERENCE), CallParameters())
    assert sides.odds.tolist() == [-4.0, 4.0, 0.0] and sides.phase_set.tolist() == [3, 3, -1]
    assert sides.own_position.tolist() == [20, 20, 20] and sides.own_offsets.tolist() == [0, 1, 2, 3]
    assert sides.own_odds[0] < -2.9 and (sides.own_odds[1:] > 2.9).all()
