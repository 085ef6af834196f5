"""Rows of batches in another order, rows of two batches as one, and offsets of sizes, on the side that holds them."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.device.rows import RowFunction, each_size, maker_beside, ragged_rows, workspace_of, write
from readwarp.ragged import Batch, fields_of, replace

COPY = """
def copy(row_, rows, first, second, out):
    at_, size_ = rows[row_], first.{size}.size
    if at_ < size_:
        {of_first}
    else:
        {of_second}
"""


class GatherFunction:
    """A function that takes rows of one axis from two batches of a type, in any order."""

    def __init__(self, stub: Callable[..., Any], kind: type[Batch], axis: str) -> None:
        self.columns = {name: field.dtype for name, field in fields_of(kind).items() if field.rows == axis}
        of_first, of_second = (
            ["; ".join(f"out.{name}[row_] = {batch}.{name}[{at}]" for name in self.columns)]
            for batch, at in (("first", "at_"), ("second", "at_ - size_"))
        )
        names = {"size": [next(iter(self.columns))], "of_first": of_first, "of_second": of_second}
        self.copy = RowFunction(write(COPY, stub, {}, **names))

    def __call__(self, rows: Any, first: Batch, second: Batch | None = None) -> Batch:
        """Return these rows, of the first batch and, beyond its end, of the second; other axes are the first's."""
        make = maker_beside(rows)
        out = replace(first, **{name: make(rows.size, dtype) for name, dtype in self.columns.items()})
        self.copy(rows.size, rows, first, first if second is None else second, out)
        return out


def gathers(kind: type[Batch], axis: str) -> Callable[[Callable[..., Any]], GatherFunction]:
    """Make of a function without a body, which gives its name, one that gathers rows of an axis without offsets."""
    return lambda stub: GatherFunction(stub, kind, axis)


@each_size
def add_up(row, sizes):
    """Set the offsets of rows of these sizes: integers [rows]."""
    return sizes[row]


class MergedRows(NamedTuple):
    """The values of each row, from two batches that lie end to end."""

    offsets: Annotated[ndarray, "int64 [rows + 1] of values"]
    values: Annotated[ndarray, "int64 [values]"]


@scalar
def room_of_both(row, first, second, size):
    return first[row + 1] - first[row] + second[row + 1] - second[row]


@ragged_rows(MergedRows, room_of_both, is_exact=True)
def merge_offsets(row, at, first, second, size, out):
    """List the values of a row: those of the first batch, of `size` values in all, then those of the second."""
    for value in range(first[row], first[row + 1]):
        out.values[at] = value
        at += 1
    for value in range(second[row], second[row + 1]):
        out.values[at] = size + value
        at += 1
    return at


def join_beside(beside: Any, parts: Sequence[ndarray]) -> Any:
    """Return arrays of the host as one on the side of the array `beside`."""
    workspace = workspace_of(beside)
    return workspace.join(parts) if workspace else np.concatenate(parts)
