"""Card memory for batches in work: a workspace per batch in flight.

A workspace is a stream, a block of device bytes and one of pinned host bytes. The block is allocated once, when the
workspace is made. After that nothing is allocated (but `tiles`, for launches larger than a usual batch has): `empty`
hands out the next bytes of the block, and the end of a `frame` takes back what was handed out in it.

    with workspace.frame():
        bases = workspace.upload(reads.bases)           # copied through pinned memory, on the stream
        scores = workspace.empty(n, np.int32)
        kernel[grid, block, workspace.stream](bases, scores)
        scores, = workspace.download(scores)            # waits for the stream

Results that outlive the frame in which they are made are kept (`keep`), at the other end of the block, until the
outermost frame ends.

A stream works in order, so bytes that a frame has taken back can be handed out again at once. Pinned bytes are free
again after a wait for the stream.

A planned workspace has a fixed capacity and raises WorkspaceFullError if a batch needs more. An unplanned one, which
`current` makes for threads that have none (calls from Python), takes more blocks and frees them with its last frame.

With READWARP_SEPARATE_ARRAYS=1, each array is an allocation of its own, of exactly its size, that ends with its frame.
Then compute-sanitizer and the emulated card notice an out-of-bounds access, which in a block would hit a neighbour.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device import cuda_driver, failure
from readwarp.device.card_array import CardArray
from readwarp.device.staging import ALIGNMENT, Staging, rounded
from readwarp.errors import StoppedError, WorkspaceFullError

BLOCK = 64 << 20  # bytes per block of an unplanned workspace
PINNED = 8 << 20  # pinned bytes per workspace
TILES = 1 << 13  # blocks of a launch that adds up sizes, before `tiles` has to allocate
SEPARATE = "READWARP_SEPARATE_ARRAYS"


def allocate(shape: tuple[int, ...], dtype: Any) -> CardArray:
    """Allocate an array on the current device."""
    array = CardArray(0, shape, np.dtype(dtype))
    if array.size:  # the driver allocates no empty ones
        array.owner = cuda_driver.Memory(array.nbytes)
        array.address = array.owner.handle
    return array


def resident(array: ndarray) -> CardArray:
    """Copy an array to the current device, where it stays."""
    array = np.ascontiguousarray(array)
    there = allocate(array.shape, array.dtype)
    if array.size:
        cuda_driver.fill(there.address, array.ctypes.data, array.nbytes)
    return there


def free(arrays: Iterable[CardArray]) -> None:
    """Free these arrays, even if something still holds them, as an error's frames do."""
    for owner in filter(None, (array.owner for array in arrays)):
        owner.free()


