"""Sorting of BAM records in bounded memory, by many threads.

Whichever thread has a batch sorts it into a run in memory. When memory is full, the runs there are merged into one in a
temporary file, in the background. At the end all runs are merged.

A merge is cut into stretches of the output, each merged independently from the frames that may hold its records. Cuts
are made at heads: the sorted heads of all runs tell how many frames of each run begin before one. Equal keys stay in
input order, because every sort is stable and the runs are in input order.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy import ndarray

from readwarp.finish.order import ORDERS, Order, gather_from
from readwarp.finish.runs import FileRun, MemoryRun, Run, pack
from readwarp.formats.alignments.encoded import Encoded
from readwarp.ragged import take
from readwarp.system.ahead import map_ahead

T = TypeVar("T")

MAX_PIECE, MIN_PIECE = 32 << 20, 1 << 20  # bytes of the output merged at once
MAX_FRAME, MIN_FRAME = 1 << 18, 1 << 16  # bytes per frame in a file
FRAMES = 64  # per piece, where memory allows: this many run files are merged at once


@dataclass(frozen=True, slots=True)
class SortSizes:
    """Division of `memory` bytes: up to half for the pieces in which runs are merged, the rest for runs in memory."""

    capacity: int  # of the runs in memory: half of them gather while the others go to a file
    piece: int
    frame: int

    @classmethod
    def of(cls, memory: int, threads: int) -> "SortSizes":
        pieces = pieces_of(threads)
        piece = min(max(memory // 2 // pieces, MIN_PIECE), MAX_PIECE)
        capacity = max(memory - pieces * piece, memory // 2, MIN_PIECE)
        return cls(capacity, piece, min(max(piece // FRAMES, MIN_FRAME), MAX_FRAME))

    @property
    def most_runs(self) -> int:
        """Files merged at once: a frame of each is in memory beside a piece."""
        return max(4, self.piece // self.frame)


def pieces_of(threads: int) -> int:
    """Return the pieces in memory: frames, and their records joined and sorted, in each thread and waiting."""
    return 5 * (threads + 1)


def memory_to_hold(records: int, threads: int) -> int:
    """Return the memory with which so many bytes of records are sorted without a file."""
    return 2 * records + pieces_of(threads) * MAX_PIECE


class Sorter:
    """A sorter of batches of records. `skip` bytes precede each record."""

    def __init__(self, order: str, memory: int, threads: int = 1, skip: int = 0):
        self._order, self._skip = ORDERS[order], skip
        self._threads = threads
        self._sizes = SortSizes.of(memory, threads)
        self._pool = ThreadPoolExecutor(threads, "sort")
        self._spiller = ThreadPoolExecutor(1, "spill")
        self._spilling: Future[None] | None = None
        self._files: list[tuple[int, FileRun]] = []  # level and run, in input order
        self._batches: list[MemoryRun] = []
        self._filled = 0  # bytes of the batches

    def add(self, batch: MemoryRun) -> None:
        """Add a batch, in input order."""
        size = batch.records.data.size
        if self._batches and self._filled + size > self._sizes.capacity // 2:
            self._wait()
            self._spilling = self._spiller.submit(self._spill, self._batches)
            self._batches, self._filled = [], 0
        self._batches.append(batch)
        self._filled += size

    def sorted(self) -> Generator[Encoded]:
        """Yield all records in order, piece by piece; the sorter is empty afterwards."""
        self._wait()
        runs: list[Run] = [*(run for _, run in self._files), *self._batches]
        with closing(self._merged(runs, lambda piece: piece)) as pieces:
            yield from pieces
        self.close()

    def close(self) -> None:
        """Stop, and delete the temporary files."""
        self._spiller.shutdown(cancel_futures=True)
        self._pool.shutdown(cancel_futures=True)
        for _, run in self._files:
            run.close()
        self._files, self._batches = [], []
        self._filled = 0

    def _wait(self) -> None:
        """Wait until nothing is being spilled; raise what has failed there."""
        spilling, self._spilling = self._spilling, None
        if spilling:
            spilling.result()

    def _spill(self, batches: list[MemoryRun]) -> None:
        """Merge the batches into a file, and many files into one of the next level."""
        self._files.append((0, self._write(batches)))
        level = 0
        while sum(of == level for of, _ in self._files) >= self._sizes.most_runs:
            merging = [run for of, run in self._files if of == level]
            merged = self._write(merging)
            self._files = [entry for entry in self._files if entry[0] != level] + [(level + 1, merged)]
            for run in merging:
                run.close()
            level += 1

    def _write(self, runs: Sequence[Run]) -> FileRun:
        with closing(self._merged(runs, lambda piece: pack(piece, self._skip, self._sizes.frame))) as pieces:
            return FileRun.write(pieces, self._skip)

    def _merged(self, runs: Sequence[Run], finish: Callable[[Encoded], T]) -> Generator[T]:
        """Merge runs, and yield finish(piece) of each piece in order; threads do both."""
        stretches = stretches_of(runs, self._order, self._skip, self._sizes.piece)

        def merge(stretch: MergeStretch) -> T:
            return finish(merge_stretch(runs, stretch, self._order, self._skip))

        return map_ahead(self._pool, merge, stretches, self._threads + 1)


class MergeCut(NamedTuple):
    """A position in the output: before the first record of a frame, or the end."""

    before: ndarray  # frames of each run that begin before it (int64 [runs])
    run: int  # run of the frame; -1 at the end
    frame: int


class MergeStretch(NamedTuple):
    """A stretch of the merged output, from one cut to the next."""

    start: MergeCut
    stop: MergeCut


def stretches_of(runs: Sequence[Run], order: Order, skip: int, size: int) -> Iterator[MergeStretch]:
    """Cut the merged output of these runs into stretches of about `size` bytes."""
    numbers = np.array([len(run.frames.heads) for run in runs], np.int64)
    if not numbers.sum():
        return
    heads = order([run.frames.heads for run in runs], skip)
    run_of = np.append(np.repeat(np.arange(numbers.size), numbers)[heads], -1)  # -1: the end
    frame_of = np.append(heads - np.repeat(np.cumsum(numbers) - numbers, numbers)[heads], -1)
    before = np.cumsum(np.concatenate([run.frames.sizes for run in runs])[heads])
    firsts = np.unique(np.searchsorted(before, np.arange(0, before[-1], size), side="right"))  # heads at which to cut
    start = MergeCut(np.zeros_like(numbers), int(run_of[0]), int(frame_of[0]))
    for first, after in pairwise([*firsts.tolist(), heads.size]):
        counts = start.before + np.bincount(run_of[first:after], minlength=numbers.size)
        stop = MergeCut(counts, int(run_of[after]), int(frame_of[after]))
        yield MergeStretch(start, stop)
        start = stop


def merge_stretch(runs: Sequence[Run], stretch: MergeStretch, order: Order, skip: int) -> Encoded:
    """Merge the records of a stretch. Any thread may call this.

    From each run, the frames that begin within the stretch and the one before are read. The first record at the start
    is among them; the head at the stop is sorted with them, after the earlier records of its run.
    """
    (begun, start_run, start_frame), (ended, stop_run, stop_frame) = stretch
    parts: list[Encoded] = []
    rows = start_row = 0
    stop_row = -1
    for number, run in enumerate(runs):
        first = max(int(begun[number]) - 1, 0)
        if number == start_run:
            start_row = rows + int(run.frames.rows[start_frame] - run.frames.rows[first])
        if ended[number] > first:
            parts.append(run.read(first, int(ended[number])))
            rows += len(parts[-1])
        if number == stop_run:
            stop_row = rows
            parts.append(take(run.frames.heads, "records", slice(stop_frame, stop_frame + 1)))
            rows += 1
    ordered = order(parts, skip)
    start = int(np.flatnonzero(ordered == start_row)[0])
    stop = int(np.flatnonzero(ordered == stop_row)[0]) if stop_row >= 0 else ordered.size
    return gather_from(parts, ordered[start:stop])
