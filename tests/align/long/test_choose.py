"""Roles and mapping qualities of long reads' alignments, worked out by hand."""

import numpy as np
import pytest

from readwarp.align.batches import Extensions
from readwarp.align.long.choose import LongAlignments, choose
from readwarp.align.records.choose import PRIMARY, SECONDARY, SUPPLEMENTARY
from readwarp.align.steps import make_batch
from readwarp.config import AlignParameters, RecordParameters

LENGTH = 10_000
Row = tuple[int, int, int, int, int]  # read, strand, start and stop on the oriented read, reference start
CANDIDATE, ROLE, QUALITY, SECOND = range(4)


def chosen(rows: list[Row], scores: list[int], repetitive: int = 0, reads: int = 1, **records) -> list[list[int]]:
    """[candidate, role, MAPQ, score of the best rival] of what becomes records, in order."""
    read, strand, start, stop, reference = (np.array(column) for column in zip(*rows, strict=True))
    extensions = Extensions(
        np.array(scores, np.int32),
        start.astype(np.int32),
        stop.astype(np.int32),
        reference.astype(np.int64),
        (reference + stop - start).astype(np.int64),
        np.zeros(len(rows), np.int32),
        ((stop - start) << 4).astype(np.uint32),
        np.arange(len(rows) + 1, dtype=np.int64),
        np.zeros(len(rows), np.uint8),
    )
    parameters = AlignParameters(records=RecordParameters(**records))
    batch = make_batch([(f"r{number}", "A" * LENGTH, None) for number in range(reads)], paired=False)
    left_out = np.full(reads, repetitive, np.int32)
    choices, kept = choose(batch, LongAlignments(extensions, read, strand.astype(np.uint8)), left_out, parameters)
    assert np.array_equal(kept.score, extensions.score[choices.candidate])
    columns = choices.candidate, choices.role, choices.mapping_quality, choices.second_score
    return np.stack([column.astype(np.int64) for column in columns], axis=1).tolist()


def test_parts_of_their_own_are_supplementary_best_first():
    rows = [(0, 0, 0, 3000, 500), (0, 1, 0, 5000, 90_000), (0, 0, 3200, 4900, 7000)]  # on the read: 5000 to 10,000
    assert chosen(rows, [3000, 5000, 1700]) == [
        [1, PRIMARY, 60, 0],
        [0, SUPPLEMENTARY, 60, 0],
        [2, SUPPLEMENTARY, 60, 0],
    ]


def test_rivals_are_named_as_secondary_if_that_is_asked_for():
    rows = [(0, 0, 0, 10_000, 500), (0, 1, 0, 10_000, 90_000), (0, 0, 0, 9000, 200_000), (0, 0, 1000, 9000, 300_000)]
    scores = [9990, 9900, 8000, 7000]
    assert chosen(rows, scores) == [[0, PRIMARY, 60, 9910]]
    assert chosen(rows, scores, secondary_records=True) == [
        [0, PRIMARY, 60, 9910],
        [1, SECONDARY, 0, 10_000],
        [2, SECONDARY, 0, 10_000],
    ]
    assert len(chosen(rows, scores, secondary_records=True, max_secondary=1)) == 2
    assert len(chosen(rows, scores, secondary_records=True, secondary_ratio=0.0)) == 4


@pytest.mark.parametrize(("apart", "low", "high"), [(0, 0, 0), (5, 3, 9), (20, 15, 30), (200, 60, 60)])
def test_mapq_follows_the_difference_to_the_best_rival(apart, low, high):
    rows = [(0, 0, 0, 10_000, 500), (0, 0, 0, 10_000, 90_000)]
    ((_, _, quality, _),) = chosen(rows, [10_000, 10_000 - apart])
    assert low <= quality <= high


