"""Turn row sizes into offsets on a card, so that no step needs the host to learn where its output begins.

A scan takes two launches. The first sums each tile of TILE sizes. In the second, a block adds up the sums of the tiles
before its own and then scans its tile. That takes about 6 n + (n / TILE)^2 / 2 additions for n sizes. The second term
exceeds the first only above ten million rows, far more than a batch has.
"""

from typing import Any

import numpy as np

from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.memory import Workspace, current
from readwarp.device.staging import rounded
from readwarp.ragged import replace

THREADS = 64
ITEMS = 16  # neighbouring sizes per thread
TILE = THREADS * ITEMS


def exclusive_scan(sizes: Any, offsets: Any, workspace: Workspace) -> None:
    """Set offsets[i] = sizes[0] + ... + sizes[i - 1], for i up to n. sizes: integers [n], offsets: int64 [n + 1]."""
    tiles = tiles_of(sizes.size)
    with workspace.frame():
        sums = workspace.empty(tiles, np.int64)
        sum_tiles[tiles, THREADS, workspace.stream](sizes, sums)
        scan_tiles[tiles, THREADS, workspace.stream](sizes, sums, offsets)


def total_of(offsets: Any, workspace: Workspace) -> int:
    """Return the last offset, with which the host can allocate; wait for the stream."""
    (last,) = workspace.download(offsets[offsets.size - 1 :])
    return int(last[0])


def device_bytes(size: int) -> int:
    """Return the bytes of the workspace for a scan of this many sizes."""
    return rounded(8 * tiles_of(size))


def tiles_of(size: int) -> int:
    return max(1, -(-size // TILE))


@cuda.jit(device=True)
def sum_from(sizes, first):
    """Sum a thread's sizes."""
    total = np.int64(0)
    for i in range(first, min(first + ITEMS, sizes.size)):
        total += np.int64(sizes[i])
    return total


@cuda_kernel
def sum_tiles(sizes, sums):
    """Sum each tile; a block per tile."""
    partial = cuda.shared.array(THREADS, np.int64)
    thread, tile = cuda.threadIdx.x, cuda.blockIdx.x
    partial[thread] = sum_from(sizes, tile * TILE + thread * ITEMS)
    cuda.syncthreads()
    if thread == 0:
        total = np.int64(0)
        for other in range(THREADS):
            total += partial[other]
        sums[tile] = total


@cuda_kernel
def scan_tiles(sizes, sums, offsets):
    """Write the offsets of each tile's rows; the thread of the last row also writes its end."""
    partial = cuda.shared.array(THREADS, np.int64)
    earlier = cuda.shared.array(THREADS, np.int64)
    thread, tile = cuda.threadIdx.x, cuda.blockIdx.x
    first = tile * TILE + thread * ITEMS
    before = np.int64(0)
    for other in range(thread, tile, THREADS):
        before += sums[other]
    partial[thread], earlier[thread] = sum_from(sizes, first), before
    cuda.syncthreads()
    running = np.int64(0)
    for other in range(THREADS):
        running += earlier[other] + (partial[other] if other < thread else np.int64(0))
    for i in range(first, min(first + ITEMS, sizes.size)):
        offsets[i] = running
        running += np.int64(sizes[i])
    if first <= sizes.size <= first + ITEMS and (first < sizes.size or first == 0):
        offsets[sizes.size] = running


def put_rows(put: Any, rows: int, arguments: tuple[Any, ...]) -> Any:
    """Make the batch of all rows by a `RaggedFunction`.

    The host waits for their room, and for their values unless these always fill it.
    """
    workspace = current()
    with workspace.frame():
        sizes = workspace.empty(rows, np.int64)
        rooms = (workspace.keep if put.is_exact else workspace.empty)(rows + 1, np.int64)
        put.rooms(rows, sizes, *arguments)
        exclusive_scan(sizes, rooms, workspace)
        number = total_of(rooms, workspace)
        if put.is_exact:
            dense = put.empty(rows, number, workspace.keep, **{put.name: rooms})
            put.apart(rows, rooms, sizes, *arguments, dense)
            return dense
        dense = put.empty(rows, number, workspace.keep)
        loose = replace(dense, **{name: workspace.empty(number, dtype) for name, dtype in put.columns.items()})
        put.apart(rows, rooms, sizes, *arguments, loose)
        offsets = getattr(dense, put.name)
        exclusive_scan(sizes, offsets, workspace)
        put.close(put.lanes * rows, rooms, offsets, loose, dense)
        made = total_of(offsets, workspace)
    return replace(dense, **{name: getattr(dense, name)[:made] for name in put.columns})
