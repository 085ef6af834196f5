"""Count GC-depth like `samtools stats`: in bins that begin where a read does.

With a reference, a bin begins with the first read that reaches more than 20,000 bases from the beginning of the last
bin, or beyond the part of the contig that samtools has read by then; without one, with the first read that begins so
far from it. So bins depend on all reads in file order, and so does the part of the reference that is read, which grows
with the length of earlier reads.
"""

from contextlib import closing
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.formats.common.regions import Contigs
from readwarp.ragged import concatenate, empty, replace, take
from readwarp.report.counting.letters import KNOWN, ReferenceLetters
from readwarp.report.counting.tables import CountedRecords
from readwarp.stream.runner import map_ordered

BIN = 20_000  # bases
TOGETHER = 64  # bins whose letters a thread counts together
FIRST_CYCLES = 300  # cycles that samtools has room for at first
PER_CYCLE = 10  # least bases of the reference that it reads per cycle
CONTIG, START, END, BUFFER, CYCLES = range(5)  # state: the last bin, and the part of the reference that is read


class Bins(NamedTuple):
    """Bins of reads; the first, as in samtools, is empty and has no contig."""

    contig: Annotated[ndarray, "int32 [bins]"]
    start: Annotated[ndarray, "int64 [bins]"]  # in the contig
    reads: Annotated[ndarray, "int64 [bins]"]
    content: Annotated[ndarray, "float32 [bins]"]  # sum of the reads' GC fractions


class BinCounter:
    """Counter of rows, which must come in file order."""

    def __init__(self, ends: ndarray):
        """Start counting. ends: int64 [contigs], contig lengths; empty without a reference."""
        self._ends = ends
        self._state = np.array([-1, 0, 0, max(BIN, PER_CYCLE * FIRST_CYCLES), FIRST_CYCLES], np.int64)
        self._closed = list[Bins]()
        self._last = empty(Bins, {}, np.zeros, contig=np.array([-1], np.int32))

    def add(self, rows: CountedRecords) -> None:
        bins = empty(Bins, {"bins": rows.contig.size + 1})
        for values, last in zip(bins, self._last, strict=True):
            values[0] = last[0]
        last = add_to_bins(rows, self._ends, self._state, bins)
        self._closed.append(take(bins, "bins", slice(0, last)))
        self._last = take(bins, "bins", slice(last, last + 1))

    def bins(self) -> Bins:
        return concatenate([*self._closed, self._last], "bins")


@kernel
def add_to_bins(rows, ends, state, bins):
    """Count rows (Rows) in bins (Bins, the first of which may continue) from `state` on; return the last bin."""
    contig, start, end, buffer, cycles = state
    last = 0
    for i in range(rows.contig.size):
        if rows.length[i] >= cycles:
            cycles += 2 * (1 + rows.length[i] - cycles)
            buffer = max(buffer, PER_CYCLE * cycles)
        position, reach = rows.position[i], rows.reach[i]
        if position < 0:
            continue
        is_new = rows.contig[i] != contig
        if ends.size == 0:
            is_new |= position - start > BIN
        elif is_new or end < reach or start + BIN < reach:
            wanted = reach if is_new or end < reach else position + BIN
            if is_new or end < wanted:
                buffer = max(buffer, wanted - position)
                end = min(position + buffer, ends[rows.contig[i]])
            is_new = True
        if is_new:
            contig, start = np.int64(rows.contig[i]), position
            last += 1
            bins.contig[last], bins.start[last] = contig, start
            bins.reads[last] = bins.content[last] = 0
        bins.reads[last] += 1
        bins.content[last] += rows.content[i]
    state[CONTIG], state[START] = contig, start
    state[END] = end
    state[BUFFER], state[CYCLES] = buffer, cycles
    return last


def with_reference(bins: Bins, contigs: Contigs, letters: ReferenceLetters, threads: int) -> Bins:
    """Return the bins with the GC content of the reference, from the start of each bin on, instead of the reads'."""

    def contents(rows: range) -> list[float]:
        return [content_of(letters, contigs, int(bins.contig[row]), int(bins.start[row])) for row in rows]

    ranges = (range(row, min(row + TOGETHER, bins.start.size)) for row in range(1, bins.start.size, TOGETHER))
    with closing(map_ordered(ranges, contents, threads, 2 * threads)) as found:
        shares = [0.0, *(share for part in found for share in part)]
    return replace(bins, content=np.array(shares, np.float32))


def content_of(letters: ReferenceLetters, contigs: Contigs, contig: int, start: int) -> float:
    """Return the GC content among the bases A, C, G and T of a bin; 0 without any."""
    stop = min(start + BIN, contigs.lengths[contig])
    codes = letters.read(contigs.names[contig], start, stop)
    gc, known = np.count_nonzero((codes == KNOWN["C"]) | (codes == KNOWN["G"])), np.count_nonzero(codes)
    return float(np.float32(gc) / np.float32(known)) if known else 0.0
