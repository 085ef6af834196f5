"""The depth around calls against plain Python, and what LowMapping and LowFraction make of it."""

from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making_sites import call_sites, from_bases, made_likelihoods, substitutions
from readwarp.call.candidates.batches import Pileup
from readwarp.call.places.targets import STEP
from readwarp.call.records.genotypes.surroundings import (
    LEAST_SHARE,
    REACH,
    Depths,
    find_typical_depth,
    first_place,
    note_depth,
)
from readwarp.call.steps import CALL_MARGIN, MARGIN
from readwarp.config import CallParameters

PLACES = -(-99 // STEP)  # of the reference of `call_sites`


def pileup_of(start: int, depth: np.ndarray) -> Pileup:
    """Each position's reads spread over bases and strands."""
    counts = np.zeros((depth.size, 5, 2), np.int32)
    counts[:, 1, 0], counts[:, 4, 1] = depth // 2, depth - depth // 2
    nothing = np.empty(0, np.int64)
    return Pileup(0, start, start + depth.size, counts, counts, *[nothing] * 3, np.zeros(1, np.int64), nothing)


def typical(depth: np.ndarray, start: int, position: int, own: int) -> float:
    """By positions; `depth` begins at `start`."""
    places = [p for p in range(start, start + depth.size) if p % STEP == 0 and abs(p - position) <= REACH]
    comparable = [int(depth[p - start]) for p in places if depth[p - start] >= LEAST_SHARE * own]
    return median(comparable) if own and comparable else own


@settings(max_examples=60)
@given(st.integers(0, 40), st.integers(1, 2500), st.integers(0, 2**32 - 1), st.integers(0, 60), st.data())
def test_typical_depth(start, size, seed, own, data):
    depth = np.random.default_rng(seed).integers(0, 50, size)
    position = data.draw(st.integers(start, start + size - 1))
    depths = Depths(first_place(start), note_depth(pileup_of(start, depth))[None])
    assert find_typical_depth(depths, position, np.array([own])).tolist() == [typical(depth, start, position, own)]


def test_samples_are_apart():
    depths = Depths(0, np.repeat(np.array([[30], [8], [5]], np.int32), 20, axis=1))
    assert find_typical_depth(depths, 100, np.array([40, 4, 30])).tolist() == [30, 8, 30]


def test_windows_do_not_matter():
    """What a window knows around its calls suffices, those around it that may overlap one in it included."""
    depth = np.random.default_rng(1).integers(10, 50, 9000)
    whole = Depths(0, note_depth(pileup_of(0, depth))[None])
    start, stop = 4001, 4801
    low, high = start - MARGIN, stop + MARGIN
    window = Depths(first_place(low), note_depth(pileup_of(low, depth[low:high]))[None])
    for position in (start - CALL_MARGIN, start, 4500, stop + CALL_MARGIN - 1):
        own = np.array([30])
        assert find_typical_depth(window, position, own) == find_typical_depth(whole, position, own)


@pytest.mark.parametrize(
    ("bases", "around", "fails"),
    [
        ("A" * 30 + "G" * 14, 30, True),  # all copies' reads are there, and others beside them
        ("A" * 30 + "G" * 14, 44, False),
        ("A" * 15 + "G" * 4, 30, False),  # one copy's reads are there, some of the other's lie elsewhere
        ("A" * 15 + "G" * 4, 19, True),
        ("G" * 30, 15, False),
        ("A" * 30 + "G" * 14, 20, False),  # less than half of the call's depth is another target
    ],
)
def test_other_reads_against_the_depth_around(bases, around, fails):
    assert filters_of(bases, around, 25) == [("LowMapping",) if fails else ()]


@pytest.mark.parametrize(
    ("bases", "around", "fails"),
    [
        ("A" * 17 + "G" * 3, 20, False),  # 0.15 is the limit
        ("A" * 18 + "G" * 3, 21, False),  # a lower share, but few reads
        ("A" * 18 + "G" * 3, 42, False),
        ("A" * 18 + "G" * 3, 43, True),  # few where there should be many
        ("A" * 17 + "G" * 3, 80, False),
        ("A" * 23 + "G" * 4, 27, False),
        ("A" * 28 + "G" * 4, 16, True),  # few in any case
        ("A" * 18 + "G" * 3, None, True),  # unknown
    ],
)
def test_low_shares_of_few_reads(bases, around, fails):
    assert filters_of(bases, around, 60) == [("LowFraction",) if fails else ()]


@pytest.mark.parametrize(("limit", "fails"), [(25, True), (26, False)])
def test_limit_of_the_misfit(limit, fails):
    """Of 3 reads of 21: 210 (log10(2/7) / 7 + 6 log10(12/7) / 7) = 25.8."""
    parameters = CallParameters(max_fraction_misfit=limit)
    assert filters_of("A" * 18 + "G" * 3, 21, 60, parameters) == [("LowFraction",) if fails else ()]


def filters_of(
    bases: str, around: int | None, mapping_quality: int, parameters: CallParameters | None = None
) -> list[tuple[str, ...]]:
    """Of a site whose reads show these bases."""
    said, n = from_bases([bases], ["AG"]), len(bases)
    table, shown = said.values.reshape(1, n, 2).tolist(), [["AG".find(b) for b in bases]]
    likelihoods = made_likelihoods(table, shown, mapping_quality=[mapping_quality] * n)
    depths = None if around is None else Depths(0, np.full((1, PLACES), around, np.int32))
    given = {"parameters": parameters} if parameters else {}
    return call_sites(substitutions((3, "AG")), likelihoods, depths=depths, **given).filters
