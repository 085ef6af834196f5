"""Windows of the reference."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.rules.bases import OUTSIDE


class Window(NamedTuple):
    """A stretch of one contig, with enough of the reference around it to compare reads with.

    Several small contigs may lie on one axis, as if they were one (`readwarp.call.places.strips`), with OUTSIDE between
    them.
    """

    contig: int
    start: int  # 0-based in the contig
    stop: int
    bases: Annotated[ndarray, "uint8 [bases]"]  # of the reference, 0-4
    first: int  # position of the first of these bases, 0-based in the contig

    def trim(self) -> "Window":
        """Return the window without the reference around it."""
        bases = self.bases[self.start - self.first : self.stop - self.first]
        return Window(self.contig, self.start, self.stop, bases, self.start)


def contigs_around(window: Window, position: ndarray) -> tuple[ndarray, ndarray]:
    """Return where the contigs of these positions begin and end, within the window's bases (int64 [n] each)."""
    outside = np.flatnonzero(window.bases == OUTSIDE) + window.first
    bounds = np.concatenate(([window.first - 1], outside, [window.first + window.bases.size]))
    after = np.searchsorted(outside, position, side="right")
    return bounds[after] + 1, bounds[after + 1]
