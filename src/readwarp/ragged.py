"""Ragged arrays: the values of all rows in one array, and `offsets` (int64 [rows + 1]) to the start of each row.

Types that travel between steps are named tuples of arrays, which kernels take whole. Each field declares its dtype and
axes: `int32 [sites]` has a row per site. Ragged data are values and the offsets that split them: `int64 [sites + 1] of
alleles` says where the alleles of each site begin, on their own axis. From these declarations, `readwarp.ragged` takes,
joins and checks rows. The same type holds arrays of the host or of a card; only the backend moves it. `len` is the
number of rows, so use `ragged.replace` to make a copy, not `_replace`.

Positions are 0-based and half-open, bases are 0-4 (A C G T other), strand is 0 forward or 1 reverse, qualities are
Phred integers. A reference position counts from the first base of the first contig (contigs follow one another, see
`readwarp.index`). A query position counts on the *oriented* read: the read as sequenced on strand 0, its reverse
complement on strand 1. So `reference - query` is one diagonal on either strand.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

T = TypeVar("T")
Batch = TypeVar("Batch", bound=tuple[Any, ...])
DECLARED = re.compile(r"(\w+) \[([^\]]+)\](?: of ([\w ]+))?")


def offsets_of(sizes: ArrayLike) -> ndarray:
    """Turn row sizes into offsets."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def ranges(offsets: ndarray, rows: ndarray) -> ndarray:
    """Return the indices of all values of the given rows, row by row."""
    sizes = np.diff(offsets)[rows]
    places = np.repeat(offsets[rows] - np.cumsum(sizes) + sizes, sizes)
    places += np.arange(places.size)
    return places


def first_alike(*columns: ndarray) -> ndarray:
    """Return, for each row, the first one with the same values in all columns: int64 [rows]."""
    order = np.lexsort(columns)
    is_new = np.ones(order.size, bool)
    is_new[1:] = np.logical_or.reduce([column[order[1:]] != column[order[:-1]] for column in columns])
    first = np.empty(order.size, np.int64)
    first[order] = order[is_new][np.cumsum(is_new) - 1]
    return first


class RowAxis(NamedTuple):
    """An axis, declared as `name`, as `name + 1`, or by a number."""

    name: str
    more: int  # 1 for offsets, which are one more than the rows

    def __str__(self) -> str:
        return f"{self.name} + 1" if self.more else self.name


class Field(NamedTuple):
    """The declaration of one array of a batch."""

    dtype: np.dtype[Any]
    axes: tuple[RowAxis, ...]
    splits: str | None  # the axis whose values these offsets split into rows

    @property
    def rows(self) -> str:
        """The first axis."""
        return self.axes[0].name


