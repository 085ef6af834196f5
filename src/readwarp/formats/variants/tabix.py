"""Index of a VCF.gz file, made while the file is written: TBI, or CSI for contigs too long for TBI."""

import struct
from functools import partial
from typing import NamedTuple

import numpy as np

from readwarp.compiler.jit import kernel
from readwarp.formats.common.bgzf import EOF_BLOCK, compress
from readwarp.formats.common.binning import Binned, ItemSpans, bin_items, depth_for, renumber
from readwarp.formats.common.index import CSI_LENGTH, DEPTH
from readwarp.formats.common.indexer import Indexer, Virtual, contents_of, csi_of, join_file
from readwarp.formats.common.text import same_bytes
from readwarp.formats.variants.genomic_lines import NEWLINE, TAB, end_in
from readwarp.formats.variants.genomic_numbers import number_in
from readwarp.ragged import empty

PIECE = 1 << 21  # bytes of text examined together
VCF = (2, 1, 2, 0, ord("#"), 0)  # format; columns of contig, begin and end; first letter of comments; lines to skip


class TabixLines(NamedTuple):
    """Findings on a piece of the file."""

    names: list[bytes]  # of its contigs
    lines: Binned  # with contigs numbered by their place among the names


class VcfIndexer:
    """An indexer that takes the lines of a file in order; threads examine them."""

    def __init__(self, header: int, longest_contig: int, threads: int) -> None:
        """Start an index. header: bytes before the first line."""
        is_long = longest_contig >= CSI_LENGTH  # a line may lie at the end of a contig, one base after its last
        self.ending, self._depth = (".csi", depth_for(longest_contig)) if is_long else (".tbi", DEPTH)
        self._indexer = Indexer[bytes, TabixLines](partial(bin_lines, depth=self._depth), header, threads)
        self._waiting, self._size = list[bytes](), 0

    def add(self, lines: bytes) -> None:
        self._waiting.append(lines)
        self._size += len(lines)
        if self._size >= PIECE:
            self._look()

    def _look(self) -> None:
        self._indexer.add(b"".join(self._waiting), self._size)
        self._waiting, self._size = [], 0

    def finish(self, virtual: Virtual) -> bytes:
        """Return the index."""
        self._look()
        numbers, parts = dict[bytes, int](), list[Binned]()
        for found in self._indexer.finish():
            own = [numbers.setdefault(name, len(numbers)) for name in found.names]
            parts.append(renumber(found.lines, np.array(own, np.int64)))
        whole, names = join_file(parts, self._depth, virtual), b"".join(name + b"\0" for name in numbers)
        extra = struct.pack("<7i", *VCF, len(names)) + names
        if self.ending == ".csi":
            return csi_of(whole, len(numbers), self._depth, extra)
        content = b"TBI\x01" + struct.pack("<i", len(numbers)) + extra + contents_of(whole, len(numbers))
        return compress(content + struct.pack("<Q", whole.unplaced)) + EOF_BLOCK

    def abort(self) -> None:
        self._indexer.abort()


def bin_lines(text: bytes, at: int, depth: int) -> TabixLines:
    """Bin whole lines that begin at byte `at` of the file's text. Any thread may call this."""
    spans = empty(ItemSpans, {"items": text.count(b"\n")})
    span_lines(np.frombuffer(text, np.uint8), at, spans)
    starts = spans.offset[np.flatnonzero(np.diff(spans.contig, prepend=-1))] - at
    names = [text[start : text.index(b"\t", start)] for start in starts.tolist()]
    return TabixLines(names, bin_items(spans, depth))


@kernel
def span_lines(text, before, spans):
    """Write each line's span to `spans`, its contig by the number of names so far. before: bytes before the text."""
    at = name = 0
    size, contig = -1, np.int64(-1)
    spans.offset[0] = before
    for row in range(spans.contig.size):
        line = first = at
        field = begin = end = 0
        while text[at] != NEWLINE:
            if text[at] == TAB and field < 8:
                if field == 0:
                    is_other = at - line != size or not same_bytes(text, line, text, name, size)
                    name, size = line, at - line
                    contig += is_other
                elif field == 1:
                    begin = number_in(text, first, at) - 1
                elif field == 3:
                    end = begin + at - first
                elif field == 7:
                    end = max(end, end_in(text, first, at))
                field, first = field + 1, at + 1
            at += 1
        if field == 7:  # no samples
            end = max(end, end_in(text, first, at))
        at += 1
        spans.contig[row], spans.is_mapped[row] = contig, True
        spans.begin[row], spans.end[row] = begin, end
        spans.offset[row + 1] = before + at
