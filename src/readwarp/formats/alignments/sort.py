"""Sorting of BAM records in bounded memory.

Records gather in one buffer. When it is full they are sorted and written to a temporary file, compressed: a run. At
the end all runs are merged: a frame of each run is at hand, all of them are sorted together, and what lies up to the
smallest of the frames' last records is final. Equal keys stay in input order, because a sort is stable and runs lie
in input order.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

import numpy as np
from isal import igzip
from numpy import ndarray

from readwarp.formats.alignments import sort_kernels as kernels
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.common.bgzf import BgzfWriter

MOST_RUNS = 64  # merged at once; more become one run of the next level
FRAME = 1 << 20  # bytes of a run at hand in a merge, and of a piece of output
SMALLEST_FRAME = 1 << 16


def coordinate_order(data: ndarray, offsets: ndarray, skip: int) -> ndarray:
    """By contig, position and strand, as `samtools sort`; records without a place last."""
    keys = np.empty(offsets.size - 1, np.uint64)
    kernels.coordinate_keys(data, offsets, skip, keys)
    return np.argsort(keys, kind="stable")


def name_order(data: ndarray, offsets: ndarray, skip: int) -> ndarray:
    """By name, numbers in it by value, as `samtools sort -n`; then first before last mate, primary first."""
    order = np.arange(offsets.size - 1)
    kernels.name_order(data, offsets, skip, order, np.empty_like(order))
    return order


ORDERS: dict[str, Callable[[ndarray, ndarray, int], ndarray]] = {"coordinate": coordinate_order, "name": name_order}


class Sorter:
    """Takes batches of records in any order, gives them back sorted. `skip` bytes travel before each record."""

    def __init__(self, order: str, memory: int, threads: int = 1, skip: int = 0):
        self._order, self._skip, self._threads = ORDERS[order], skip, threads
        self._capacity = max(memory // 2, 1 << 20)
        self._frame = min(max(memory // (4 * MOST_RUNS), SMALLEST_FRAME), FRAME)
        self._buffer, self._filled = np.empty(0, np.uint8), 0
        self._starts: list[ndarray] = []
        self._runs: list[tuple[int, BinaryIO]] = []  # level and file, in input order

    def add(self, records: Encoded) -> None:
        if self._filled and self._filled + records.data.size > self._capacity:
            self._spill()
        if self._filled + records.data.size > self._buffer.size:  # pages that are not touched cost nothing
            self._buffer = np.empty(max(self._capacity, records.data.size), np.uint8)
        self._buffer[self._filled : self._filled + records.data.size] = records.data
        self._starts.append(records.offsets[:-1] + self._filled)
        self._filled += records.data.size

    def sorted(self) -> Iterator[Encoded]:
        """All records in order, piece by piece; the sorter is empty afterwards."""
        if not self._runs:
            yield from self._sorted_buffer()
            return
        self._spill()
        self._buffer = np.empty(0, np.uint8)
        yield from self._merged([file for _, file in self._runs])
        self.close()

    def close(self) -> None:
        """Give up the temporary files."""
        for _, file in self._runs:
            file.close()
        self._runs, self._starts, self._filled = [], [], 0

    def _sorted_buffer(self) -> Iterator[Encoded]:
        offsets = np.concatenate([*self._starts, np.array([self._filled], np.int64)])
        order = self._order(self._buffer, offsets, self._skip)
        yield from _gathered(self._buffer, offsets, order, self._frame)
        self._starts, self._filled = [], 0

    def _spill(self) -> None:
        self._runs.append((0, self._written(self._sorted_buffer())))
        level = 0
        while sum(of == level for of, _ in self._runs) >= MOST_RUNS:
            merging = [file for of, file in self._runs if of == level]
            merged = self._written(self._merged(merging))
            self._runs = [run for run in self._runs if run[0] != level] + [(level + 1, merged)]
            for file in merging:
                file.close()
            level += 1

    def _written(self, pieces: Iterator[Encoded]) -> BinaryIO:
        file: BinaryIO = tempfile.TemporaryFile(prefix="readwarp-")  # noqa: SIM115
        writer = BgzfWriter(file, self._threads)
        for piece in pieces:
            writer.write(piece.data)
        writer.close()
        return file

    def _merged(self, files: Sequence[BinaryIO]) -> Iterator[Encoded]:
        with ThreadPoolExecutor(self._threads, "sort") as pool:
            yield from self._merged_runs([_Run(file, self._frame, self._skip) for file in files], pool)

    def _merged_runs(self, runs: "Sequence[_Run]", pool: ThreadPoolExecutor) -> Iterator[Encoded]:
        while True:
            list(pool.map(_Run.fill, runs))
            data = np.concatenate([run.data for run in runs])
            offsets = record_offsets(data, self._skip)
            order = self._order(data, offsets, self._skip)
            ends = np.searchsorted(offsets, np.cumsum([run.data.size for run in runs]))
            final = _final(order, ends, [run.ended for run in runs])
            if final == 0:
                return
            yield from _gathered(data, offsets, order[:final], self._frame)
            taken = np.searchsorted(ends, order[:final], side="right")  # run of each record
            counts = np.bincount(taken, minlength=len(runs))
            for run, start, count in zip(runs, [0, *ends[:-1]], counts, strict=True):
                run.take(int(offsets[start + count] - offsets[start]))


class _Run:
    """A sorted temporary file, read frame by frame: `data` is the whole records that were read and not taken yet."""

    def __init__(self, file: BinaryIO, frame: int, skip: int):
        file.seek(0)
        self._stream, self._frame, self._skip = igzip.IGzipFile(fileobj=file, mode="rb"), frame, skip
        self.data, self._rest, self.ended = np.empty(0, np.uint8), b"", False

    def fill(self) -> None:
        """Have a frame at hand, or what is left."""
        while not self.ended and self.data.size < self._frame:
            read = self._stream.read(self._frame)
            self.ended = not read
            joined = np.frombuffer(self._rest + read, np.uint8)
            whole = int(record_offsets(joined, self._skip)[-1])
            self.data, self._rest = np.concatenate([self.data, joined[:whole]]), joined[whole:].tobytes()

    def take(self, size: int) -> None:
        self.data = self.data[size:]


def record_offsets(data: ndarray, skip: int) -> ndarray:
    """Starts of the whole records in `data` and the end of the last, int64 [n + 1]."""
    offsets = np.empty(data.size // (skip + kernels.NAME) + 2, np.int64)
    return offsets[: kernels.record_offsets(data, skip, offsets) + 1]


def _final(order: ndarray, ends: ndarray, ended: Sequence[bool]) -> int:
    """How many records of the order nothing that is still in a file can precede."""
    last = [end - 1 for end, over in zip(ends, ended, strict=True) if not over]
    if not last:
        return order.size
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return int(rank[last].min()) + 1


def _gathered(data: ndarray, offsets: ndarray, order: ndarray, size: int) -> Iterator[Encoded]:
    """Records in the order, in pieces of about `size` bytes."""
    lengths = offsets[order + 1] - offsets[order]
    ends = np.cumsum(lengths)
    first = 0
    while first < order.size:
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + size, side="right")))
        out, out_offsets = np.empty(int(ends[last - 1]) - before, np.uint8), np.empty(last - first + 1, np.int64)
        kernels.gather(data, offsets, order, first, last, 0, out, out_offsets)
        yield Encoded(out, out_offsets)
        first = last