@cache
def fields_of(kind: type) -> dict[str, Field]:
    """Return the arrays that a batch type declares, by name."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for text in getattr(hint, "__metadata__", ()):
            match = DECLARED.fullmatch(text)
            if match is None:
                raise TypeError(f"{kind.__name__}.{name}: {text!r} does not declare an array")
            axes = (RowAxis(axis.removesuffix(" + 1"), int(axis.endswith(" + 1"))) for axis in match[2].split(", "))
            found[name] = Field(np.dtype(match[1]), tuple(axes), match[3])
    return found


def columns_of(value: Any) -> dict[str, Any]:
    """Return the fields of a batch or dataclass, by name."""
    if isinstance(value, tuple):
        return dict(value._asdict())  # type: ignore[attr-defined]
    return {field.name: getattr(value, field.name) for field in fields(value)}


def replace(value: T, **columns: Any) -> T:
    """Copy the batch or dataclass with other columns."""
    return type(value)(**{**columns_of(value), **columns})


def empty(kind: type[Batch], lengths: dict[str, int], make: Callable[..., Any] = np.empty, /, **columns: Any) -> Batch:
    """Make a batch to be filled, with these columns. Axes without a given length have that of the columns.

    make: of a shape and a dtype, an array.
    """
    lengths, declared = dict(lengths), fields_of(kind)
    for name in columns.keys() & declared.keys():
        field, values = declared[name], columns[name]
        lengths[field.rows] = len(values) - field.axes[0].more
        if field.splits and field.splits not in lengths:
            lengths[field.splits] = int(values[-1])
    for name, field in declared.items():
        if name not in columns:
            shape = tuple(int(axis) if axis.isdigit() else lengths[axis] + more for axis, more in field.axes)
            columns[name] = make(shape, field.dtype)
    return kind(**columns)


def take(batch: Batch, axis: str, rows: "slice | ndarray") -> Batch:
    """Take rows of an axis (a slice: views; bool [rows]; or integers in any order), with all they hold.

    Arrays on other axes stay as they are.
    """
    chosen, columns = {axis: rows}, dict[str, Any]()
    for name, field in _from_rows_to_values(type(batch)):
        if field.rows not in chosen:
            continue
        values, rows = getattr(batch, name), chosen[field.rows]
        if field.splits is None:
            columns[name] = values[rows]
        else:
            columns[name], chosen[field.splits] = _taken(values, rows)
    return replace(batch, **columns)


def _taken(offsets: ndarray, rows: "slice | ndarray") -> "tuple[ndarray, slice | ndarray]":
    """Return the offsets of these rows, and where their values are."""
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(offsets.size - 1)
        stop = max(start, stop)
        first, last = offsets[start], offsets[stop]
        return offsets[start : stop + 1] - first, slice(int(first), int(last))
    sizes = np.diff(offsets)
    return offsets_of(sizes[rows]), np.repeat(rows, sizes) if rows.dtype == bool else ranges(offsets, rows)


def concatenate(batches: Sequence[Batch], axis: str) -> Batch:
    """Join the rows of an axis of all batches (at least one), with all they hold; the rest is the first batch's."""
    joined, columns = {axis}, dict[str, Any]()
    for name, field in _from_rows_to_values(type(batches[0])):
        if field.rows not in joined:
            continue
        parts = [getattr(batch, name) for batch in batches]
        if field.splits is None:
            columns[name] = np.concatenate(parts)
        else:
            columns[name] = offsets_of(np.concatenate([np.diff(part) for part in parts]))
            joined.add(field.splits)
    return replace(batches[0], **columns)


def check(batch: tuple[Any, ...]) -> None:
    """Raise ValueError if a batch violates its type's declaration: dtypes, axes of one length, rising offsets."""
    kind, lengths = type(batch), dict[str, int]()
    for name, field in fields_of(kind).items():
        values = getattr(batch, name)
        where = f"{kind.__name__}.{name}"
        if values.dtype != field.dtype or values.ndim != len(field.axes):
            declared = f"{field.dtype} {[*map(str, field.axes)]}"
            raise ValueError(f"{where}: {values.dtype}, {values.ndim} axes; declared {declared}")
        for (axis, more), length in zip(field.axes, values.shape, strict=True):
            known = int(axis) if axis.isdigit() else lengths.setdefault(axis, length - more)
            if known != length - more:
                raise ValueError(f"{where}: {length - more} {axis}, elsewhere {known}")
        if field.splits:
            if values[0] != 0 or (np.diff(values) < 0).any():
                raise ValueError(f"{where}: offsets must rise from 0")
            if lengths.setdefault(field.splits, int(values[-1])) != values[-1]:
                raise ValueError(f"{where}: ends at {values[-1]} of {lengths[field.splits]} {field.splits}")


@cache
def _from_rows_to_values(kind: type) -> tuple[tuple[str, Field], ...]:
    """Return the declared arrays: offsets first, arrays of rows before arrays of the values in the rows."""
    waiting = dict(fields_of(kind))
    split = {field.splits: field.rows for field in waiting.values() if field.splits}

    def depth(field: Field) -> int:
        level, axis = 0, field.rows
        while axis in split:
            level, axis = level + 1, split[axis]
        return level

    return tuple(sorted(waiting.items(), key=lambda item: (item[1].splits is None, depth(item[1]))))


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows that users give or get: arrays of NumPy or another library, on the host or on a card."""

    values: Any  # [offsets[-1]]
    offsets: Any  # integers [rows + 1], ascending from 0

    def __len__(self) -> int:
        return len(self.offsets) - 1
