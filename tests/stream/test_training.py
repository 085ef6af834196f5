"""Models are made from exactly the first reads of each source."""

from itertools import pairwise

import numpy as np
import pytest

from helpers.lettered_batches import batch, names_of
from readwarp.formats.common.reads import ReadBatch
from readwarp.ragged import replace, take
from readwarp.stream.training import TrainingGroups, train_sources


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


def grouped(names: str, groups: str) -> ReadBatch:
    return replace(batch(names), read_group=np.array(list(map(int, groups)), np.int32))


def trained(letters: str, groups: str, sizes: list[int], pairs: int, known: str) -> list[tuple[str, dict[int, str]]]:
    """(reads of a batch, the reads that each read group's model is made of; -1: that of all)."""
    cuts = np.cumsum([0, *sizes])
    batches = (grouped(letters[a:b], groups[a:b]) for a, b in pairwise(cuts))

    def add(model: dict[int, str], group: int, sample: list[ReadBatch]) -> dict[int, str]:
        return model | {group: "".join(map(names_of, sample))}

    rule = TrainingGroups(lambda _: map(int, known), add)
    made = train_sources(batches, pairs, lambda b: b, lambda sample: {-1: "".join(map(names_of, sample))}, rule)
    return [(names_of(reads), model) for reads, model in made]


@pytest.mark.parametrize("sizes", [[16], [2] * 8, [6, 2, 8], [10, 6], [4, 4, 4, 4]])
def test_read_groups_that_come_later_have_models_of_their_own(sizes):
    """Each is made of its reads among the 4 reads from its first one on, whatever the batches."""
    letters, groups = "abcdefghijklmnop", "0000001122112200"
    made = trained(letters, groups, sizes, 2, "0123")
    assert "".join(names for names, _ in made) == letters
    complete = {-1: "abcd", 1: "gh", 2: "ij"}
    for names, model in made:
        assert model.items() <= complete.items()
        for name in names:
            group = int(groups[letters.index(name)])
            assert group == 0 or group in model
    assert made[-1][1] == complete


def test_batches_are_not_parsed_once_all_read_groups_are_known():
    parsed = []

    def parse(reads: ReadBatch) -> ReadBatch:
        parsed.append(names_of(reads))
        return reads

    batches = (grouped(names, groups) for names, groups in (("abcd", "0011"), ("efgh", "0022"), ("ijkl", "0011")))
    rule = TrainingGroups(lambda _: (0, 1, 2), lambda model, group, sample: model + group)
    assert [model for _, model in train_sources(batches, 1, parse, len, rule)] == [2, 4, 4]
    assert parsed == ["abcd", "abcd", "efgh"]
