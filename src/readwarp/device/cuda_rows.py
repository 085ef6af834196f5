"""Row functions on a card: see `rows`."""

from typing import Any

import numpy as np

from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import WARP, threads_for
from readwarp.device.cuda_scan import exclusive_scan, total_of
from readwarp.device.memory import current
from readwarp.device.rows import Batch, RaggedFunction
from readwarp.ragged import Field, empty, fields_of, replace


def grid_of(rows: int) -> tuple[int, int, Any]:
    """Configure a thread per row on the calling thread's workspace."""
    return threads_for(rows, current())


def put_rows(
    put: RaggedFunction, kind: type[Batch], offsets: tuple[str, Field], rows: int, arguments: tuple[Any, ...]
) -> Batch:
    """Make the batch of all rows; the host waits twice, for the room and for the size of the values."""
    workspace, (name, field) = current(), offsets
    assert field.splits
    sizes, rooms = workspace.empty(rows, np.int64), workspace.empty(rows + 1, np.int64)
    put.rooms(rows, sizes, *arguments)
    exclusive_scan(sizes, rooms, workspace)
    lengths = {field.rows: rows, field.splits: total_of(rooms, workspace)}
    dense = empty(kind, lengths, workspace.empty)
    split = {column: declared.dtype for column, declared in fields_of(kind).items() if declared.rows == field.splits}
    with workspace.frame():
        loose = {column: workspace.empty(lengths[field.splits], dtype) for column, dtype in split.items()}
        put.apart(rows, rooms, sizes, *arguments, replace(dense, **loose))
        found = getattr(dense, name)
        exclusive_scan(sizes, found, workspace)
        for column, values in loose.items():
            close_gaps[threads_for(WARP * rows, workspace)](rooms, found, values, getattr(dense, column))
        made = total_of(found, workspace)
    return replace(dense, **{column: getattr(dense, column)[:made] for column in split})


@cuda_kernel
def close_gaps(rooms, offsets, loose, dense):
    """Move the values of each row from its room to its place; a warp per row."""
    thread = cuda.grid(1)
    row, lane = thread // WARP, thread % WARP
    if row >= offsets.size - 1:
        return
    first = offsets[row]
    for i in range(lane, offsets[row + 1] - first, WARP):
        dense[first + i] = loose[rooms[row] + i]
