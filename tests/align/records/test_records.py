"""Rules of scores and mapping quality, and the records made from a batch of scored candidates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.align.batches import Candidates, Scores
from readwarp.align.insert_models import InsertModels, InsertSizes
from readwarp.align.places import places_of
from readwarp.align.records import choose
from readwarp.align.records.choose import PRIMARY, SECONDARY, SUPPLEMENTARY
from readwarp.align.records.quality import (
    FINE,
    HARMLESS_SHARE,
    MAX_CROWD,
    MAX_QUALITY,
    SCALE,
    crowd_penalties,
    insert_penalties,
    mapping_quality,
    slope_table,
)
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.rules.statuses import Status

SIZES = InsertSizes(mean=300.0, deviation=30.0, low=180, high=420, pairs=1000, other_orientations=0)
LENGTH, PERFECT = 100, 110
CONTIGS = np.array([0, 100_000, 200_000], np.int64)


def batch(names: list[str], paired: bool) -> ReadBatch:
    n = len(names)
    text = "".join(names).encode()
    segments = [Segment.FIRST, Segment.LAST] * (n // 2) if paired else [Segment.UNPAIRED] * n
    return ReadBatch(
        number=0,
        source=0,
        bases=np.zeros(n * LENGTH, np.uint8),
        qualities=np.full(n * LENGTH, 30, np.uint8),
        read_offsets=np.arange(n + 1, dtype=np.int64) * LENGTH,
        names=np.frombuffer(text, np.uint8).copy(),
        name_offsets=np.concatenate([[0], np.cumsum([len(name) for name in names])]).astype(np.int64),
        tags=np.empty(0, np.uint8),
        tag_offsets=np.zeros(n + 1, np.int64),
        segment=np.array(segments, np.uint8),
        read_group=np.full(n, -1, np.int32),
        failed=np.zeros(n, np.uint8),
    )


def chosen(reads: list[list[tuple]], paired: bool = False, names: list[str] | None = None, repetitive: int = 0):
    """Choices for reads with candidates (v, strand, score, query start, query stop, status)."""
    rows = [(r, *(*row, *(0, LENGTH, Status.OK)[len(row) - 3 :])) for r, read in enumerate(reads) for row in read]
    read, v, strand, score, start, stop, status = (np.array(column) for column in zip(*rows, strict=True))
    offsets = np.concatenate([[0], np.cumsum([len(read) for read in reads])]).astype(np.int64)
    candidates = Candidates(
        candidate_offsets=offsets,
        read=read.astype(np.int32),
        strand=strand.astype(np.uint8),
        window_start=v - 32,
        window_stop=v + LENGTH + 32,
        diagonal=v,
        query_start=start.astype(np.int32),
        query_stop=stop.astype(np.int32),
        part_start=np.zeros(read.size, np.int32),
        part_stop=np.zeros(read.size, np.int32),
    )
    scores = Scores(score.astype(np.int32), stop.astype(np.int32), v + stop, status.astype(np.uint8))
    names = names or ["r" for _ in reads]
    left_out = np.full(len(reads), repetitive, np.int32)
    places = places_of(candidates, scores, AlignParameters())
    return choose(batch(names, paired), places, InsertModels(SIZES), AlignParameters(), left_out, CONTIGS)


def test_insert_penalties_are_bwa_s():
    penalty = insert_penalties(SIZES, 1)
    assert penalty.size == SIZES.high + 1 and -FINE <= penalty[300] < 0 and (np.diff(penalty[300:]) >= 0).all()
    for d in (180, 260, 330, 400, 420):
        tail = 2 * math.erfc(abs(d - 300) / 30 / math.sqrt(2))
        assert penalty[d] == round(-0.721 * FINE * math.log(tail))


@given(
    delta=st.integers(0, 400),
    alone=st.integers(-100, 200),
    length=st.integers(30, MAX_READ_LENGTH),
    crowd=st.integers(0, MAX_CROWD),
    lost=st.integers(0, 60),
    share=st.integers(0, SCALE),
)
def test_mapping_quality_is_bounded_and_monotonic(delta, alone, length, crowd, lost, share):
    def quality(delta=delta, alone=alone, crowd=crowd, lost=lost, share=share):
        slope, penalty = slope_table(1)[length], crowd_penalties()[crowd]
        return mapping_quality(delta, alone, slope, penalty, length + 10 - lost, length + 10, share)

    base = quality()
    assert 0 <= base <= MAX_QUALITY and (delta or base == 0)
    assert quality(delta=delta + 1) >= base and quality(alone=alone + 1) >= base
    assert quality(lost=lost + 1) <= base and quality(share=min(SCALE, share + 1)) <= base
    assert quality(crowd=min(MAX_CROWD, crowd + 1)) <= base or crowd == 0
    assert quality(share=0) == quality(share=HARMLESS_SHARE) and quality(share=SCALE) == 0


def test_a_lone_place_is_certain():
    choices = chosen([[(500, 0, PERFECT)]])
    assert (choices.candidate.tolist(), choices.role.tolist(), choices.mapping_quality.tolist()) == (
        [0],
        [PRIMARY],
        [60],
    )
    assert choices.second_score.tolist() == [0] and choices.proper.tolist() == [0]


def test_candidates_on_one_diagonal_are_one_place():
    choices = chosen([[(500, 0, PERFECT - 5), (500, 0, PERFECT), (500, 1, 40)]])
    assert choices.candidate.tolist() == [1] and choices.mapping_quality.tolist() == [60]


def test_equal_places_scatter_by_name_and_are_named():
    places = [(1000 * i, 0, PERFECT) for i in range(1, 5)]
    names = [f"read{number}" for number in range(200)]
    choices = chosen([places] * 200, names=names)
    primary = choices.candidate[choices.role == PRIMARY] % 4
    assert np.bincount(primary, minlength=4).min() >= 25
    assert (choices.mapping_quality == 0).all() and np.bincount(choices.role).tolist() == [200, 0, 600]
    backwards = chosen([places[::-1]] * 200, names=names)
    assert (3 - backwards.candidate[backwards.role == PRIMARY] % 4 == primary).all()


def test_too_many_places_are_not_named():
    places = [(1000 * i, 0, PERFECT) for i in range(1, 8)]
    assert chosen([places]).role.tolist() == [PRIMARY]
    worse = [*places[:1], *((v, strand, PERFECT - 30) for v, strand, _ in places[1:])]
    assert chosen([worse]).role.tolist() == [PRIMARY]
    assert chosen([worse[:4]]).role.tolist() == [PRIMARY]
    near = [*places[:1], *((v, strand, PERFECT - 20) for v, strand, _ in places[1:4])]
    assert chosen([near]).role.tolist() == [PRIMARY] + [SECONDARY] * 3


def test_parts_of_a_read_are_supplementary_not_rivals():
    """70 bases map here and the last 50 elsewhere. Both are sure, in spite of the overlap."""
    choices = chosen([[(500, 0, 75, 0, 70), (7000, 0, 55, 50, 100)]])
    assert choices.role.tolist() == [PRIMARY, SUPPLEMENTARY]
    assert choices.mapping_quality.min() >= 30 and choices.second_score.tolist() == [0, 0]
    rivals = chosen([[(500, 0, 85, 0, 80), (7000, 0, 55, 20, 80)]])
    assert rivals.role.tolist() == [PRIMARY] and rivals.second_score.tolist() == [55]


def test_of_equal_places_for_another_part_the_nearest_to_the_primary_is_taken():
    places = [(90_000, 0), (9000, 0), (5000, 1), (100, 0), (4000, 0)]
    for turned in (places, places[::-1]):
        choices = chosen(
            [[(5000, 0, 75, 0, 70), *((v, strand, 35, *((70, 100), (0, 30))[strand]) for v, strand in turned)]]
        )
        assert choices.role.tolist()[:2] == [PRIMARY, SUPPLEMENTARY] and choices.mapping_quality[1] == 0
        assert turned[choices.candidate[1] - 1] == (4000, 0)


@pytest.mark.parametrize(
    "other, proper",
    [((1200, 1), True), ((1321, 1), False), ((1200, 0), False), ((800, 1), False), ((101_200, 1), False)],
)
def test_pairs_must_agree(other, proper):
    choices = chosen([[(1000, 0, PERFECT)], [(*other, PERFECT)]], paired=True)
    assert choices.proper.tolist() == [proper] * 2 and choices.mapping_quality.min() == 60


def test_a_worse_place_beside_the_mate_wins_up_to_the_penalty():
    """The second mate has a better place far away. 10 more points do not pay for separating the mates, 30 more do."""
    for better, proper in ((10, True), (30, False)):
        here, far = (1200, 1, PERFECT - better), (50_000, 1, PERFECT)
        choices = chosen([[(1000, 0, PERFECT)], [here, far]], paired=True)
        assert choices.proper.tolist() == [proper] * 2
        place = choices.candidate[choices.choice_offsets[1]]
        assert place == (1 if proper else 2)


def test_a_unique_mate_makes_a_repeat_sure():
    places = [(1200, 1, PERFECT), (60_000, 1, PERFECT)]
    choices = chosen([[(1000, 0, PERFECT)], places], paired=True)
    mate = choices.choice_offsets[1]
    assert choices.candidate[mate] == 1 and choices.mapping_quality[0] == 60
    assert 20 <= choices.mapping_quality[mate] <= 40


def test_of_equal_places_the_one_at_the_usual_distance_wins():
    """The places are 30 bases apart: less than one unit of score, so the choice is not random, but not sure either."""
    names = [name for number in range(30) for name in [f"n{number}"] * 2]
    choices = chosen([[(1000, 0, PERFECT)], [(1170, 1, PERFECT), (1200, 1, PERFECT)]] * 30, True, names)
    mates = choices.choice_offsets[1:-1:2]
    assert (choices.candidate[mates] % 3 == 2).all() and choices.mapping_quality[mates].max() < 10


def test_mates_of_a_repeated_pair_stay_together():
    first, last = [(1000, 0, PERFECT), (60_000, 0, PERFECT)], [(60_200, 1, PERFECT), (1200, 1, PERFECT)]
    names = [name for number in range(50) for name in [f"n{number}"] * 2]
    choices = chosen([first, last] * 50, paired=True, names=names)
    primary = choices.candidate[choices.role == PRIMARY].reshape(50, 2) % 4
    assert {tuple(row) for row in primary.tolist()} == {(0, 3), (1, 2)}
    assert choices.mapping_quality.max() == 0 and choices.proper.all()


def test_repetitive_reads_are_trusted_less():
    assert chosen([[(500, 0, PERFECT)]], repetitive=10).mapping_quality[0] == 60
    assert chosen([[(500, 0, PERFECT)]], repetitive=20).mapping_quality[0] == 0


def test_candidates_that_failed_or_score_too_little_are_no_places():
    none = chosen([[(500, 0, PERFECT, 0, LENGTH, Status.TOO_LONG), (900, 0, 29)], [(500, 0, 30)]])
    assert none.choice_offsets.tolist() == [0, 0, 1] and none.candidate.tolist() == [2]


@pytest.mark.parametrize(
    "weak, placed",
    [((1200, 1, 25), True), ((1200, 1, 18), False), ((1200, 0, 25), False), ((50_000, 1, 25), False)],
)
def test_a_weak_place_counts_beside_the_mate_alone(weak, placed):
    """It counts from 19 matches on, as a proper pair, and with low MAPQ; that of the mate does not change."""
    choices = chosen([[(1000, 0, PERFECT)], [weak]], paired=True)
    assert choices.candidate.tolist() == ([0, 1] if placed else [0])
    assert choices.proper.tolist() == [placed] * 2
    assert choices.mapping_quality[0] == 60 and (choices.mapping_quality[1:] < 20).all()


def test_two_weak_mates_are_no_pair():
    assert len(chosen([[(1000, 0, 25)], [(1200, 1, 25)]], paired=True).candidate) == 0
