"""Halves keep mates together; and which sizes are tried on a card that was full."""

from itertools import pairwise

import pytest

from helpers.lettered_batches import batch, names_of
from readwarp.formats.common.reads import Segment
from readwarp.stream.halving import Halving, Limit

MOST = Limit.MAX_PATIENCE


class FullError(Exception):
    pass


def is_full(error: BaseException) -> bool:
    return isinstance(error, FullError)


class Counted(dict):
    def __call__(self, name, number):
        self[name] = self.get(name, 0) + number


def halved(letters: str, most: int, halving: Halving | None = None) -> tuple[list[str], Counted, list[int]]:
    """With a card that takes so many reads: names of the parts, counts, and the sizes tried on it."""
    count, tried = Counted(), []

    def on_card(reads):
        tried.append(len(reads))
        if len(reads) > most:
            raise FullError
        assert reads.segment[0] == Segment.FIRST
        return names_of(reads)

    halving = halving or Halving(is_full)
    return halving(batch(letters), on_card, lambda reads: names_of(reads).upper(), count), count, tried


def test_halves_until_they_fit_and_keep_mates_together():
    parts, count, _ = halved("abcdefghij", 3)
    assert parts == ["ab", "cd", "ef", "gh", "ij"]
    assert count == {"batches_halved": 4}


def test_an_outlier_does_not_hold_up_the_others():
    halving = Halving(is_full)
    assert halved("abcdefghij", 9, halving)[2] == [10, 6, 4]
    assert [halved("abcdefgh", 9, halving)[2] for _ in range(3)] == [[8]] * 3
    assert halved("abcdefghij", 10, halving)[2] == [10]  # as it fits by now


def test_a_card_that_stays_full_is_tried_ever_more_seldom():
    halving, tried, halves = Halving(is_full), [], 0
    for number in range(600):
        parts, count, sizes = halved("abcd", 2, halving)
        assert parts == ["ab", "cd"]
        halves += count["batches_halved"]
        if 4 in sizes:
            tried.append(number)
    assert tried[:5] == [0, 1, 3, 7, 15] and len(tried) == 11
    assert {later - earlier for earlier, later in pairwise(tried[7:])} == {MOST // 2}
    assert halves == 600


def test_a_card_that_takes_a_quarter_is_not_asked_for_halves_each_time():
    halving, in_vain = Halving(is_full), 0
    for _ in range(300):
        _, _, sizes = halved("abcdefgh", 2, halving)
        in_vain += sum(size > 2 for size in sizes)
    assert 3 < in_vain < 20


def test_a_card_that_has_room_again_gets_whole_batches():
    halving = Halving(is_full)
    for _ in range(40):
        halved("abcdefgh", 2, halving)
    sizes = [halved("abcdefgh", 8, halving)[2] for _ in range(400)]
    assert sizes[0] != [8] and sizes[-1] == [8]
    assert halved("abcdefgh", 2, halving)[2][0] == 8  # and what was is forgotten


def test_a_late_failure_of_another_thread_is_the_same_one():
    limit = Limit()
    for _ in range(5):
        limit.was_full(100)
    assert not limit.allows(100) and limit.allows(99)
    for _ in range(2):
        limit.fitted()
    assert limit.allows(199) and not limit.allows(200)
    for _ in range(2):
        limit.fitted()
    assert limit.allows(1 << 40)


def test_a_pair_that_does_not_fit_is_done_on_the_host():
    parts, count, tried = halved("abcd", 1)
    assert parts == ["AB", "CD"] and tried == [4, 2, 2]
    assert count == {"batches_halved": 1, "reads_on_host": 4}


def test_other_errors_pass_through_the_halving():
    def work(reads):
        raise ValueError("not memory")

    with pytest.raises(ValueError, match="not memory"):
        Halving(is_full)(batch("abcd"), work, work, Counted())
