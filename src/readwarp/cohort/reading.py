"""Read windows of a cohort, with the lines of each file that matter to them, in planned memory.

Lines are read strip by strip. Once all files are read through a strip, blocks that span no variant of any file, most of
them, are dropped. The rest waits until the window is complete, or as large as it may be.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from readwarp.call.places.targets import TargetStretch, join_targets, split_at
from readwarp.cohort import REACH
from readwarp.cohort.steps import Cohort, span
from readwarp.errors import MemoryBudgetError
from readwarp.formats.common.regions import Target
from readwarp.formats.variants.genomic import CHUNK, MIN_CHUNK, GenomicFile, ReaderMemory
from readwarp.formats.variants.genomic_lines import Lines
from readwarp.index.reference import Reference
from readwarp.stream.plan import PROCESS, PROGRAM, processes_of, readable
from readwarp.wording import counted

WINDOW = 1 << 17  # reference bases at a time, at most
GAP = 1 << 15  # bases between targets that are read through: a jump costs as much
STRIP = 1 << 10  # bases of the first strip; the next ones follow from its lines
FILE = 16 << 10  # bytes of an open file beside its text
LEAST, LEAST_OF_FILE = 32 << 20, 64 << 10  # bytes for windows, in total and per file
RECORDS = 4  # bytes of a window's lines as objects, per byte of text
TEXT = 64  # bytes of a sample at a site in the output
T = TypeVar("T")


class WindowPlan(NamedTuple):
    """Number of windows in flight, and bytes of memory."""

    processes: int  # 0: threads
    in_flight: int
    chunk: int  # bytes of text that each file reads at a time
    raw: int  # bytes of lines that are read through at a time
    held: int  # bytes of a window's remaining lines, and of its output
    work: int  # bytes of each worker's sites


def plan_windows(memory: int, reference: Reference, files: int, threads: int, most: int) -> WindowPlan:
    """Divide the memory left by the program and file buffers: half for windows in flight, 3/8 for work on them.

    most: processes. Raises MemoryBudgetError.
    """
    fixed = PROGRAM + reference.packed.nbytes
    chunk = min(CHUNK, max(MIN_CHUNK, (memory - fixed) // (24 * files)))
    fixed += files * (FILE + 3 * chunk)  # twice, and numbers of lines
    least = LEAST + files * LEAST_OF_FILE
    processes = processes_of(most, memory - fixed - least, least // threads)
    room = memory - fixed - processes * PROCESS
    if room < least:
        need = f"{counted(files, 'gVCF')} and the reference need {readable(fixed + least)}"
        raise MemoryBudgetError(f"--memory {readable(memory)} is too small: {need}")
    in_flight, workers = threads + 2, processes or threads
    held = room // 2 // (in_flight + 3 + processes + workers * RECORDS)
    return WindowPlan(processes, in_flight, chunk, room // 8, held, room * 3 // 8 // workers)


class WindowReader:
    """Reader of the files of a cohort, in several threads."""

    def __init__(self, cohort: Cohort, plan: WindowPlan, is_part: bool, threads: int) -> None:
        """Set up the reader. is_part: jump to targets by the files' indexes."""
        self._cohort, self._plan, self._is_part = cohort, plan, is_part
        self._parts = [part for part in (cohort.files[i::threads] for i in range(threads)) if part]
        self._pool = ThreadPoolExecutor(threads, "readwarp reader")
        self._strip = STRIP

    def windows(self, targets: Sequence[Target]) -> Iterator[tuple[TargetStretch, list[Lines]]]:
        """Yield windows in order, with their lines. Raises InputError, MemoryBudgetError."""
        with self._pool:
            for stretch in join_targets(targets, WINDOW, GAP):
                if self._is_part:
                    self._each(GenomicFile.go_to, stretch.contig, max(0, span(stretch)[0]))
                waiting = [stretch]
                while waiting:
                    with self._cohort.metrics.time("read"):
                        window, *waiting = split_at(waiting[0], self._read(waiting[0]))
                        lines = self._each(GenomicFile.lines, window.contig, *span(window))
                    yield window, lines

    def _read(self, window: TargetStretch) -> int:
        """Read through a window; return where it must be cut, if it is too large, else where it stops."""
        (low, high), contig = span(window), window.contig
        at, size = max(0, low), 0
        while at < high:
            stop = self._read_strip(contig, low, at, min(high, at + self._strip))
            found, raw = zip(*self._each(GenomicFile.survey, contig, at, stop), strict=True)
            positions = np.unique(np.concatenate(found))
            kept = sum(self._each(GenomicFile.thin, contig, at, stop, positions))
            kept += positions.size * self._cohort.owner.size * TEXT
            fitting = min(self._plan.raw / (sum(raw) + 1), self._plan.held / (kept + 1), 4.0)
            self._strip = max(1, int((stop - at) * fitting))
            at, size = stop, size + kept
            if size > self._plan.held and window.start < at - REACH < window.stop:
                return at - REACH
        return window.stop

    def _read_strip(self, contig: int, low: int, at: int, stop: int) -> int:
        """Read from `at` on; return `stop`, or the base before which no file lacks a line."""
        while (reached := min(self._each(GenomicFile.read, contig, low, stop, ReaderMemory(self._plan.raw)))) <= at:
            if stop == at + 1:
                place = f"{self._cohort.reference.names[contig]}:{at + 1}"
                text = f"the lines of {place} take more than the {readable(self._plan.raw)} that it leaves for reading"
                raise MemoryBudgetError(f"--memory is too small: {text}")
            stop = at + max(1, (stop - at) // 4)
        return reached

    def _each(self, work: Callable[..., T], *given: object) -> list[T]:
        """Return work(file, *given) of each file, in order."""
        found = list(self._pool.map(lambda part: [work(file, *given) for file in part], self._parts))
        return [found[i % len(found)][i // len(found)] for i in range(len(self._cohort.files))]
