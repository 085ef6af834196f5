"""Rows of batches are taken, joined and checked by the axes that the types declare; compared with plain Python."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import ndarray

from readwarp.align import batches as align
from readwarp.call.candidates import batches as candidates
from readwarp.call.likelihoods import batches as likelihoods
from readwarp.call.places import bases
from readwarp.formats.alignments import aligned, records
from readwarp.formats.common import reads
from readwarp.formats.variants import calls
from readwarp.pairwise import pairs
from readwarp.ragged import check, concatenate, empty, fields_of, first_alike, offsets_of, replace, take


class Shelf(NamedTuple):
    """Shelves have books, and books have words; arrays that belong to no shelf stay."""

    room: int
    height: Annotated[ndarray, "int32 [shelves]"]
    book_offsets: Annotated[ndarray, "int64 [shelves + 1] of books"]
    size: Annotated[ndarray, "uint8 [books, 2]"]
    words: Annotated[ndarray, "uint8 [words]"]
    word_offsets: Annotated[ndarray, "int64 [books + 1] of words"]
    lamps: Annotated[ndarray, "float64 [lamps]"]

    def __len__(self) -> int:
        return self.height.size


Plain = list[tuple[int, list[tuple[tuple[int, int], list[int]]]]]  # of each shelf its height and books (size, words)
byte = st.integers(0, 255)
books = st.tuples(st.tuples(byte, byte), st.lists(byte, max_size=4))
shelves = st.lists(st.tuples(byte, st.lists(books, max_size=4)), max_size=6)


def packed(plain: Plain) -> Shelf:
    all_books = [book for _, some in plain for book in some]
    return Shelf(
        room=3,
        height=np.array([height for height, _ in plain], np.int32),
        book_offsets=offsets_of([len(some) for _, some in plain]),
        size=np.array([size for size, _ in all_books], np.uint8).reshape(-1, 2),
        words=np.array([word for _, words in all_books for word in words], np.uint8),
        word_offsets=offsets_of([len(words) for _, words in all_books]),
        lamps=np.array([0.5, 1.5]),
    )


def unpacked(batch: Shelf) -> Plain:
    check(batch)
    assert batch.room == 3 and batch.lamps.tolist() == [0.5, 1.5]
    words = [batch.words[a:b].tolist() for a, b in zip(batch.word_offsets[:-1], batch.word_offsets[1:], strict=True)]
    all_books = list(zip(map(tuple, batch.size.tolist()), words, strict=True))
    bounds = zip(batch.book_offsets[:-1], batch.book_offsets[1:], strict=True)
    return [(h, all_books[a:b]) for h, (a, b) in zip(batch.height.tolist(), bounds, strict=True)]


@given(shelves, st.data())
def test_rows_with_all_they_hold(plain, data):
    batch = packed(plain)
    rows = data.draw(st.lists(st.integers(0, len(plain) - 1), max_size=8)) if plain else []
    assert unpacked(take(batch, "shelves", np.array(rows, np.int64))) == [plain[row] for row in rows]
    chosen = data.draw(st.lists(st.booleans(), min_size=len(plain), max_size=len(plain)))
    kept = [shelf for shelf, is_chosen in zip(plain, chosen, strict=True) if is_chosen]
    assert unpacked(take(batch, "shelves", np.array(chosen, bool))) == kept
    start, stop = data.draw(st.integers(0, len(plain))), data.draw(st.integers(0, len(plain)))
    part = take(batch, "shelves", slice(start, stop))
    assert unpacked(part) == plain[start:stop]
    assert part.height.base is batch.height


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3))))
def test_the_first_row_alike(rows):
    one, two = np.array(rows, np.int64).reshape(-1, 2).T
    assert first_alike(one, two.astype(np.uint16)).tolist() == [rows.index(row) for row in rows]


def test_rows_of_an_inner_axis_leave_the_outer_one_alone():
    batch = packed([(1, [((1, 1), [7]), ((2, 2), [8, 9])]), (2, [((3, 3), [])])])
    part = take(batch, "books", np.array([1]))
    assert (part.size.tolist(), part.words.tolist(), part.word_offsets.tolist()) == ([[2, 2]], [8, 9], [0, 2])
    assert part.book_offsets is batch.book_offsets and part.height is batch.height


def test_a_batch_to_be_filled():
    """Lengths of axes that no column tells are given."""
    books, words = np.array([0, 2, 5]), np.array([0, 1, 1, 1, 4, 9])
    batch = empty(Shelf, {"lamps": 3}, room=4, book_offsets=books, word_offsets=words)
    assert batch.book_offsets is books and batch.word_offsets is words and batch.room == 4
    shapes = [(column.shape, column.dtype) for column in (batch.height, batch.size, batch.words, batch.lamps)]
    assert shapes == [((2,), np.int32), ((5, 2), np.uint8), ((9,), np.uint8), ((3,), np.float64)]


@given(st.lists(shelves, min_size=1, max_size=4))
def test_batches_are_joined(parts):
    joined = concatenate([packed(part) for part in parts], "shelves")
    assert unpacked(joined) == [shelf for part in parts for shelf in part]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"height": np.zeros(2, np.int64)}, "Shelf.height: int64"),
        ({"height": np.zeros(3, np.int32)}, "elsewhere 3"),
        ({"size": np.zeros((1, 3), np.uint8)}, "Shelf.size: 3 2, elsewhere 2"),
        ({"book_offsets": np.array([0, 1, 0])}, "rise from 0"),
        ({"words": np.zeros(9, np.uint8)}, "ends at 3 of 9 words"),
    ],
)
def test_a_batch_that_is_not_as_declared(columns, reason):
    batch = packed([(1, [((1, 1), [7, 7, 7])]), (2, [])])
    check(batch)
    with pytest.raises(ValueError, match=reason):
        check(replace(batch, **columns))


def test_replace_keeps_the_rest():
    batch = packed([(1, [])])
    other = replace(batch, room=4)
    assert (other.room, len(other)) == (4, 1) and other.height is batch.height


MODULES = [align, candidates, likelihoods, pairs, aligned, records, reads, calls, bases]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_each_array_declares_its_axes(module):
    """And the arrays that offsets split are on the axis they name."""
    for kind in vars(module).values():
        if isinstance(kind, type) and issubclass(kind, tuple) and kind.__module__ == module.__name__:
            declared = fields_of(kind)
            arrays = {name for name, hint in kind.__annotations__.items() if "ndarray" in str(hint)}
            assert arrays == set(declared), kind
            for name, field in declared.items():
                if field.splits:
                    assert name.endswith("_offsets") and field.axes[0].more == 1, (kind, name)
