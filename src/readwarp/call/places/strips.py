"""Lay several small contigs on one axis, to call them as one contig.

A window costs more than a millisecond even if empty, so small contigs share one. On the axis they begin at multiples of
GRID, so every grid of positions falls on the same bases as on the contig itself. They lie at least MARGIN apart, beyond
which nothing reaches, with OUTSIDE between them. A step that distinguishes the end of a contig from an N checks for
OUTSIDE, or calls `contigs_around`. Contigs with primers have windows of their own, since a clipped end may reach beyond
any margin.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import ndarray

from readwarp.call.places.bases import Bases
from readwarp.call.places.targets import GRID, MARGIN, TargetStretch
from readwarp.formats.common.regions import Target
from readwarp.index.reference import Reference
from readwarp.rules.bases import OUTSIDE


def next_origin(stop: int) -> int:
    """Return the origin of the contig after one that ends at `stop`."""
    return -(-(stop + MARGIN) // GRID) * GRID


@dataclass(frozen=True)
class Strip:
    """Stretches of several contigs, one of each, in order; each contig is read whole."""

    stretches: tuple[TargetStretch, ...]
    lengths: tuple[int, ...]  # of the contigs

    @cached_property
    def contigs(self) -> list[int]:
        return [stretch.contig for stretch in self.stretches]

    @cached_property
    def origins(self) -> ndarray:
        """Return the positions of their first bases (int64 [contigs])."""
        out, stop = list[int](), -MARGIN
        for length in self.lengths:
            out.append(next_origin(stop))
            stop = out[-1] + length
        return np.array(out, np.int64)

    @property
    def start(self) -> int:
        return 0

    @property
    def stop(self) -> int:
        return int(self.origins[-1]) + self.lengths[-1]

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(target for stretch in self.stretches for target in stretch.targets)

    def halves(self) -> "tuple[Place, Place]":
        """Split into the first contigs and the others."""
        n = len(self.stretches) // 2
        return strip_of(self.stretches[:n], self.lengths[:n]), strip_of(self.stretches[n:], self.lengths[n:])

    @property
    def called(self) -> list[tuple[TargetStretch, int]]:
        """Return the stretches, and the positions of their contigs' first bases."""
        return list(zip(self.stretches, self.origins.tolist(), strict=True))

    def as_stretch(self) -> TargetStretch:
        """Return the stretch of the axis, as contig 0."""
        targets = (Target(0, t.start + origin, t.stop + origin) for own, origin in self.called for t in own.targets)
        return TargetStretch(0, self.start, self.stop, tuple(targets))

    def rows_of(self, position: ndarray) -> ndarray:
        """Return the strip's numbers of the contigs of these positions, or of the gap after them (int64 [n])."""
        return np.searchsorted(self.origins, position, side="right") - 1

    def runs(self, numbers: dict[int, int]) -> Iterator[tuple[range, ndarray]]:
        """Yield runs of contigs that are adjacent in a file, and their origins. numbers: contig -> number in it."""
        own = [numbers.get(contig) for contig in self.contigs]
        row = 0
        while row < len(own):
            first, row = row, row + 1
            if (number := own[first]) is not None:
                while row < len(own) and own[row] == number + row - first:
                    row += 1
                yield range(number, number + row - first), self.origins[first:row]


Place = TargetStretch | Strip  # unit of calling


def strip_of(stretches: Sequence[TargetStretch], lengths: Sequence[int]) -> Place:
    return stretches[0] if len(stretches) == 1 else Strip(tuple(stretches), tuple(lengths))


def join_contigs(
    windows: Iterable[TargetStretch], lengths: Sequence[int], apart: Container[int], size: int
) -> Iterator[Place]:
    """Yield the windows in order, those of whole contigs joined as far as `size` allows.

    lengths: of all contigs. apart: contigs that have windows of their own.
    """
    waiting, stop = list[TargetStretch](), 0
    for window in windows:
        length = lengths[window.contig]
        is_whole = window.start <= MARGIN and window.stop + MARGIN >= length and window.contig not in apart
        if waiting and not (is_whole and next_origin(stop) + length <= size):
            yield strip_of(waiting, [lengths[own.contig] for own in waiting])
            waiting = []
        if is_whole:
            stop = next_origin(stop) + length if waiting else length
            waiting.append(window)
        else:
            yield window
    if waiting:
        yield strip_of(waiting, [lengths[own.contig] for own in waiting])


class StripBases(Bases):
    """Bases of a strip's axis."""

    def __init__(self, reference: Reference, strip: Strip):
        self._contigs = {contig: Bases(reference, contig) for contig in set(strip.contigs)}
        self.strip, last = strip, self._contigs[strip.contigs[-1]]
        self.length = int(strip.origins[-1]) + last.length  # a Circle's `stop` comes before

    @property
    def parts(self) -> list[tuple[Bases, int]]:
        places = zip(self.strip.contigs, self.strip.origins.tolist(), strict=True)
        return [(self._contigs[contig], origin) for contig, origin in places]

    def array(self, start: int, stop: int) -> ndarray:
        out = np.full(stop - start, OUTSIDE, np.uint8)
        rows = self.strip.rows_of(np.array((start, stop))).clip(0)
        for row in range(int(rows[0]), int(rows[1]) + 1):
            bases, origin = self._contigs[self.strip.contigs[row]], int(self.strip.origins[row])
            low, high = max(start, origin), min(stop, origin + bases.length)
            if low < high:
                out[low - start : high - start] = bases.array(low - origin, high - origin)
        return out
