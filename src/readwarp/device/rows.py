"""Functions of one row, written once for both sides: a loop over the rows on the CPU, a thread for each on a card.

    @each_row                                       @ragged_rows(Kind, room)
    def fill(row, ..., out):                        def put(row, at, ..., out):
        out.score[row] = ...                            out.data[at] = ...
                                                        return at + 1

`fill(rows, ..., out)` runs the body for each row, in order on the CPU and in no order on a card: no row may read what
the body writes for another. `put(rows, ...)` makes a batch of rows of varying size: its type has one field of offsets,
which splits the axis that the body writes to. The body writes a row's values from `at` on, at most room(row, ...) of
them, and returns where they end. On the CPU each row begins where the one before it ends; on a card it begins where
that certainly has ended, and the gaps are closed afterwards, unless rows always fill their rooms (is_exact).
The body of an @each_size function returns a size: `add(rows, offsets, ...)` sets offsets[i] to the sum of those before.

Arguments are arrays of one side, numbers, and tuples of these; arrays of a card decide for it. Bodies make no arrays.
"""

from collections.abc import Callable
from functools import cached_property, partial
from inspect import signature
from typing import Any, Generic

import numpy as np

from readwarp.compiler.jit import OPTIONS, Kernel
from readwarp.device.card_array import CardArray
from readwarp.ragged import Batch, empty, fields_of, take

INLINED = OPTIONS | {"forceinline": True}  # a call for each row would pass every field of every batch
LOOP = """
def loop(rows_, {given}):
    for row_ in range(rows_):
        body(row_, {given})
"""
GRID = """
def grid(rows_, {given}):
    row_ = np.int64(cuda.grid(1))
    if row_ < rows_:
        body(row_, {given})
"""
LOOP_OF_SIZES = """
def loop(rows_, offsets_, {given}):
    offsets_[0] = 0
    for row_ in range(rows_):
        offsets_[row_ + 1] = offsets_[row_] + body(row_, {given})
"""
GRID_OF_SIZES = """
def grid(rows_, tiles_, offsets_, {given}):
    tile_, size_ = cuda.shared.array(1, np.int64), np.int64(0)
    if cuda.threadIdx.x == 0:
        tile_[0] = cuda.atomic.add(tiles_, NEXT, 1)
    cuda.syncthreads()
    row_ = tile_[0] * cuda.blockDim.x + cuda.threadIdx.x
    if row_ < rows_:
        size_ = np.int64(body(row_, {sized}))
    before_ = sum_before(size_, tile_[0], tiles_)
    if row_ <= rows_:
        offsets_[row_] = before_
    {then}
"""
IN_TURN = """
def in_turn(rows_, offsets_, {given}):
    at_ = offsets_[0] = 0
    for row_ in range(rows_):
        at_ = body(row_, at_, {given})
        offsets_[row_ + 1] = at_
"""
ROOMS = """
def {name}(row_, {given}):
    return room(row_, {given})
"""
APART = """
def apart(row_, rooms_, {given}):
    if rooms_[row_ + 1] > {out}.{column}.size:
        return np.int64(0)  # the host sees that
    return body(row_, rooms_[row_], {given}) - rooms_[row_]
"""
CLOSE = """
def close(lane_, rooms, offsets, loose, dense):
    row_ = np.uint64(lane_) // LANES
    first_, back_ = offsets[row_], rooms[row_] - offsets[row_]
    for to_ in range(first_ + np.int64(np.uint64(lane_) % LANES), offsets[row_ + ONE], np.int64(LANES)):
        at_, from_ = np.uint64(to_), np.uint64(to_ + back_)
        {moves}
"""
LANES, ONE = np.uint64(32), np.uint64(1)  # threads that move the values of a row; no index is negative


class RowFunction:
    """A function of one row, to be called for all rows."""

    def __init__(self, body: Callable[..., Any], of_sizes: bool = False, put: Kernel | None = None) -> None:
        """of_sizes: the body returns the size of its row, and for all rows their offsets are set, int64 [rows + 1].

        put: on a card, what then writes the values of a row at its offset to one more argument.
        """
        self.more, self.put = int(of_sizes), put  # rows: of the offsets
        self.body, self.parts = body, {"body": Kernel(body, INLINED), "put": put}
        self.given = list(signature(body).parameters)[1:]
        self.loop = Kernel(write(LOOP_OF_SIZES if of_sizes else LOOP, body, self.parts, given=self.given), OPTIONS)

    def __call__(self, rows: int, *arguments: Any) -> None:
        if not is_on_card(arguments):
            self.loop(rows, *arguments)
        elif rows or self.more:
            from readwarp.device.cuda_launch import threads_for
            from readwarp.device.memory import current

            where = threads_for(rows + self.more, current())
            tiles = [current().tiles(where[0])] if self.more else []
            self.grid[where](rows, *tiles, *arguments)

    @cached_property
    def grid(self) -> Any:
        """The kernel for cards."""
        from readwarp.device.cuda_jit import cuda, cuda_kernel
        from readwarp.device.cuda_scan import NEXT, sum_before

        parts = self.parts | {"cuda": cuda, "NEXT": NEXT, "sum_before": sum_before}
        given = [*self.given, "out_"] if self.put else self.given
        then = [f"if row_ < rows_: put(row_, before_, {', '.join(given)})"] if self.put else ["pass"]
        template = GRID_OF_SIZES if self.more else GRID
        return cuda_kernel(write(template, self.body, parts, given=given, sized=self.given, then=then))


