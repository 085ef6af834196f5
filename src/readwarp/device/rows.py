"""Functions of one row, written once for both sides: a loop over the rows on the CPU, a thread for each on a card.

    @each_row                                       @ragged_rows(room)
    def fill(row, ..., out):                        def put(row, at, ..., out):
        out.score[row] = ...                            out.data[at] = ...
                                                        return at + 1

`fill(rows, ..., out)` runs the body for each row, in order on the CPU and in no order on a card, so a row may not read
what the body writes for another. `put(Kind, rows, ...)` makes a batch of rows of varying size: its type has one field
of offsets, which splits the axis that the body writes to. The body writes a row's values from `at` on and returns where
they end, at most room(row, ...) further. On the CPU the rows are written one after another. On a card each is written
where the rows before it certainly end, then the gaps are closed.

Arguments are arrays of one side, numbers, and tuples of these; arrays of a card decide for it. Bodies make no arrays.
"""

from collections.abc import Callable
from functools import cached_property
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from readwarp.compiler.jit import OPTIONS, Kernel
from readwarp.device.card_array import CardArray
from readwarp.ragged import Field, empty, fields_of, replace

INLINED = OPTIONS | {"forceinline": True}  # a call for each row would pass every field of every batch
Batch = TypeVar("Batch", bound=tuple[Any, ...])
LOOP = """
def {name}(rows_, {given}):
    for row_ in range(rows_):
        body(row_, {given})
"""
TOTAL = """
def {name}(rows_, {given}):
    total_ = 0
    for row_ in range(rows_):
        total_ += room(row_, {given})
    return total_
"""
IN_TURN = """
def {name}(rows_, offsets_, {given}):
    at_ = 0
    offsets_[0] = 0
    for row_ in range(rows_):
        at_ = body(row_, at_, {given})
        offsets_[row_ + 1] = at_
    return at_
"""
GRID = """
def {name}(rows_, {given}):
    row_ = np.int64(cuda.grid(1))
    if row_ < rows_:
        body(row_, {given})
"""
ROOMS = """
def {name}(sizes_, {given}):
    row_ = np.int64(cuda.grid(1))
    if row_ < sizes_.size:
        sizes_[row_] = room(row_, {given})
"""
APART = """
def {name}(rooms_, sizes_, {given}):
    row_ = np.int64(cuda.grid(1))
    if row_ < sizes_.size:
        sizes_[row_] = body(row_, rooms_[row_], {given}) - rooms_[row_]
"""


class RowFunction:
    """A function of one row, to be called for all rows."""

    def __init__(self, body: Callable[..., Any]) -> None:
        self.body = body
        self.loop = Kernel(_write(self.body, LOOP, "loop", 1, {"body": Kernel(body, INLINED)}), OPTIONS)

    def __call__(self, rows: int, *arguments: Any) -> None:
        if not is_on_card(arguments):
            self.loop(rows, *arguments)
        elif rows:
            from readwarp.device.cuda_rows import grid_of

            self.grid[grid_of(rows)](rows, *arguments)

    @cached_property
    def grid(self) -> Any:
        """The kernel for cards."""
        from readwarp.device.cuda_rows import compile_rows

        return compile_rows(_write(self.body, GRID, "grid", 1, {"body": self.loop.py_func.__globals__["body"]}))


class RaggedFunction:
    """A function that writes the values of one row, to be called for all rows of a batch."""

    def __init__(self, body: Callable[..., Any], room: Kernel) -> None:
        self.body, self.parts = body, {"body": Kernel(body, INLINED), "room": room}
        self.total = Kernel(_write(body, TOTAL, "total", 2, self.parts, without_out=True), OPTIONS)
        self.in_turn = Kernel(_write(body, IN_TURN, "in_turn", 2, self.parts), OPTIONS)

    def __call__(self, kind: type[Batch], rows: int, *arguments: Any) -> Batch:
        """Return a batch of this type. Its other columns on the axis of the rows are written by the body too."""
        name, field = _offsets_of(kind)
        if is_on_card(arguments):
            from readwarp.device.cuda_rows import put_rows

            return put_rows(self, kind, (name, field), rows, arguments)
        assert field.splits
        out = empty(kind, {field.rows: rows, field.splits: self.total(rows, *arguments)})
        made = self.in_turn(rows, getattr(out, name), *arguments, out)
        split = [each for each, declared in fields_of(kind).items() if declared.rows == field.splits]
        return replace(out, **{each: getattr(out, each)[:made] for each in split})

    @cached_property
    def rooms(self) -> Any:
        """The kernel for cards that finds the room of each row."""
        from readwarp.device.cuda_rows import compile_rows

        return compile_rows(_write(self.body, ROOMS, "rooms", 2, self.parts, without_out=True))

    @cached_property
    def apart(self) -> Any:
        """The kernel for cards that writes each row to its room."""
        from readwarp.device.cuda_rows import compile_rows

        return compile_rows(_write(self.body, APART, "apart", 2, self.parts))


def each_row(body: Callable[..., Any]) -> RowFunction:
    """Make of the body for one row a function for all rows."""
    return RowFunction(body)


def ragged_rows(room: Kernel) -> Callable[[Callable[..., Any]], RaggedFunction]:
    """Make of the body for one row a function for all rows.

    room: a `scalar` of the row and the arguments.
    """
    return lambda body: RaggedFunction(body, room)


def empty_beside(beside: Any, kind: type[Batch], lengths: dict[str, int]) -> Batch:
    """Make a batch to be filled on the side of the array `beside`."""
    if not isinstance(beside, CardArray):
        return empty(kind, lengths)
    from readwarp.device.memory import current

    return empty(kind, lengths, current().empty)


def is_on_card(arguments: Any) -> bool:
    """Return whether an argument, or a part of one, is an array of a card."""
    return any(isinstance(each, CardArray) or (isinstance(each, tuple) and is_on_card(each)) for each in arguments)


def _offsets_of(kind: type) -> tuple[str, Field]:
    """Return the one field of offsets of a batch type."""
    ((name, field),) = [item for item in fields_of(kind).items() if item[1].splits]
    return name, field


def _write(
    body: Callable[..., Any],
    template: str,
    name: str,
    first: int,
    names: dict[str, Any],
    without_out: bool = False,
) -> Callable[..., Any]:
    """Write the function around a body from a template. first: number of the body's parameters that it sets itself."""
    given = list(signature(body).parameters)[first:]
    space = {"np": np, **names, "__name__": body.__module__}
    exec(template.format(name=name, given=", ".join(given[:-1] if without_out else given)), space)
    made: Callable[..., Any] = space[name]
    made.__qualname__ = f"{body.__qualname__}.{name}"
    return made
