"""Memory of a card while batches are worked on: a workspace for each batch in flight.

A workspace is a stream, one block of device bytes and one of pinned host bytes. The block is taken once, when the
workspace is made; inside the loop nothing is allocated: `empty` hands out the next bytes of the block, and leaving a
`frame` gives back what was handed out in it.

    with workspace.frame():
        bases = workspace.upload(reads.bases)           # copied through pinned memory, on the stream
        scores = workspace.empty(n, np.int32)
        kernel[grid, block, workspace.stream](bases, scores)
        scores, = workspace.download(scores)            # waits for the stream

Work on a stream is done in its order, so bytes that a frame gave back can be handed out again at once. Pinned bytes are
free again when the stream has been waited for.

A planned workspace has a fixed capacity, and raises WorkspaceFullError where a batch needs more. One without, which
`current` makes for threads that have none (calls from Python), takes further blocks and frees them with its last frame.

When the card was busy with a stream is told by two events of its own: one before the first work that a waiting stream
is given, one behind the last. They are read where the thread waits for the stream anyhow.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device.backend import is_simulated
from readwarp.device.jit import cuda
from readwarp.errors import WorkspaceFullError

ALIGNMENT = 256  # bytes: what the driver aligns allocations to, and more than any access needs
BLOCK = 64 << 20  # bytes of a block where no capacity was planned
PINNED = 8 << 20  # bytes that one copy goes through, unless the plan says otherwise


def rounded(nbytes: int) -> int:
    """The bytes of a block that an array of that many bytes takes."""
    return max(1, -(-nbytes // ALIGNMENT)) * ALIGNMENT


class Workspace:
    """Device and pinned memory of one batch at a time, and the stream that works on it. For one thread at a time."""

    def __init__(self, capacity: int | None = None, pinned: int = PINNED) -> None:
        """Takes the memory, on the thread's current device. capacity, pinned: bytes."""
        self.capacity = capacity
        self.stream: Any = cuda.stream()
        self._blocks: list[Any] = [] if capacity is None else [cuda.device_array(capacity, np.uint8)]
        self._block, self._used = 0, 0  # where the next bytes are
        self._depth = 0
        self._pinned: ndarray = cuda.pinned_array(pinned, np.uint8)
        self._staged = 0  # pinned bytes that the stream may still read
        self._began, self._ended = cuda.event(), cuda.event()
        self._is_at_work = False  # the stream has been given work since it was last waited for
        self.high_water = 0  # most device bytes handed out at once
        self.bytes_up = self.bytes_down = 0
        self.batches = 0  # it was lent for (readwarp.device.workspaces)
        self.spans: list[tuple[float, float]] = []  # of time.perf_counter: when a planned workspace's stream had work

    @property
    def allocated(self) -> int:
        """Device bytes taken from the card."""
        return sum(block.size for block in self._blocks)

    @property
    def left(self) -> int | None:
        """Device bytes that can still be handed out; None where no capacity was planned."""
        return None if self.capacity is None else self.capacity - self._used

    @contextmanager
    def frame(self) -> Iterator["Workspace"]:
        """What is handed out inside is given back at its end."""
        mark = self._block, self._used
        self._depth += 1
        try:
            yield self
        finally:
            self._depth -= 1
            self._block, self._used = mark
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
        block = self._take(rounded(nbytes))
        return block[:nbytes].view(dtype).reshape(shape) if nbytes else cuda.device_array(shape, dtype)

    def upload(self, array: ndarray) -> Any:
        """The host array on the device; the array may be changed as soon as this returns."""
        values = np.ascontiguousarray(array)
        there = self.empty(values.shape, values.dtype)
        if values.nbytes:
            self._send(values, there)
        return there

    def download(self, *arrays: Any) -> tuple[ndarray, ...]:
        """Host copies of device arrays, made when all that was asked of the stream before is done."""
        out: list[ndarray] = [np.empty(array.shape, array.dtype) for array in arrays]
        waiting: list[tuple[ndarray, ndarray]] = []
        for array, host in zip(arrays, out, strict=True):
            if not host.size:
                continue
            raw, source = host.reshape(-1).view(np.uint8), array.reshape(host.size).view(np.uint8)
            for begin in range(0, raw.size, self._pinned.size):
                part = raw[begin : begin + self._pinned.size]
                if self._staged + part.size > self._pinned.size:
                    self._settle(waiting)
                staging = self._stage(part.size)
                source[begin : begin + part.size].copy_to_host(staging, stream=self.stream)
                waiting.append((part, staging))
            self.bytes_down += raw.size
        self._settle(waiting)
        return tuple(out)

    def synchronize(self) -> None:
        """Wait until all that was asked of the stream is done."""
        if self._is_at_work:
            self._ended.record(self.stream)
        self.stream.synchronize()
        self._staged = 0
        if self._is_at_work:
            self._is_at_work, now = False, time.perf_counter()
            busy = self._began.elapsed_time(self._ended) / 1000
            if busy > 0 and self.capacity is not None:  # the simulator keeps no time
                self.spans.append((now - busy, now))

    def _take(self, nbytes: int) -> Any:
        """The next bytes, as a view of a block; work on them follows."""
        if not self._is_at_work:
            self._began.record(self.stream)
            self._is_at_work = True
        while self._block < len(self._blocks) and self._used + nbytes > self._blocks[self._block].size:
            if self.capacity is not None:
                left = self.capacity - self._used
                raise WorkspaceFullError(f"{nbytes} bytes asked for, {left} of {self.capacity} left")
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

    def _send(self, values: ndarray, there: Any) -> None:
        raw, target = values.reshape(-1).view(np.uint8), there.reshape(values.size).view(np.uint8)
        for begin in range(0, raw.size, self._pinned.size):
            part = raw[begin : begin + self._pinned.size]
            if self._staged + part.size > self._pinned.size:
                self.synchronize()
            staging = self._stage(part.size)
            staging[:] = part
            target[begin : begin + part.size].copy_to_device(staging, stream=self.stream)
        self.bytes_up += raw.size

    def _settle(self, waiting: list[tuple[ndarray, ndarray]]) -> None:
        """Wait, then copy what has arrived to where it belongs."""
        self.synchronize()
        for part, staging in waiting:
            part[:] = staging
        waiting.clear()


def forget_shapes() -> None:
    """Numba keeps a description, of a kilobyte, of each shape that an array of a card ever had; few come again."""
    if not is_simulated():
        from numba.cuda.cudadrv import driver, dummyarray

        remembered: tuple[Any, ...] = dummyarray.Array.from_desc, driver.memory_size_from_info
        for function in remembered:
            getattr(function, "__func__", function).cache_clear()


_mine = threading.local()


def bind(workspace: Workspace | None) -> None:
    """The workspace of the calling thread from here on; None: one of its own, without a plan, when it asks for it."""
    _mine.workspace = workspace


def current() -> Workspace:
    """The calling thread's workspace: the one it is bound to, else one of its own on the current device."""
    workspace: Workspace | None = getattr(_mine, "workspace", None)
    if workspace is not None:
        return workspace
    own: dict[int, Workspace] = _mine.__dict__.setdefault("own", {})
    device = 0 if is_simulated() else cuda.get_current_device().id
    if device not in own:
        own[device] = Workspace()
    return own[device]
