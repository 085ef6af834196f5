"""Memory of a card while batches are worked on: a workspace for each batch in flight.

A workspace is a stream, a block of device bytes and one of pinned host bytes. The block is taken once, when the
workspace is made. After that nothing is allocated: `empty` gives out the next bytes of the block, and the end of a
`frame` takes back what was given out in it.

    with workspace.frame():
        bases = workspace.upload(reads.bases)           # copied through pinned memory, on the stream
        scores = workspace.empty(n, np.int32)
        kernel[grid, block, workspace.stream](bases, scores)
        scores, = workspace.download(scores)            # waits for the stream

A stream does its work in order, so bytes that a frame has taken back can be given out again at once. Pinned bytes are
free again after a wait for the stream.

A planned workspace has a fixed capacity and raises WorkspaceFullError if a batch needs more. An unplanned one, which
`current` makes for threads that have none (calls from Python), takes more blocks and frees them with its last frame.

With READWARP_SEPARATE_ARRAYS=1, each array is an allocation of its own, of exactly its bytes, that ends with its frame.
Then compute-sanitizer and the emulated card notice an access beyond it, which in a block would reach its neighbour.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device import failure, freeing
from readwarp.device.jit import cuda
from readwarp.errors import PinnedMemoryError, StoppedError, WorkspaceFullError

ALIGNMENT = 256  # bytes: what the driver aligns allocations to, and more than any access needs
BLOCK = 64 << 20  # bytes of a block of an unplanned workspace
PINNED = 8 << 20  # pinned bytes of a workspace
SEPARATE = "READWARP_SEPARATE_ARRAYS"


def rounded(nbytes: int) -> int:
    """The bytes of a block that an array of that many bytes takes."""
    return max(1, -(-nbytes // ALIGNMENT)) * ALIGNMENT


class Workspace:
    """Device and pinned memory of one batch at a time, and the stream that works on it. For one thread at a time."""

    def __init__(self, capacity: int | None = None, pinned: int = PINNED) -> None:
        """Take the memory, on the thread's current device. capacity, pinned: bytes.

        Raises PinnedMemoryError, and the driver's error where the card has too little.
        """
        self.capacity = capacity
        self.device: int = cuda.get_current_device().id
        freeing.prepare(self.device)
        self._is_separate = os.environ.get(SEPARATE) == "1"
        takes_block = capacity is not None and not self._is_separate
        self._blocks: list[Any] = [cuda.device_array(capacity, np.uint8)] if takes_block else []
        self._block, self._used = 0, 0  # where the next bytes are
        self._depth = 0
        self._pinned: ndarray = pinned_array(pinned)
        self._staged = 0  # pinned bytes that the stream may still read
        self.stream: Any = cuda.stream()
        self._began, self._ended = cuda.event(), cuda.event()
        self._is_at_work = False  # the stream was given work since the last wait
        self._is_stopped = False
        self.high_water = 0  # most device bytes given out at once
        self.bytes_up = self.bytes_down = 0
        self.batches = 0  # for which `readwarp.device.workspaces` lent it
        self.spans: list[tuple[float, float]] = []  # of time.perf_counter: see `synchronize`

    def stop(self) -> None:
        """Raise a StoppedError in the thread that uses it, when that next asks for memory or waits for the card."""
        self._is_stopped = True

    def close(self) -> None:
        """Free all memory; from here on, no thread may use the workspace or what it gave out."""
        self._is_stopped = True
        with failure.drop_errors(), cuda.gpus[self.device]:  # a card that has failed; the reason is known
            self.stream.synchronize()
        del self._pinned, self.stream, self._began, self._ended
        freeing.free(self.device, self._blocks)
        self._blocks.clear()

    @property
    def allocated(self) -> int:
        """Device bytes taken from the card."""
        return sum(block.size for block in self._blocks)

    @property
    def left(self) -> int | None:
        """Device bytes that can still be given out; None in an unplanned workspace."""
        return None if self.capacity is None else self.capacity - self._used

    @contextmanager
    def frame(self) -> Iterator["Workspace"]:
        """What is given out inside is taken back at the end."""
        mark, blocks = (self._block, self._used), len(self._blocks)
        self._depth += 1
        try:
            yield self
        finally:
            self._depth -= 1
            self._block, self._used = mark
            if self._is_separate:
                self.stream.synchronize()
                freeing.free(self.device, self._blocks[blocks:])
                del self._blocks[blocks:]
            if self._depth == 0:
                forget_shapes()
                if self.capacity is None:
                    self.synchronize()
                    self._blocks.clear()
                    self._block = self._used = 0

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """A device array, its content undefined. Raises WorkspaceFullError."""
        shape = (shape,) if isinstance(shape, int | np.integer) else shape
        nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        block = self._take(nbytes)
        return block[:nbytes].view(dtype).reshape(shape) if nbytes else cuda.device_array(shape, dtype)

    def upload(self, array: ndarray) -> Any:
        """The host array on the device; the array may be changed as soon as this returns."""
        values = np.ascontiguousarray(array)
        there = self.empty(values.shape, values.dtype)
        for part, target in self._parts(values, there):
            if self._staged + part.size > self._pinned.size:
                self.synchronize()
            staging = self._stage(part.size)
            staging[:] = part
            target.copy_to_device(staging, stream=self.stream)
        self.bytes_up += values.nbytes
        return there

    def on_card(self, value: Any) -> Any:
        """The value with its arrays on the device: an array of either side, or a batch, which may hold batches."""
        if isinstance(value, tuple):
            return type(value)(*map(self.on_card, value))
        return self.upload(value) if isinstance(value, ndarray) else value

    def download(self, *arrays: Any) -> tuple[ndarray, ...]:
        """Host copies of device arrays, made after all earlier work of the stream."""
        out: list[ndarray] = [np.empty(array.shape, array.dtype) for array in arrays]
        waiting: list[tuple[ndarray, ndarray]] = []
        for array, host in zip(arrays, out, strict=True):
            for part, source in self._parts(host, array):
                if self._staged + part.size > self._pinned.size:
                    self._collect(waiting)
                staging = self._stage(part.size)
                source.copy_to_host(staging, stream=self.stream)
                waiting.append((part, staging))
            self.bytes_down += host.nbytes
        self._collect(waiting)
        return tuple(out)

    def synchronize(self) -> None:
        """Wait until all work of the stream is done.

        In a planned workspace, `spans` records when the card was busy: while the thread waits here, but no longer than
        from the first work to the last by the card's own clock. Earlier work is not counted, since the card may have
        idled in between, nor is the time in which the thread wakes up.
        """
        self._check_stop()
        if self._is_at_work:
            self._ended.record(self.stream)
        began = time.perf_counter()
        self.stream.synchronize()
        waited = time.perf_counter() - began
        self._staged = 0
        if self._is_at_work:
            self._is_at_work = False
            worked = self._began.elapsed_time(self._ended) / 1000
            if self.capacity is not None:
                self.spans.append((began, began + min(waited, worked)))

    def _check_stop(self) -> None:
        if self._is_stopped:
            raise StoppedError("the run has ended")

    def _take(self, nbytes: int) -> Any:
        """The next bytes, as a block or a view of one, to be worked on."""
        self._check_stop()
        if not self._is_at_work:
            self._began.record(self.stream)
            self._is_at_work = True
        needed = rounded(nbytes)
        if self.left is not None and needed > self.left:
            raise WorkspaceFullError(f"{needed} bytes needed, {self.left} of {self.capacity} left")
        if self._is_separate:
            self._blocks.append(cuda.device_array(max(1, nbytes), np.uint8))
            self._used += needed
            self.high_water = max(self.high_water, self._used)
            return self._blocks[-1]
        return self._next(needed)

    def _next(self, nbytes: int) -> Any:
        """The next bytes of this block, or of another."""
        while self._block < len(self._blocks) and self._used + nbytes > self._blocks[self._block].size:
            self._block, self._used = self._block + 1, 0
        if self._block == len(self._blocks):
            self._blocks.append(cuda.device_array(max(nbytes, BLOCK), np.uint8))
        start, self._used = self._used, self._used + nbytes
        before = sum(block.size for block in self._blocks[: self._block])
        self.high_water = max(self.high_water, before + self._used)
        return self._blocks[self._block][start : self._used]

    def _stage(self, nbytes: int) -> ndarray:
        start, self._staged = self._staged, self._staged + rounded(nbytes)
        return self._pinned[start : start + nbytes]

    def _parts(self, host: ndarray, there: Any) -> Iterator[tuple[ndarray, Any]]:
        """Pieces of both arrays, as bytes, that fit the pinned memory."""
        if host.size:
            here, there = host.reshape(-1).view(np.uint8), there.reshape(host.size).view(np.uint8)
            for begin in range(0, here.size, self._pinned.size):
                yield here[begin : begin + self._pinned.size], there[begin : begin + self._pinned.size]

    def _collect(self, waiting: list[tuple[ndarray, ndarray]]) -> None:
        """Wait, then copy what has arrived to where it belongs."""
        self.synchronize()
        for part, staging in waiting:
            part[:] = staging
        waiting.clear()


def pinned_array(nbytes: int) -> ndarray:
    """Bytes of the host that a card can copy from and to. Raises PinnedMemoryError."""
    try:
        pinned: ndarray = cuda.pinned_array(nbytes, np.uint8)
        return pinned
    except Exception as error:
        if not failure.is_out_of_memory(error):  # the driver's word for either memory
            raise
        reason = f"the system cannot pin {nbytes} bytes of memory for copies to the card"
        raise PinnedMemoryError(f"{reason}: free memory of the host, or use fewer --threads") from error


def forget_shapes() -> None:
    """Have Numba forget the shapes of arrays on cards: it keeps a kilobyte for each, and few come again."""
    from numba.cuda.cudadrv import driver, dummyarray

    remembered: tuple[Any, ...] = dummyarray.Array.from_desc, driver.memory_size_from_info
    for function in remembered:
        getattr(function, "__func__", function).cache_clear()


_mine = threading.local()


def bind(workspace: Workspace | None) -> None:
    """Set the workspace of the calling thread. None: an unplanned one of its own, made when it is needed."""
    _mine.workspace = workspace


def current() -> Workspace:
    """The calling thread's workspace: the one bound to it, or its own on the current device."""
    workspace: Workspace | None = getattr(_mine, "workspace", None)
    if workspace is not None:
        return workspace
    own: dict[int, Workspace] = _mine.__dict__.setdefault("own", {})
    device = cuda.get_current_device().id
    if device not in own:
        own[device] = Workspace()
    return own[device]
