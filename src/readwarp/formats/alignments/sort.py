"""Sorting of BAM records in bounded memory.

Records gather in one buffer. When it is full they are sorted and written to a temporary file, compressed: a run. At
the end all runs are merged: a frame of each run is in memory, all frames are sorted together, and all records up to the
smallest of the frames' last records are final. Equal keys stay in input order, because the sort is stable and the runs
are in input order.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import BinaryIO

import numpy as np
from isal import igzip
from numpy import ndarray

from readwarp.formats.alignments import sort_kernels as kernels
from readwarp.formats.alignments.layout import NAME
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.common.bgzf import BgzfWriter
from readwarp.formats.common.writing import writing_temporary
from readwarp.ragged import empty

MAX_RUNS = 64  # merged at once; more become one run of the next level
FRAME = 1 << 20  # bytes of a run in memory during a merge, and of a piece of output
MIN_FRAME = 1 << 16


def order_by_coordinate(records: Encoded, skip: int) -> ndarray:
    """By contig, position and strand, as `samtools sort` does; unplaced records last."""
    keys = np.empty(len(records), np.uint64)
    kernels.make_coordinate_keys(records, skip, keys)
    return np.argsort(keys, kind="stable")


def order_by_name(records: Encoded, skip: int) -> ndarray:
    """By name, numbers in it by value, as `samtools sort -n` does; then first mate before last, primary first."""
    order = np.arange(len(records))
    kernels.sort_by_name(records, skip, order, np.empty_like(order))
    return order


ORDERS: dict[str, Callable[[Encoded, int], ndarray]] = {"coordinate": order_by_coordinate, "name": order_by_name}


class Sorter:
    """Takes batches of records in any order and gives them back sorted. `skip` bytes travel before each record."""

    def __init__(self, order: str, memory: int, threads: int = 1, skip: int = 0):
        self._order, self._skip, self._threads = ORDERS[order], skip, threads
        self._capacity = max(memory // 2, 1 << 20)
        self._frame = min(max(memory // (4 * MAX_RUNS), MIN_FRAME), FRAME)
        self._buffer, self._filled = np.empty(0, np.uint8), 0
        self._starts: list[ndarray] = []
        self._runs: list[tuple[int, BinaryIO]] = []  # level and file, in input order

    def add(self, records: Encoded) -> None:
        if self._filled and self._filled + records.data.size > self._capacity:
            self._spill()
        if self._filled + records.data.size > self._buffer.size:  # untouched pages cost nothing
            self._buffer = np.empty(max(self._capacity, records.data.size), np.uint8)
        self._buffer[self._filled : self._filled + records.data.size] = records.data
        self._starts.append(records.offsets[:-1] + self._filled)
        self._filled += records.data.size

    def sorted(self) -> Iterator[Encoded]:
        """All records in order, piece by piece; the sorter is empty afterwards."""
        if not self._runs:
            yield from self._sort_buffer()
            return
        self._spill()
        self._buffer = np.empty(0, np.uint8)
        yield from self._merge([file for _, file in self._runs])
        self.close()

    def close(self) -> None:
        """Delete the temporary files."""
        for _, file in self._runs:
            file.close()
        self._runs, self._starts, self._filled = [], [], 0

    def _sort_buffer(self) -> Iterator[Encoded]:
        records = Encoded(self._buffer[: self._filled], np.concatenate([*self._starts, [self._filled]]))
        yield from gather(records, self._order(records, self._skip), self._frame)
        self._starts, self._filled = [], 0

    def _spill(self) -> None:
        self._runs.append((0, self._write(self._sort_buffer())))
        level = 0
        while sum(of == level for of, _ in self._runs) >= MAX_RUNS:
            merging = [file for of, file in self._runs if of == level]
            merged = self._write(self._merge(merging))
            self._runs = [run for run in self._runs if run[0] != level] + [(level + 1, merged)]
            for file in merging:
                file.close()
            level += 1

    def _write(self, pieces: Iterator[Encoded]) -> BinaryIO:
        with writing_temporary():
            file: BinaryIO = tempfile.TemporaryFile(prefix="readwarp-")  # noqa: SIM115
            writer = BgzfWriter(file, self._threads)
            try:
                for piece in pieces:
                    writer.write(piece.data)
                writer.close()
                file.flush()
            except BaseException:
                writer.abort()
                with suppress(OSError):  # it writes what it can before
                    file.close()
                raise
        return file

    def _merge(self, files: Sequence[BinaryIO]) -> Iterator[Encoded]:
        runs = [_Run(file, self._frame, self._skip) for file in files]
        with ThreadPoolExecutor(self._threads, "sort") as pool:
            while True:
                list(pool.map(_Run.fill, runs))
                records = records_in(np.concatenate([run.data for run in runs]), self._skip)
                order, offsets = self._order(records, self._skip), records.offsets
                ends = np.searchsorted(offsets, np.cumsum([run.data.size for run in runs]))
                final = count_final(order, ends, [run.ended for run in runs])
                if final == 0:
                    return
                yield from gather(records, order[:final], self._frame)
                run_of_record = np.searchsorted(ends, order[:final], side="right")
                counts = np.bincount(run_of_record, minlength=len(runs))
                for run, start, count in zip(runs, [0, *ends[:-1]], counts, strict=True):
                    run.data = run.data[offsets[start + count] - offsets[start] :]


class _Run:
    """A sorted temporary file, read frame by frame. `data` are the whole records that are read and not merged yet."""

    def __init__(self, file: BinaryIO, frame: int, skip: int):
        file.seek(0)
        self._stream, self._frame, self._skip = igzip.IGzipFile(fileobj=file, mode="rb"), frame, skip
        self.data, self._rest, self.ended = np.empty(0, np.uint8), b"", False

    def fill(self) -> None:
        """Read until a frame is in memory, or the file ends."""
        while not self.ended and self.data.size < self._frame:
            read = self._stream.read(self._frame)
            self.ended = not read
            data = np.frombuffer(self._rest + read, np.uint8)
            whole = int(records_in(data, self._skip).offsets[-1])
            self.data, self._rest = np.concatenate([self.data, data[:whole]]), data[whole:].tobytes()


def records_in(data: ndarray, skip: int = 0) -> Encoded:
    """The whole records at the beginning of `data`; anything may follow them."""
    offsets = np.empty(data.size // (skip + NAME) + 2, np.int64)
    return Encoded(data, offsets[: kernels.find_records(data, skip, offsets) + 1])


def count_final(order: ndarray, ends: ndarray, ended: Sequence[bool]) -> int:
    """How many records of the order come before everything that is still in a file."""
    last = [end - 1 for end, over in zip(ends, ended, strict=True) if not over]
    if not last:
        return order.size
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return int(rank[last].min()) + 1


def gather(records: Encoded, order: ndarray, size: int) -> Iterator[Encoded]:
    """The records in this order, in pieces of about `size` bytes."""
    ends = np.cumsum(np.diff(records.offsets)[order])
    first = 0
    while first < order.size:
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + size, side="right")))
        piece = empty(Encoded, {"records": last - first, "bytes": int(ends[last - 1]) - before})
        kernels.gather(records, order[first:last], 0, piece)
        yield piece
        first = last