class Workspace:
    """Device and pinned memory of one batch at a time, with its stream. For one thread at a time."""

    def __init__(self, capacity: int | None = None, pinned: int = PINNED) -> None:
        """Allocate the memory on the thread's current device. capacity, pinned: bytes.

        Raises PinnedMemoryError, and the driver's error if the card has too little.
        """
        self.capacity = capacity
        self.device = cuda_driver.current_device()
        self._is_separate = os.environ.get(SEPARATE) == "1"
        self._blocks: list[CardArray] = []
        if capacity is not None and not self._is_separate:
            self._add_block(capacity)
        self._block, self._used = 0, 0  # position of the next bytes
        self._kept, self._kept_alone = 0, list[CardArray]()  # bytes kept, and arrays of their own for them
        self._depth = 0
        self._tiles = resident(np.zeros(TILES, np.int64))
        self.stream = cuda_driver.Stream()
        self._staging = Staging(pinned, self.stream.handle)
        self._began, self._ended = cuda_driver.Event(), cuda_driver.Event()
        self._is_at_work = False  # the stream was given work since the last wait
        self._is_stopped = False
        self.high_water = 0  # peak of device bytes in use
        self.bytes_up = self.bytes_down = 0
        self.batches = 0  # batches for which `readwarp.device.workspaces` lent it
        self.spans: list[tuple[float, float]] = []  # of time.perf_counter: see `synchronize`

    def stop(self) -> None:
        """Raise a StoppedError in the thread that uses it when that next asks for memory or waits for the card."""
        self._is_stopped = True

    def close(self) -> None:
        """Free all memory; no thread may use the workspace or its arrays any more."""
        self._is_stopped = True
        with failure.drop_errors(), cuda_driver.on(self.device):  # a failed card; the reason is known
            self.stream.synchronize()
        del self._staging, self.stream, self._began, self._ended
        free([*self._blocks, *self._kept_alone, self._tiles])
        self._blocks.clear()

    @property
    def allocated(self) -> int:
        """Device bytes taken from the card."""
        return sum(block.size for block in self._blocks)

    @property
    def left(self) -> int | None:
        """Device bytes that can still be handed out; None in an unplanned workspace."""
        return None if self.capacity is None else self.capacity - self._used - self._kept

    @contextmanager
    def frame(self) -> Iterator["Workspace"]:
        """Take back, at the end of the block, what was handed out inside."""
        mark, blocks = (self._block, self._used), len(self._blocks)
        self._depth += 1
        try:
            yield self
        finally:
            self._depth -= 1
            self._block, self._used = mark
            if self._is_separate:
                self.stream.synchronize()
                free(self._blocks[blocks:])
                del self._blocks[blocks:]
            if self._depth == 0:
                self._kept = 0
                self._free_all()

    def _free_all(self) -> None:
        """Free what the outermost frame leaves, beside the block of a planned workspace."""
        if self.capacity is None:
            self.synchronize()
            self._blocks.clear()
            self._block = self._used = 0
        free(self._kept_alone)
        self._kept_alone.clear()

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return a CardArray with undefined content. Raises WorkspaceFullError."""
        return self._array(shape, np.dtype(dtype), is_kept=False)

    def keep(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return a CardArray as `empty` does, which stays until the outermost frame ends."""
        return self._array(shape, np.dtype(dtype), is_kept=True)

    def _array(self, shape: int | tuple[int, ...], dtype: Any, is_kept: bool) -> CardArray:
        lengths = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),)
        block, place = self._take(prod(lengths) * dtype.itemsize, is_kept)
        return CardArray(block.address + place, lengths, dtype, block.owner)

    def rest(self, kinds: Sequence[Any]) -> list[CardArray]:
        """Return arrays of these dtypes and one length in half of what is left; none if that is not known.

        The next `empty` takes them back. `keep`, which takes from the other end, leaves them whole.
        """
        if self.left is None or self._is_separate:
            return []
        number = max(0, self.left // 2 - ALIGNMENT * len(kinds)) // sum(kind.itemsize for kind in kinds)
        used, high_water = self._used, self.high_water
        arrays = [self.empty(number, kind) for kind in kinds]
        self._used, self.high_water = used, high_water
        return arrays

    def tiles(self, blocks: int) -> CardArray:
        """Return zeros for a launch of so many blocks that adds up sizes (`cuda_scan`) and leaves them zero."""
        if self._tiles.size < blocks + 2:
            self._tiles = resident(np.zeros(2 * blocks, np.int64))
        return self._tiles

    def upload(self, array: ndarray) -> Any:
        """Copy the host array to the device; the array may be changed as soon as this returns."""
        (there,) = self._upload([array])
        return there

    def on_card(self, value: Any) -> Any:
        """Copy the host arrays of a value to the device at once; value: an array, a batch or a tuple of these."""
        return _exchange(value, ndarray, self._upload)

    def on_host(self, value: Any) -> Any:
        """Copy the device arrays of a value to the host at once, after all earlier work of the stream."""
        return _exchange(value, CardArray, lambda arrays: self.download(*arrays))

    def join(self, parts: Sequence[ndarray]) -> Any:
        """Copy host arrays of one dtype to the device, end to end."""
        offsets = [0, *accumulate(part.size for part in parts)]
        there = self.empty(offsets[-1], parts[0].dtype)
        self._fill(parts, [there[start:stop] for start, stop in pairwise(offsets)])
        return there

    def _upload(self, arrays: Sequence[ndarray]) -> list[Any]:
        """Upload arrays as neighbours on the card."""
        values = [np.ascontiguousarray(array) for array in arrays]
        there = [self.empty(each.shape, each.dtype) for each in values]
        self._fill(values, there)
        return there

    def _fill(self, host: Sequence[ndarray], there: Sequence[CardArray]) -> None:
        self._staging.upload(host, there, self.synchronize)
        self.bytes_up += sum(each.nbytes for each in host)

    def download(self, *arrays: Any) -> tuple[ndarray, ...]:
        """Copy device arrays to the host, after all earlier work of the stream; neighbours come in one copy."""
        out = tuple(np.empty(array.shape, array.dtype) for array in arrays)
        self._staging.download(out, arrays, self.synchronize)
        self.bytes_down += sum(host.nbytes for host in out)
        return out

    def synchronize(self) -> None:
        """Wait until all work of the stream is done.

        In a planned workspace, `spans` records when the card was busy: while the thread waits here, but no longer than
        from the first work to the last by the card's own clock. Earlier work is not counted, since the card may have
        idled in between, nor is the thread's wake-up time.
        """
        self._check_stop()
        if self._is_at_work:
            self._ended.record(self.stream)
        began = time.perf_counter()
        self.stream.synchronize()
        waited = time.perf_counter() - began
        self._staging.used = 0
        if self._is_at_work:
            self._is_at_work = False
            worked = self._began.elapsed_time(self._ended) / 1000
            if self.capacity is not None:
                self.spans.append((began, began + min(waited, worked)))

    def _check_stop(self) -> None:
        if self._is_stopped:
            raise StoppedError("the run has ended")

    def _mark(self, before: int = 0) -> None:
        """Note the bytes in use. before: those in full blocks."""
        self.high_water = max(self.high_water, before + self._used + self._kept)

    def _take(self, nbytes: int, is_kept: bool) -> tuple[CardArray, int]:
        """Take the next bytes of a block for work, or its last ones; return the block and their position there."""
        self._check_stop()
        if not self._is_at_work:
            self._began.record(self.stream)
            self._is_at_work = True
        needed = rounded(nbytes)
        if self.left is not None and needed > self.left:
            raise WorkspaceFullError(f"{needed} bytes needed, {self.left} of {self.capacity} left")
        if not is_kept and not self._is_separate:
            return self._next(needed)
        self._kept, self._used = self._kept + needed * is_kept, self._used + needed * (not is_kept)
        self._mark()
        if self._is_separate or self.capacity is None:
            alone = self._kept_alone if is_kept else self._blocks
            alone.append(allocate((max(1, nbytes),), np.uint8))
            return alone[-1], 0
        return self._blocks[0], self.capacity // ALIGNMENT * ALIGNMENT - self._kept

    def _next(self, nbytes: int) -> tuple[CardArray, int]:
        """Return the next bytes of this block, or of another."""
        while self._block < len(self._blocks) and self._used + nbytes > self._blocks[self._block].size:
            self._block, self._used = self._block + 1, 0
        if self._block == len(self._blocks):
            self._add_block(max(nbytes, BLOCK))
        start, self._used = self._used, self._used + nbytes
        self._mark(sum(block.size for block in self._blocks[: self._block]))
        return self._blocks[self._block], start

    def _add_block(self, nbytes: int) -> None:
        self._blocks.append(allocate((nbytes,), np.uint8))


def _exchange(value: Any, kind: type, copy: Callable[[list[Any]], Sequence[Any]]) -> Any:
    """Return the value, tuples and batches with arrays, with what `copy` makes of all its arrays of this kind."""

    def found(part: Any) -> Iterator[Any]:
        if isinstance(part, tuple):
            for each in part:
                yield from found(each)
        elif isinstance(part, kind):
            yield part

    def moved(part: Any) -> Any:
        if isinstance(part, tuple):
            return type(part)(*map(moved, part)) if hasattr(part, "_fields") else tuple(map(moved, part))
        return next(made) if isinstance(part, kind) else part

    made = iter(copy(list(found(value))))
    return moved(value)


_mine = threading.local()


def bind(workspace: Workspace | None) -> None:
    """Set the workspace of the calling thread. With None, the thread makes an unplanned one on demand."""
    _mine.workspace = workspace


def current() -> Workspace:
    """Return the calling thread's workspace: the one bound to it, or its own on the current device."""
    workspace: Workspace | None = getattr(_mine, "workspace", None)
    if workspace is not None:
        return workspace
    own: dict[int, Workspace] = _mine.__dict__.setdefault("own", {})
    device = cuda_driver.current_device()
    if device not in own:
        own[device] = Workspace()
    return own[device]
