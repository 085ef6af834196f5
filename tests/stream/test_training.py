"""Models are made from exactly the first reads of each source."""

from itertools import pairwise

import numpy as np
import pytest

from helpers.lettered_batches import batch, names_of
from readwarp.ragged import take
from readwarp.stream.training import train_sources


def test_take_takes_all_arrays():
    part = take(batch("abcdef"), "reads", slice(2, 4))
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
    made = list(train_sources((b for b in batches), pairs, lambda b: b, lambda sample: "".join(map(names_of, sample))))
    assert [b for b, _ in made] == batches
    assert {model for _, model in made} == {letters[: 2 * pairs]}


def test_each_source_has_its_own_model():
    batches = [batch("ab", source=0), batch("cd", source=0), batch("ef", source=1)]
    made = list(train_sources((b for b in batches), 1, lambda b: b, lambda sample: names_of(sample[0])))
    assert [model for _, model in made] == ["ab", "ab", "ef"]


def test_single_reads_do_not_hold_the_whole_input_back():
    taken = []

    def batches():
        for i in range(100):
            taken.append(i)
            yield batch("abcd", paired=False)

    next(train_sources(batches(), 4, lambda b: b, len))
    assert len(taken) == 2


def test_the_reader_is_closed_when_training_fails():
    closed = []

    def batches():
        try:
            yield batch("abcd")
        finally:
            closed.append(True)

    with pytest.raises(ZeroDivisionError):
        next(train_sources(batches(), 1, lambda b: b, lambda sample: 1 // 0))
    assert closed
