"""Sums over the rows of a launch, of which a card makes offsets and batches of rows of varying size.

The blocks of a launch take tiles, neighbouring rows, in turn (Merrill & Garland 2016, Single-pass Parallel Prefix Scan
with Decoupled Look-back). A block tells the sum of its tile, adds up what the tiles before have told, back to one that
has told the sum of all up to its own, and tells that too. A sum and what it is are one word, so no order of writes
matters; a block waits only for those that took a tile before it, which run. The last to end leaves all words zero.
"""

from typing import Any

import numpy as np

from readwarp.device.cuda_jit import cuda
from readwarp.device.cuda_launch import THREADS, WARP
from readwarp.device.memory import Workspace, current
from readwarp.errors import WorkspaceFullError
from readwarp.ragged import replace

NEXT, DONE, FIRST = range(3)  # words: the next tile, tiles that are done, and those of the tiles
OF_TILE, OF_ALL = 1, 2  # lowest bits of a tile's word, below the sum of its tile or of all up to its end
SUMS = THREADS // WARP + 1  # of the warps of a block, and of all tiles before
EVERY = 0xFFFFFFFF  # thread of a warp


@cuda.jit(device=True)
def sum_before(size, tile, tiles):
    """Return the sum of the sizes of all rows before the thread's; all threads of the block take part."""
    sums = cuda.shared.array(SUMS, np.int64)
    warp, lane = cuda.threadIdx.x // WARP, cuda.threadIdx.x % WARP
    running = size
    for distance in (1, 2, 4, 8, 16):
        other = cuda.shfl_up_sync(EVERY, running, distance)
        running += other if lane >= distance else 0
    if lane == WARP - 1:
        sums[warp] = running
    cuda.syncthreads()
    if warp == 0:
        total = np.int64(0)
        for each in range(cuda.blockDim.x // WARP):
            total += sums[each]
        earlier = tell_sum(total, tile, tiles, lane)
        if lane == 0:
            sums[SUMS - 1] = earlier
    cuda.syncthreads()
    before = sums[SUMS - 1] + running - size
    for each in range(warp):
        before += sums[each]
    return before


@cuda.jit(device=True)
def tell_sum(total, tile, tiles, lane):
    """Tell the sum of a tile; return that of all tiles before. For a warp."""
    if lane == 0:
        cuda.atomic.exch(tiles, FIRST + tile, total << 2 | OF_TILE)
    before, ends = np.int64(0), np.uint32(0)
    at = tile - 1 - lane
    while ends == 0:
        word = np.int64(OF_ALL if at < 0 else 0)
        while word == 0:
            word = cuda.atomic.max(tiles, FIRST + at, 0)  # which changes nothing
        ends = np.uint32(cuda.ballot_sync(EVERY, word & OF_ALL != 0))
        before += word >> 2 if ends & ((1 << lane) - 1) == 0 else 0
        at -= WARP
    for distance in (16, 8, 4, 2, 1):
        before += cuda.shfl_xor_sync(EVERY, before, distance)
    is_last = False
    if lane == 0:
        cuda.atomic.exch(tiles, FIRST + tile, (before + total) << 2 | OF_ALL)
        cuda.threadfence()  # what it has read it has read before it is done
        is_last = cuda.atomic.add(tiles, DONE, 1) == cuda.gridDim.x - 1
    if cuda.any_sync(EVERY, is_last):
        for place in range(lane, FIRST + cuda.gridDim.x, WARP):
            cuda.atomic.exch(tiles, place, 0)
    return before


def total_of(offsets: Any, workspace: Workspace) -> int:
    """Return the last offset, with which the host can allocate; wait for the stream."""
    (last,) = workspace.download(offsets[offsets.size - 1 :])
    return int(last[0])


def put_rows(put: Any, rows: int, arguments: tuple[Any, ...], number: int | None) -> Any:
    """Make the batch of all rows by a `RaggedFunction`. The host waits for the number of their values if it must.

    In a workspace that is not planned, it waits for their room too.
    """
    workspace = current()
    with workspace.frame():
        rooms = (workspace.keep if put.is_exact else workspace.empty)(rows + 1, np.int64)
        if number is not None:
            dense = put.empty(rows, number, workspace.keep, **{put.name: rooms})
            put.at_once(rows, rooms, *arguments, dense)
            return dense
        put.rooms(rows, rooms, *arguments)
        if put.is_exact:
            dense = put.empty(rows, total_of(rooms, workspace), workspace.keep, **{put.name: rooms})
            put.apart(rows, rooms, *arguments, dense)
            return dense
        dense, kinds = put.empty(rows, 0, workspace.keep), list(put.columns.values())
        offsets, rest = getattr(dense, put.name), workspace.rest(kinds)
        room = 0 if rest else total_of(rooms, workspace)
        columns = rest or [workspace.empty(room, kind) for kind in kinds]
        loose = replace(dense, **dict(zip(put.columns, columns, strict=True)))
        put.apart(rows, offsets, rooms, *arguments, loose)
        made, needed = (int(last[0]) for last in workspace.download(offsets[rows:], rooms[rows:]))
        if needed > columns[0].size:
            raise WorkspaceFullError(f"room for {needed} values needed, there is some for {columns[0].size}")
        for each in rest:
            workspace.empty(needed, each.dtype)
        dense = replace(dense, **{name: workspace.keep(made, kind) for name, kind in put.columns.items()})
        put.close(put.lanes * rows, rooms, offsets, loose, dense)
    return dense