each_row, each_size = RowFunction, partial(RowFunction, of_sizes=True)  # as decorators


class RaggedFunction(Generic[Batch]):
    """A function that writes the values of one row, to be called for all rows of a batch."""

    lanes = int(LANES)

    def __init__(self, body: Callable[..., Any], kind: type[Batch], room: Kernel, is_exact: bool) -> None:
        parts, given = {"body": Kernel(body, INLINED), "room": room}, list(signature(body).parameters)[2:]
        self.kind, self.is_exact = kind, is_exact
        ((self.name, self.field),) = [item for item in fields_of(kind).items() if item[1].splits]
        split = self.field.splits
        self.columns = {name: field.dtype for name, field in fields_of(kind).items() if field.rows == split}
        self.in_turn = Kernel(write(IN_TURN, body, parts, given=given), OPTIONS)
        rooms, at_once = (write(ROOMS, body, parts, given=given[:-1], name=[name]) for name in ("rooms", "at_once"))
        self.rooms, self.at_once = each_size(rooms), each_size(at_once, put=parts["body"])
        apart = write(APART, body, parts, given=given, out=given[-1:], column=list(self.columns)[:1])
        self.apart = RowFunction(apart, of_sizes=not is_exact)
        moves = ["; ".join(f"dense.{name}[at_] = loose.{name}[from_]" for name in self.columns)]
        self.close = RowFunction(write(CLOSE, body, {"LANES": LANES, "ONE": ONE}, moves=moves))

    def __call__(self, rows: int, *arguments: Any, number: int | None = None) -> Batch:
        """Return a batch of the type, whose other columns of the rows are written by the body too.

        number: of values, if the caller knows it and the rows fill their rooms; then a card need not be waited for.
        """
        assert number is None or self.is_exact
        if is_on_card(arguments):
            from readwarp.device.cuda_scan import put_rows

            made: Batch = put_rows(self, rows, arguments, number)
            return made
        rooms = np.empty(rows + 1, np.int64)
        self.rooms(rows, rooms, *arguments)
        out = self.empty(rows, int(rooms[-1]), np.empty)
        offsets = getattr(out, self.name)
        self.in_turn(rows, offsets, *arguments, out)
        return out if self.is_exact else take(out, str(self.field.splits), slice(int(offsets[-1])))

    def empty(self, rows: int, values: int, make: Callable[..., Any], **columns: Any) -> Batch:
        """Make a batch to be filled."""
        return empty(self.kind, {self.field.rows: rows, str(self.field.splits): values}, make, **columns)


def ragged_rows(
    kind: type[Batch], room: Kernel, is_exact: bool = False
) -> Callable[[Callable[..., Any]], RaggedFunction[Batch]]:
    """Make of the body for one row a function for all rows, of which it makes a batch of this type.

    room: a `scalar` of the row and the arguments. is_exact: the body always fills it.
    """
    return lambda body: RaggedFunction(body, kind, room, is_exact)


def empty_beside(beside: Any, kind: type[Batch], lengths: dict[str, int]) -> Batch:
    """Make a batch to be filled on the side of the array `beside`."""
    return empty(kind, lengths, maker_beside(beside))


def maker_beside(beside: Any) -> Callable[[Any, Any], Any]:
    """Return what makes an array to be filled, of a shape and a dtype, on the side of the array `beside`."""
    workspace = workspace_of(beside)
    return workspace.keep if workspace else np.empty


def to_side_of(beside: Any, values: Any) -> Any:
    """Return an array, or a tuple of arrays, on the side of the array `beside`, copied there from the host."""
    workspace = workspace_of(beside)
    return workspace.on_card(values) if workspace else values


def to_host(values: Any) -> Any:
    """Return an array, or a tuple of arrays, on the host, copied there from a card."""
    workspace = workspace_of(values)
    return workspace.on_host(values) if workspace else values


def workspace_of(*values: Any) -> Any:
    """Return the calling thread's workspace if an array, or one in a tuple, is on a card, else None."""
    if not is_on_card(values):
        return None
    from readwarp.device.memory import current

    return current()


def is_on_card(arguments: tuple[Any, ...]) -> bool:
    """Return whether an argument, or a part of one, is an array of a card."""
    return any(isinstance(each, CardArray) or (isinstance(each, tuple) and is_on_card(each)) for each in arguments)


def write(template: str, body: Callable[..., Any], parts: dict[str, Any], **texts: list[str]) -> Callable[..., Any]:
    """Write the function of the template around a body, in its module. parts: the names that it uses."""
    space = {"np": np, **parts, "__name__": body.__module__}
    exec(template.format(**{name: ", ".join(each) for name, each in texts.items()}), space)
    made: Callable[..., Any] = next(reversed(space.values()))
    made.__qualname__ = f"{body.__qualname__}.{made.__name__}"
    return made
