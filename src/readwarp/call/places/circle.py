"""Place windows near the ends of circular contigs on an axis on which the contig follows itself."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import ndarray

from readwarp.call.places.strips import Place, Strip
from readwarp.call.places.targets import GRID, MARGIN, TargetStretch, split_at
from readwarp.errors import UsageError
from readwarp.formats.common.contig_names import explain_absent
from readwarp.index.reference import Reference

REACH = 1 << 16  # bases on either side of the contig: more than reads and their reference spans reach
SPARE = MARGIN  # bases beside a place where a read may begin or end whose clip reaches into it
MIN_CIRCLE = 500  # bases; on a shorter one a read, its mate and the margin of a variant could overlap themselves


@dataclass(frozen=True)
class Circle(Strip):
    """Stretch of a circular contig, on an axis of copies of the contig, one after another."""

    @property
    def stretch(self) -> TargetStretch:
        return self.stretches[0]

    @property
    def home(self) -> int:
        """Return the first base of the copy that is called: the origin near the window is at a multiple of GRID."""
        length = self.lengths[0]
        before = length if self.stretch.start >= last_part(length) else 0
        return -(-(REACH + before) // GRID) * GRID - before

    @cached_property
    def origins(self) -> ndarray:
        """Return the first bases of the copies (int64 [copies]), which cover REACH bases on either side of `home`."""
        length = self.lengths[0]
        beside = -(-self.home // length)
        return self.home + length * np.arange(-beside, beside + 1)

    @cached_property
    def contigs(self) -> list[int]:
        return [self.stretch.contig] * self.origins.size

    @property
    def start(self) -> int:
        return self.home + self.stretch.start

    @property
    def stop(self) -> int:
        return self.home + self.stretch.stop

    @property
    def called(self) -> list[tuple[TargetStretch, int]]:
        return [(self.stretch, self.home)]

    def halves(self) -> tuple[Place, Place]:
        left, right = self.stretch.halves()
        return lay(left, self.lengths[0]), lay(right, self.lengths[0])

    def places_within(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Yield where reads lie that overlap [start, stop) of the axis, or whose clips may.

        For each copy: its origin, and [start, stop) of the contig.
        """
        for origin in self.origins.tolist():
            low, high = max(0, start - SPARE - origin), min(self.lengths[0], stop + SPARE - origin)
            if low < high:
                yield origin, low, high

    def crosses(self, start: ndarray, stop: ndarray) -> ndarray:
        """Return whether the origin lies within each non-empty [start, stop) (bool [n])."""
        return np.asarray(self.rows_of(start) != self.rows_of(stop - 1))


def find_circular(names: Collection[str], reference: Reference) -> frozenset[int]:
    """Return the numbers of circular contigs. Raises UsageError for one that is too short or not in the reference."""
    numbers = {name: number for number, name in enumerate(reference.names)}
    lengths = np.diff(reference.contig_offsets).tolist()
    for name in names:
        if name not in numbers:
            raise UsageError(f"--circular {name}: {explain_absent(name, numbers)}")
        if lengths[numbers[name]] < MIN_CIRCLE:
            bases = f"{lengths[numbers[name]]:,} bases"
            raise UsageError(f"--circular {name}: the contig has {bases}, fewer than the minimum of {MIN_CIRCLE:,}")
    return frozenset(numbers[name] for name in names)


def lay_round(windows: Iterable[Place], lengths: Sequence[int], circular: Collection[int]) -> Iterator[Place]:
    """Yield the windows in order, on a Circle near an end of a circular contig. lengths: of all contigs.

    The last part of a contig has windows of its own, whose grids of positions begin at the origin after it. So windows
    on both sides of the origin see the same there, whatever the contig's length is.
    """
    for window in windows:
        if isinstance(window, TargetStretch) and window.contig in circular:
            length = lengths[window.contig]
            for part in split_at(window, last_part(length)):
                yield lay(part, length)
        else:
            yield window


def last_part(length: int) -> int:
    """Return where the last part of a circular contig begins."""
    return max(length - MARGIN, length // 2)


def lay(window: TargetStretch, length: int) -> Place:
    """Place a window of a circular contig on a Circle, unless its margins are within the contig."""
    is_inner = window.start >= MARGIN and window.stop + MARGIN <= length
    return window if is_inner else Circle((window,), (length,))
