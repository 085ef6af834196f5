"""BGZF read from its beginning, with blocks decompressed in parallel, straight to where their bytes are wanted."""

import io
from bisect import bisect_right
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np
from isal import igzip

from readwarp.formats.common.bgzf import blocks_of, decompress_into

LEAST, MOST = 1 << 17, 1 << 22  # compressed bytes held at a time: two blocks and more


class BgzfStream(io.RawIOBase):
    """The decompressed bytes of an open BGZF file; gzip of another kind may follow its blocks.

    Reading raises errors that `compressed.is_damage` recognises.
    """

    def __init__(self, raw: Any, threads: int) -> None:
        self._raw, self._threads = raw, threads
        self._pool = ThreadPoolExecutor(threads, "bgzf")
        self._compressed = memoryview(b"")  # read but not yet used
        self._tasks: list[Future[None]] = []  # blocks being decompressed
        self._rest = memoryview(b"")  # of a block that did not fit
        self._following: Any = None  # stream of what follows the blocks, once they are read

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        super().close()

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, or as much of it as there are bytes; return the bytes."""
        view = memoryview(buffer).cast("B")
        filled = self._take_rest(view)
        try:
            while filled < len(view) and self._following is None:
                filled += self._fill(view[filled:])
        finally:
            tasks, self._tasks = self._tasks, []
            wait(tasks)  # their view may be gone afterwards; wakes this thread once
        for task in tasks:
            task.result()
        while filled < len(view) and (got := self._following.readinto(view[filled:])):
            filled += got
        return filled

    def _take_rest(self, view: memoryview) -> int:
        size = min(len(view), len(self._rest))
        np.copyto(np.frombuffer(view[:size], np.uint8), np.frombuffer(self._rest[:size], np.uint8))  # without the lock
        self._rest = self._rest[size:]
        return size

    def _fill(self, view: memoryview) -> int:
        """Start decompressing the next blocks into the view; return the bytes, perhaps none."""
        self._read(max(LEAST, min(MOST, len(view) // 4)))
        places, sizes = blocks_of(self._compressed)
        ends = [0, *accumulate(sizes)]
        number = bisect_right(ends, len(view)) - 1  # number of blocks that fit
        data, self._compressed = self._compressed, self._compressed[places[number] :]
        if number:
            self._decompress(data, places[: number + 1], ends, view)
            return ends[number]
        if sizes:
            block = bytearray(sizes[0])
            decompress_into(data[: places[1]], memoryview(block))
            self._compressed, self._rest = data[places[1] :], memoryview(block)
            return self._take_rest(view)
        self._following = _behind(bytes(data), self._raw)
        return 0

    def _read(self, size: int) -> None:
        """Hold this many compressed bytes, or all that are left."""
        left = len(self._compressed)
        if left >= size:
            return
        buffer = memoryview(np.empty(size, np.uint8))  # a new buffer, since the last one is being decompressed
        buffer[:left] = self._compressed
        while left < size and (got := self._raw.readinto(buffer[left:])):
            left += got
        self._compressed = buffer[:left]

    def _decompress(self, data: memoryview, places: list[int], ends: list[int], view: memoryview) -> None:
        """Decompress the blocks at these places, in groups of about equal number per thread."""
        number = len(places) - 1
        borders = [number * i // self._threads for i in range(self._threads + 1)]
        groups = [(a, b) for a, b in pairwise(borders) if a < b]
        tasks = [(data[places[a] : places[b]], view[ends[a] : ends[b]]) for a, b in groups]
        if len(tasks) == 1:
            decompress_into(*tasks[0])
        else:
            self._tasks += [self._pool.submit(decompress_into, *task) for task in tasks]


def _behind(data: bytes, raw: Any) -> Any:
    """Return the stream after the last block: nothing, another kind of gzip, or a truncated block."""
    if not data:
        return io.BytesIO()
    return igzip.IGzipFile(fileobj=cast(Any, io.BufferedReader(_Joined(data, raw))), mode="rb")


class _Joined(io.RawIOBase):
    """Bytes, followed by the rest of a file."""

    def __init__(self, head: bytes, raw: Any) -> None:
        self._head, self._raw = memoryview(head), raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self._head[: len(view)] or self._raw.read(len(view))
        self._head = self._head[len(data) :]
        view[: len(data)] = data
        return len(data)
