"""Places on ALT contigs in coordinates of the primary assembly, and windows there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.align.alternates import Alternates, plan_lifted
from readwarp.align.alternates.lift import MAX_WINDOWS, NOWHERE, find_loci
from readwarp.align.batches import Candidates, Scores
from readwarp.align.places import places_of
from readwarp.align.steps import make_batch
from readwarp.config import AlignParameters
from readwarp.ragged import check
from readwarp.rules.statuses import Status

LENGTH, PADDING = 50, 32
CONTIGS = np.array([0, 5000, 6000, 7000], np.int64)  # one, an ALT contig between, another one of the primary assembly
Row = tuple[int, int, int]  # v, strand, score


def table_of(runs: list[tuple[int, int, int, int]]) -> Alternates:
    """Of runs (start, stop, image, strand)."""
    start, stop, image, strand = np.array(runs, np.int64).reshape(-1, 4).T
    return Alternates(CONTIGS, np.array([False, True, False]), start, stop, image, strand.astype(np.uint8))


def scored(reads: list[list[Row]], status: Status = Status.OK) -> tuple[Candidates, Scores]:
    rows = [(r, *row) for r, read in enumerate(reads) for row in read]
    read, v, strand, score = np.array(rows, np.int64).reshape(-1, 4).T
    zero, stop = np.zeros(read.size, np.int32), np.full(read.size, LENGTH, np.int32)
    offsets = np.cumsum([0, *map(len, reads)])
    sides = read.astype(np.int32), strand.astype(np.uint8)
    candidates = Candidates(offsets, *sides, v, v + LENGTH, v, zero, zero, zero, zero)
    return candidates, Scores(score.astype(np.int32), stop, v + LENGTH, np.full(read.size, status, np.uint8))


def reads_of(number: int):
    return make_batch([("r", "A" * LENGTH, None)] * number, paired=False)


def windows(reads: list[list[Row]], runs, **more) -> list[tuple[int, int, int, int, int]]:
    """(read, strand, diagonal, start, stop)"""
    made = plan_lifted(reads_of(len(reads)), scored(reads, **more), table_of(runs), AlignParameters())
    check(made)
    columns = (made.read, made.strand, made.diagonal, made.window_start, made.window_stop)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@st.composite
def runs(draw):
    """Runs of 1 to 60 bases on the ALT contig, apart or one after the other, aligned to anywhere."""
    found, at = [], 5000
    for _ in range(draw(st.integers(0, 8))):
        start = at + draw(st.integers(0, 40))
        at = start + draw(st.integers(1, 60))
        found.append((start, at, draw(st.integers(100, 4800)), draw(st.integers(0, 1))))
    return found


@given(runs=runs(), v=st.integers(5000, 5500), strand=st.integers(0, 1))
def test_a_place_moves_with_the_run_it_has_most_in_common_with(runs, v, strand):
    places = places_of(*scored([[(v, strand, LENGTH)]]), AlignParameters())
    loci = find_loci(reads_of(1), places, table_of(runs))
    shared = [min(stop, v + LENGTH) - max(start, v) for start, stop, _, _ in runs]
    assert loci.is_alternate.tolist() == [1]
    if max(shared, default=0) <= 0:
        assert loci.start.tolist() == [NOWHERE]
        return
    start, _, image, turned = runs[shared.index(max(shared))]
    images = [image + (start - at if turned else at - start) for at in range(v, v + LENGTH)]
    assert (loci.diagonal[0], loci.strand[0]) == (min(images), strand ^ turned)
    assert (loci.start[0], loci.stop[0]) == (max(0, min(images)), min(5000, max(images) + 1))


def test_places_of_the_primary_assembly_stay():
    """The read of 50 bases scores 30, so about 20 of its bases are not aligned."""
    places = places_of(*scored([[(100, 0, 30), (4980, 1, 60), (6100, 1, 60)]]), AlignParameters())
    loci = find_loci(reads_of(1), places, table_of([(5000, 6000, 0, 0)]))
    assert loci.is_alternate.tolist() == [0, 1, 0]  # the second one ends on the ALT contig, at 30 of it
    assert loci.start.tolist() == [120, 0, 6100] and loci.stop.tolist() == [150, 30, 6150]
    assert loci.strand.tolist() == [0, 1, 1]


WHOLE = [(5000, 6000, 1000, 0)]


def test_a_window_where_no_candidate_is():
    assert windows([[(5200, 1, 60)]], WHOLE) == [(0, 1, 1200, 1200 - PADDING, 1250 + PADDING)]
    assert windows([[], [(5200, 0, 60)]], [(5000, 6000, 1999, 1)]) == [(1, 1, 1750, 1750 - PADDING, 1800 + PADDING)]
    assert windows([[(5010, 0, 60)]], [(5000, 6000, 0, 0)]) == [(0, 0, 10, 0, 60 + PADDING)]  # within the contig
    assert windows([[(5950, 0, 60)]], [(5000, 6000, 4000, 0)]) == [(0, 0, 4950, 4950 - PADDING, 5000)]


@pytest.mark.parametrize(
    "others",
    [
        [(1200, 0, 60)],
        [(1230, 0, 40)],  # a candidate there that surely becomes a record
        [(5205, 0, 60)],  # another hit that has its window
    ],
)
def test_no_second_window(others):
    found = windows([[(5200, 0, 60), *others]], WHOLE)
    assert [row[2] for row in found] == ([1200] if others[0][0] > 5000 else [])


def test_windows_despite_other_candidates():
    for other in ((1200, 1, 60), (1200, 0, 34), (1260, 0, 60), (3000, 0, 60)):
        assert len(windows([[(5200, 0, 60), other]], WHOLE)) == 1


def test_no_window_for_what_has_no_place():
    assert windows([[(5200, 0, 60)]], []) == []
    assert windows([[(5200, 0, 34)]], WHOLE) == []
    assert windows([[(1200, 0, 60)]], WHOLE) == []
    assert windows([[(5200, 0, 60)]], WHOLE, status=Status.TOO_LONG) == []


def test_most_windows_of_a_read():
    hits = [(5000 + 60 * i, 0, 60) for i in range(15)]
    found = windows([hits, hits[:1]], WHOLE)
    assert [row[2] for row in found] == [*(1000 + 60 * i for i in range(MAX_WINDOWS)), 1000]