def test_many_rivals_and_repeats_lower_mapq():
    rows = [(0, 0, 0, 10_000, 500 + 50_000 * k) for k in range(12)]
    two, many = (chosen(rows[:n], [10_000] + [9970] * (n - 1))[0][QUALITY] for n in (2, 12))
    assert two == many + 10  # 10 log10(11)
    left_out = chosen(rows[:2], [10_000, 9970], repetitive=400)[0][QUALITY]  # of 500 seeds
    assert left_out < two / 2
    assert chosen(rows[:2], [10_000, 9970], repetitive=200)[0][QUALITY] == two


def test_the_same_place_twice_is_no_rival():
    rows = [(0, 0, 0, 10_000, 500), (0, 0, 20, 9900, 540), (0, 1, 0, 10_000, 500)]
    assert chosen(rows[:2], [9000, 8990], secondary_records=True) == [[0, PRIMARY, 60, 0]]
    assert [row[ROLE] for row in chosen(rows, [9000, 8990, 8000], secondary_records=True)] == [PRIMARY, SECONDARY]


def test_short_spans_are_trusted_in_proportion():
    qualities = [chosen([(0, 0, 0, n, 500)], [n])[0][QUALITY] for n in (40, 80, 160, 1000)]
    assert qualities == sorted(qualities) and qualities[0] <= 15 and qualities[-1] == 60


def test_parts_that_differ_more_than_the_primary_are_trusted_less():
    """MAPQ of a part of 400 bases without rivals, by its score and that of the primary."""

    def quality(primary: int, part: int, span: int = 400) -> int:
        rows = [(0, 0, 0, 9000, 500), (0, 0, 9200, 9200 + span, 90_000)]
        first, second = chosen(rows, [primary, part])
        assert (first[ROLE], second[ROLE], first[QUALITY]) == (PRIMARY, SUPPLEMENTARY, 60)
        return second[QUALITY]

    assert quality(9000, 400) == quality(9000, 390) == 60
    falling = [quality(9000, part) for part in (400, 300, 240, 200, 160, 100)]
    assert falling == sorted(falling, reverse=True) and falling[3] < 15 and falling[-1] == 0
    assert quality(6000, 240) > 2 * quality(9000, 240)  # a read of many errors: they say less of its part
    assert quality(6000, 400) == 60  # and a part with fewer of them is no worse for it
    assert quality(9000, 200, 200) > quality(9000, 200, 400)


def test_weak_alignments_are_left_out_and_reads_stay_apart():
    rows = [(0, 0, 0, 25, 500), (2, 0, 0, 9000, 500), (2, 0, 9100, 9120, 60_000)]
    assert chosen(rows, [20, 9000, 20], reads=3) == [[1, PRIMARY, 60, 0]]
    assert chosen(rows, [20, 9000, 20], reads=3, min_score=10) == [
        [0, PRIMARY, chosen(rows[:1], [20], min_score=10)[0][QUALITY], 0],
        [1, PRIMARY, 60, 0],
        [2, SUPPLEMENTARY, chosen([(0, 0, 9100, 9120, 500)], [20], min_score=10)[0][QUALITY], 0],
    ]


def test_of_equal_places_for_another_part_the_nearest_to_the_primary_comes_first():
    primary, places = (0, 1, 0, 9000, 100_000), [90_000, 120_000, 105_000, 200_000]
    for turned in (places, places[::-1]):
        rows = [primary, *((0, 1, 9000, 10_000, place) for place in turned), (0, 0, 0, 1000, 109_000)]
        records = chosen(rows, [8990] + [995] * 5)
        assert [row[ROLE] for row in records] == [PRIMARY, SUPPLEMENTARY] and records[1][QUALITY] == 0
        assert rows[records[1][CANDIDATE]][4] == 105_000


def test_ties_go_by_name_and_place_not_by_order():
    rows = [(r, 0, 0, 10_000, place) for r in range(30) for place in (500, 90_000)]
    first = [row[CANDIDATE] % 2 for row in chosen(rows, [9000] * 60, reads=30)]
    turned = [row for pair in zip(rows[1::2], rows[::2], strict=True) for row in pair]
    assert [1 - row[CANDIDATE] % 2 for row in chosen(turned, [9000] * 60, reads=30)] == first
    assert 5 <= sum(first) <= 25
