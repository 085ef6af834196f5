"""Row functions on a card: see `rows`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.cuda_launch import WARP, threads_for
from readwarp.device.cuda_scan import exclusive_scan, total_of
from readwarp.device.memory import Workspace, current
from readwarp.device.rows import Batch, RaggedFunction
from readwarp.ragged import Field, fields_of


def grid_of(rows: int) -> tuple[int, int, Any]:
    """Configure a thread per row on the calling thread's workspace."""
    return threads_for(rows, current())


def compile_rows(function: Callable[..., Any]) -> Any:
    """Compile a function around the body of a row for cards."""
    function.__globals__["cuda"] = cuda
    return cuda_kernel(function)


def put_rows(
    put: RaggedFunction, kind: type[Batch], offsets: tuple[str, Field], rows: int, arguments: tuple[Any, ...]
) -> Batch:
    """Make the batch of all rows; the host waits twice, for the room and for the size of the values."""
    workspace, (name, field) = current(), offsets
    assert field.splits
    sizes, rooms, found = (workspace.empty(rows + more, np.int64) for more in (0, 1, 1))
    put.rooms[grid_of(rows)](sizes, *arguments)
    exclusive_scan(sizes, rooms, workspace)
    room = total_of(rooms, workspace)
    own = {name: found, **_columns(kind, field.rows, rows, workspace, name)}
    dense = _columns(kind, field.splits, room, workspace)
    with workspace.frame():
        loose = _columns(kind, field.splits, room, workspace)
        put.apart[grid_of(rows)](rooms, sizes, *arguments, kind(**own, **loose))
        exclusive_scan(sizes, found, workspace)
        for column, values in loose.items():
            close_gaps[threads_for(WARP * rows, workspace)](rooms, found, values, dense[column])
        made = total_of(found, workspace)
    return kind(**own, **{column: values[:made] for column, values in dense.items()})


def _columns(kind: type, axis: str, length: int, workspace: Workspace, known: str = "") -> dict[str, Any]:
    """Make the columns of a batch on an axis, besides the known one."""
    fields = {name: field for name, field in fields_of(kind).items() if field.rows == axis and name != known}
    return {name: workspace.empty(length + field.axes[0].more, field.dtype) for name, field in fields.items()}


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
