"""Models come from exactly the first reads of each source; halves keep mates together."""

from itertools import pairwise

import numpy as np
import pytest

from readwarp.batches import ReadBatch, Segment
from readwarp.stream.halving import Halving, reads_between
from readwarp.stream.training import with_models


def batch(names: str, paired: bool = True, source: int = 0, number: int = 0) -> ReadBatch:
    """One read of i + 1 bases for letter i of `names`; all arrays tell which read they belong to."""
    n = len(names)
    lengths = np.arange(1, n + 1)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    one_each = np.arange(n + 1, dtype=np.int64)
    letters = np.frombuffer(names.encode(), np.uint8)
    bases = np.repeat(letters, lengths)
    segment = np.where(np.arange(n) % 2 == 0, Segment.FIRST, Segment.LAST) if paired else np.zeros(n)
    groups = np.arange(n, dtype=np.int32)
    arrays = (bases, bases + 1, offsets, letters, one_each, letters + 2, one_each, segment.astype(np.uint8), groups)
    return ReadBatch(number, source, *arrays)


def names_of(reads: ReadBatch) -> str:
    return reads.names.tobytes().decode()


def test_reads_between_takes_all_arrays():
    part = reads_between(batch("abcdef"), 2, 4)
    assert names_of(part) == "cd"
    assert part.bases.tobytes() == b"cccdddd"
    assert part.qualities.tobytes() == b"dddeeee"
    assert part.tags.tobytes() == b"ef"
    assert part.read_offsets.tolist() == [0, 3, 7]
    assert part.read_group.tolist() == [2, 3]


@pytest.mark.parametrize("sizes", [[12], [2] * 6, [4, 2, 6], [8, 4]])
@pytest.mark.parametrize("pairs", [1, 2, 3, 5, 6, 100])
def test_training_sees_the_same_reads_whatever_the_batches(sizes, pairs):
    letters = "abcdefghijkl"
    cuts = np.cumsum([0, *sizes])
    batches = [batch(letters[a:b]) for a, b in pairwise(cuts)]
    made = list(with_models((b for b in batches), pairs, lambda b: b, lambda sample: "".join(map(names_of, sample))))
    assert [b for b, _ in made] == batches
    assert {model for _, model in made} == {letters[: 2 * pairs]}


def test_each_source_has_its_own_model():
    batches = [batch("ab", source=0), batch("cd", source=0), batch("ef", source=1)]
    made = list(with_models((b for b in batches), 1, lambda b: b, lambda sample: names_of(sample[0])))
    assert [model for _, model in made] == ["ab", "ab", "ef"]


def test_single_reads_do_not_hold_the_whole_input_back():
    taken = []

    def batches():
        for i in range(100):
            taken.append(i)
            yield batch("abcd", paired=False)

    next(with_models(batches(), 4, lambda b: b, len))
    assert len(taken) == 2


def test_the_reader_is_closed_when_training_fails():
    closed = []

    def batches():
        try:
            yield batch("abcd")
        finally:
            closed.append(True)

    with pytest.raises(ZeroDivisionError):
        next(with_models(batches(), 1, lambda b: b, lambda sample: 1 // 0))
    assert closed


class FullError(Exception):
    pass


class Counted(dict):
    def __call__(self, name, number):
        self[name] = self.get(name, 0) + number


def halved(letters: str, most: int, halving: Halving | None = None) -> tuple[list[str], Counted, list[int]]:
    """Names of the parts, where a card takes so many reads; counts; sizes that were tried on it."""
    count, tried = Counted(), []

    def on_card(reads):
        tried.append(len(reads))
        if len(reads) > most:
            raise FullError
        assert reads.segment[0] == Segment.FIRST
        return names_of(reads)

    halving = halving or Halving(lambda e: isinstance(e, FullError))
    return halving(batch(letters), on_card, lambda reads: names_of(reads).upper(), count), count, tried


def test_halves_until_they_fit_and_keep_mates_together():
    parts, count, _ = halved("abcdefghij", 3)
    assert parts == ["ab", "cd", "ef", "gh", "ij"]
    assert count == {"batches_halved": 4}


def test_what_was_too_much_once_is_not_tried_again():
    halving = Halving(lambda e: isinstance(e, FullError))
    assert halved("abcdefghij", 4, halving)[2] == [10, 6, 4, 2, 4]
    parts, _, tried = halved("abcdefghijkl", 4, halving)
    assert "".join(parts) == "abcdefghijkl" and max(tried) <= 4


def test_a_pair_that_does_not_fit_is_done_on_the_host():
    parts, count, tried = halved("abcd", 1)
    assert parts == ["AB", "CD"] and tried == [4, 2, 2]
    assert count == {"batches_halved": 1, "reads_on_host": 4}


def test_other_errors_pass_through_the_halving():
    def work(reads):
        raise ValueError("not memory")

    with pytest.raises(ValueError, match="not memory"):
        Halving(lambda e: isinstance(e, FullError))(batch("abcd"), work, work, Counted())
