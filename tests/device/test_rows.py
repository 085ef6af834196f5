"""Row functions: the CPU's loop and the card's grid give the same batches, whatever the sizes of the rows."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy import ndarray

from helpers.seeding import planned
from readwarp.compiler.jit import scalar
from readwarp.device.backend import Backend
from readwarp.device.rows import each_row, empty_beside, ragged_rows, to_host
from readwarp.errors import WorkspaceFullError
from readwarp.ragged import check, columns_of, offsets_of

SIDES = Backend("cpu"), pytest.param(Backend("cuda", (0,)), marks=pytest.mark.cards)
WORDS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)


class Lengths(NamedTuple):
    length: Annotated[ndarray, "int64 [rows]"]
    twice: Annotated[ndarray, "int32 [rows]"]


class Texts(NamedTuple):
    letters: Annotated[ndarray, "uint8 [letters]"]
    places: Annotated[ndarray, "int64 [letters]"]
    offsets: Annotated[ndarray, "int64 [rows + 1] of letters"]
    is_long: Annotated[ndarray, "uint8 [rows]"]


@each_row
def fill_length(row, offsets, factor, out):
    out.length[row] = offsets[row + 1] - offsets[row]
    out.twice[row] = factor * out.length[row]


@scalar
def room_of_text(row, given, least):
    return given[1].length[row] + 3


@ragged_rows(Texts, room_of_text)
def put_text(row, at, given, least, out):
    """Put every other number of the row as a letter, and its row behind it if it is long."""
    (values, offsets), lengths = given
    for i in range(offsets[row], offsets[row + 1], 2):
        out.letters[at], out.places[at] = WORDS[values[i]], i
        at += 1
    out.is_long[row] = lengths.length[row] >= least
    if out.is_long[row]:
        out.letters[at], out.places[at] = 33, row
        at += 1
    return at


def made(side: Backend, values: np.ndarray, offsets: np.ndarray, least: int) -> tuple[Lengths, Texts]:
    rows = offsets.size - 1
    with side.on(), side.frame():
        pair = side.to_device((values, offsets))
        lengths = empty_beside(pair[1], Lengths, {"rows": rows})
        fill_length(rows, pair[1], 2, lengths)
        return to_host(lengths), to_host(put_text(rows, (pair, lengths), least))


@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.name)
@settings(max_examples=20)
@given(st.lists(st.lists(st.integers(0, 25), max_size=40), max_size=70), st.integers(0, 20))
def test_rows_of_any_size(side, rows, least):
    values, offsets = np.array([n for row in rows for n in row], np.int64), offsets_of([len(row) for row in rows])
    lengths, texts = made(side, values, offsets, least)
    check(texts)
    assert lengths.length.tolist() == [len(row) for row in rows]
    assert lengths.twice.tolist() == [2 * len(row) for row in rows]
    found = [bytes(texts.letters[a:b]).decode() for a, b in zip(texts.offsets[:-1], texts.offsets[1:], strict=True)]
    assert found == ["".join(chr(97 + n) for n in row[::2]) + "!" * (len(row) >= least) for row in rows]
    assert texts.is_long.tolist() == [len(row) >= least for row in rows]


@pytest.mark.cards
def test_both_sides_write_the_same():
    rng = np.random.default_rng(5)
    offsets = offsets_of(rng.integers(0, 300, 5000))
    values = rng.integers(0, 26, offsets[-1])
    here, there = (made(side, values, offsets, 150) for side in (Backend("cpu"), Backend("cuda", (0,))))
    for mine, other in zip(here, there, strict=True):
        assert all(np.array_equal(values, columns_of(other)[name]) for name, values in columns_of(mine).items())


@pytest.mark.cards
def test_the_room_is_half_of_what_a_planned_workspace_has_left():
    """Rows that need more do not write there; what is used counts as such, and the next batch begins with all."""
    offsets = offsets_of(np.full(1000, 10))
    values, here = np.arange(offsets[-1]) % 26, Backend("cpu")
    expected = columns_of(made(here, values, offsets, 5)[1])
    with planned(1 << 19) as workspace:
        for _ in range(2):
            found = columns_of(made(Backend("cuda", (0,)), values, offsets, 5)[1])
            assert all(np.array_equal(found[name], column) for name, column in expected.items())
        room = 13 * 1000 * (1 + 8)
        assert room < workspace.high_water < workspace.capacity - room
    with planned(1 << 18), pytest.raises(WorkspaceFullError, match="room for 13000 values"):
        made(Backend("cuda", (0,)), values, offsets, 5)


class Copies(NamedTuple):
    values: Annotated[ndarray, "int64 [values]"]
    offsets: Annotated[ndarray, "int64 [rows + 1] of values"]


@scalar
def room_of_copies(row, sizes):
    return sizes[row]


@ragged_rows(Copies, room_of_copies, is_exact=True)
def put_copies(row, at, sizes, out):
    for _ in range(sizes[row]):
        out.values[at] = row
        at += 1
    return at


@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.name)
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 127, 128, 129, 5000])
def test_rows_that_fill_their_rooms(side, is_known, rows):
    """In one launch where their number is known."""
    sizes = np.random.default_rng(rows).integers(0, 7, rows)
    with side.on(), side.frame():
        number = int(sizes.sum()) if is_known else None
        copies = to_host(put_copies(rows, side.to_device(sizes), number=number))
    check(copies)
    assert (copies.values == np.repeat(np.arange(rows), sizes)).all() and (copies.offsets == offsets_of(sizes)).all()


@pytest.mark.cards
def test_only_launches_that_add_up_need_words_of_tiles(monkeypatch):
    """Another launch, however large, does not make a workspace allocate."""
    side, sizes = Backend("cuda", (0,)), np.arange(9)
    with planned(1 << 16) as workspace:
        offsets, given = side.to_device((offsets_of(sizes), sizes))
        lengths = empty_beside(offsets, Lengths, {"rows": sizes.size})
        monkeypatch.setattr(workspace, "tiles", lambda blocks: pytest.fail("asked for"))
        fill_length(sizes.size, offsets, 2, lengths)
        assert to_host(lengths.length).tolist() == sizes.tolist()
        monkeypatch.undo()
        assert to_host(put_copies(sizes.size, given, number=36)).values.size == 36
