"""Rows of two batches in another order, on either side."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest
from numpy import ndarray

from readwarp.device.backend import Backend
from readwarp.device.gather import gathers, merge_offsets
from readwarp.device.rows import to_host
from readwarp.ragged import offsets_of, take

SIDES = Backend("cpu"), pytest.param(Backend("cuda", (0,)), marks=pytest.mark.cards)


class Rows(NamedTuple):
    """Rows of two types, in groups."""

    offsets: Annotated[ndarray, "int64 [groups + 1] of rows"]
    number: Annotated[ndarray, "int64 [rows]"]
    small: Annotated[ndarray, "uint8 [rows]"]


@gathers(Rows, "rows")
def gather_test_rows(): ...


def rows_of(sizes, first):
    number = np.arange(first, first + sum(sizes))
    return Rows(offsets_of(sizes), number, (number % 251).astype(np.uint8))


@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.name)
def test_merged_by_group(side):
    """The rows of each group: those of the first batch, then those of the second."""
    rng = np.random.default_rng(1)
    for sizes in (rng.integers(0, 4, (2, 300)), np.zeros((2, 3), np.int64), np.array([[2, 0], [0, 1]])):
        first, second = rows_of(sizes[0].tolist(), 0), rows_of(sizes[1].tolist(), 1000)
        with side.on(), side.frame():
            there = side.to_device((first, second))
            given = *(each.offsets for each in there), first.number.size
            offsets, rows = merge_offsets(sizes.shape[1], *given)
            found = to_host((offsets, gather_test_rows(rows, *there)))
        assert found[0].tolist() == offsets_of(sizes.sum(axis=0)).tolist()
        expected = [number for group in range(sizes.shape[1]) for batch in (first, second)
                    for number in batch.number[batch.offsets[group] : batch.offsets[group + 1]].tolist()]  # fmt: skip
        assert found[1].number.tolist() == expected
        assert found[1].small.tolist() == [number % 251 for number in expected]


@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.name)
def test_any_order_of_one_batch(side):
    batch, rows = rows_of([4, 3], 5), np.array([6, 0, 0, 3])
    with side.on(), side.frame():
        found = to_host(gather_test_rows(*side.to_device((rows, batch))))
    assert found.number.tolist() == [11, 5, 5, 8]
    assert found.small.tolist() == take(batch._replace(offsets=np.arange(8)), "rows", rows).small.tolist()
    assert found.offsets.tolist() == [0, 4, 7]  # another axis stays
