"""Selection of the reads that a process aligns: every N-th block of templates, except those already aligned.

    block    0  1  2  3  4  5  6 ...     of BLOCK templates (pairs, or single reads), wherever batches are cut
    part     1  2  3  1  2  3  1 ...     of --part I/3

Blocks are numbered across all inputs of a run, so that parts can be merged without the inputs.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from readwarp.errors import UsageError
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.ragged import take

BLOCK = 1 << 15  # templates


@dataclass(frozen=True, slots=True)
class Part:
    """Part `number` (from 1) of `of`."""

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise UsageError(f"--part {self}: must be I/N with I from 1 to N")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def spans(self, first: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the templates among [first, stop) that belong to this part, as ascending spans."""
        if self.of == 1 and first < stop:
            yield first, stop
        elif first < stop:
            for block in range(first // BLOCK, -(-stop // BLOCK)):
                if block % self.of == self.number - 1:
                    yield max(first, block * BLOCK), min(stop, (block + 1) * BLOCK)


WHOLE = Part()


def parse_part(text: str) -> Part:
    """Parse `2/5`. Raises UsageError."""
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal()):
        raise UsageError(f"--part {text}: must be I/N, such as 1/4")
    return Part(int(number), int(of))


def select_reads(reads: ReadBatch, first: int, part: Part, done: int) -> list[ReadBatch]:
    """Select the reads of a batch that belong to the part. The batch begins with template number `first`.

    Templates before number `done` are already aligned.
    """
    starts = np.flatnonzero(reads.segment != Segment.LAST)
    if part == WHOLE and first >= done:
        return [reads]
    bounds = np.append(starts, len(reads))
    spans = part.spans(max(first, done), first + starts.size)
    return [take(reads, "reads", slice(int(bounds[start - first]), int(bounds[stop - first]))) for start, stop in spans]
