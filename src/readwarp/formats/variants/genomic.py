"""Genomic VCF in: the lines of a file that span a region, in bulk. VCF, VCF.gz and BCF; `gvcf` writes them.

A file is read forwards, piece by piece, and lines before the requested region are forgotten; so are, on demand,
reference blocks where no file has a variant. With an index, it jumps to distant regions. Compiled code splits text
(`genomic_text`) into lines; htslib turns BCF into text (`bcf_text`).

An index could hide lines, so it is not trusted: its chunks must cover the whole file, without gaps; the first line of a
contig is checked when the contig is first requested; and each jump goes to a line before the requested place.
"""

import dataclasses
import re
from collections import deque
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy import ndarray

from readwarp.errors import InputError
from readwarp.formats.common.contig_names import explain_absent
from readwarp.formats.common.index import BgzfIndex, explain_other, load_whole_index
from readwarp.formats.common.regions import Contigs
from readwarp.formats.variants.bcf_text import BcfText
from readwarp.formats.variants.genomic_cells import Cells, read_cells
from readwarp.formats.variants.genomic_lines import BAD, FIXED, UNSORTED, VARIANT, Lines, scan_text
from readwarp.formats.variants.genomic_numbers import LARGEST
from readwarp.formats.variants.genomic_text import LineText
from readwarp.formats.variants.gvcf import NON_REF
from readwarp.ragged import concatenate, empty, replace, take

CHUNK = 1 << 17  # maximum bytes of text read at a time; less with many files
MIN_CHUNK = 1 << 16  # a block of BGZF
LETTERS_OF_NON_REF = np.frombuffer(NON_REF.encode(), np.uint8)
BYTES_OF_LINE = 33  # size of the numbers in Lines
FAR = 14  # bits: a jump goes to a line before the 16 kb around a place
CONTIG = re.compile(r"##contig=<(?:.*,)?ID=([^,>]+)")
BLOCKS_OF_BCFTOOLS = "##INFO=<ID=MinDP,"  # `bcftools call --gvcf`: lines with variants list no unknown allele
PRIORS = ("##DeepVariant_version=", "##source=DeepVariant", "##source=DeepTrio", "##source=Clair3")


@dataclasses.dataclass(slots=True)
class ReaderMemory:
    """Memory that several readers share, beyond two chunks each."""

    left: int  # bytes


class GenomicFile:
    """A genomic VCF that is read once, from its beginning to its end, or region by region in order."""

    def __init__(
        self, path: Path, contigs: Contigs, wanted: Collection[int] | None, chunk: int = CHUNK, is_held: bool = True
    ):
        """Open the file. wanted: contigs of regions to request by an index; None: the file is read as a whole.

        chunk: bytes of text read at a time. is_held: the file stays open, if its kind has a choice.

        `has_priors`: likelihoods of its variants are posteriors of its caller, a neural network. Raises InputError for
        a file that is not VCF, whose contigs differ in length or order, or that names no sample.
        """
        self.path, self._chunk = path, chunk
        self._contigs = contigs
        self._index: BgzfIndex | None = None
        self._pieces: deque[tuple[int, Lines]] = deque()
        self._is_over, self._has_jumped = False, False
        self._last = (0, 0)  # contig and position of the last line
        self._text_of: LineText | BcfText = LineText(path, is_held)
        try:
            head = self._text_of.begin(9)
            if head[:5] == b"BCF\x02\x02":
                self._text_of.close()
                self._text_of = BcfText(path, len(head) + int.from_bytes(head[5:], "little"))
            self.samples = self._read_header()
            if wanted is not None:
                self._open_index({contigs.names[number] for number in wanted})
        except BaseException:
            self.close()
            raise

    def _open_index(self, wanted: Collection[str]) -> None:
        is_bcf = isinstance(self._text_of, BcfText)
        index, self._first = load_whole_index(self.path, self._text_of.header_size, is_bcf)
        if isinstance(self._text_of, BcfText):
            index = dataclasses.replace(index, names=tuple(self._text_of.contigs[: len(index.starts)]))
        self._index_path = index.path
        if len(index.names) < len(index.starts) or not are_in_order(index.names, self._contigs, self._contig_lines):
            raise self._misled()
        self._unseen = set(index.names) & set(wanted)
        self._index = index.only(wanted)

    def close(self) -> None:
        self._text_of.close()

    def _read_header(self) -> tuple[str, ...]:
        header = self._text_of.header()
        if not header or not header[0].startswith("##fileformat=VCF"):
            raise InputError(self.path, "is not VCF: `readwarp call --gvcf` makes a gVCF from alignments")
        columns = header[-1].split("\t")
        if columns[0] != "#CHROM" or len(columns) <= FIXED:
            raise InputError(self.path, "its header names no sample")
        self._columns = len(columns)
        self._contig_lines = tuple(line for line in header if line.startswith("##contig"))
        if fault := find_fault(self._contig_lines, self._contigs):
            raise InputError(self.path, fault)
        self._needs_other = not any(line.startswith(BLOCKS_OF_BCFTOOLS) for line in header)
        self.has_priors = any(line.startswith(PRIORS) for line in header)
        return tuple(columns[FIXED:])

    def go_to(self, contig: int, position: int) -> None:
        """Jump to the next region to be requested, if that skips lines. Needs an index."""
        assert self._index is not None
        name, index = self._contigs.names[contig], self._index
        number = index.names.index(name) if name in index.names else -1
        start = index.start_of(number, position)
        if start is None:  # no line is on this contig
            self._pieces.clear()
            self._is_over = True
            return
        try:
            is_new = name in self._unseen
            if is_new:
                self._unseen.remove(name)
                if self._place_at(int(index.starts[number][0]), is_exact=True)[0] != name:
                    raise ValueError("another contig's lines are there")
            if self._is_over or is_new or self._text_of.is_before(start):
                self._pieces.clear()
                self._go_before(number, start, (name, position >> FAR << FAR))
                self._is_over, self._has_jumped = False, True
                self._last = (0, 0)
        except (InputError, ValueError) as error:
            raise self._misled() from error

    def _go_before(self, contig: int, start: int, place: tuple[str, int]) -> None:
        """Go to the last offset of a contig in the index, up to `start`, from which lines before a place follow.

        In a correct index, that is `start` or the offset before it; there may be none.
        """
        assert self._index is not None
        name, position = place
        while (found := self._place_at(start))[0] == name and found[1] >= position:
            before = self._index.before(contig, start)
            if before is None:
                return
            start = before

    def _place_at(self, offset: int, is_exact: bool = False) -> tuple[str, int]:
        """Go to a virtual offset, or to a line before it; return contig and 0-based position of the line there."""
        contig, position, _ = self._text_of.line_at(offset, self._first, is_exact).split(b"\t", 2)
        return contig.decode(errors="replace"), int(position) - 1

    def _misled(self) -> InputError:
        return InputError(self._index_path, explain_other(self.path))

    def read(self, contig: int, low: int, high: int, room: ReaderMemory | None = None) -> int:
        """Read the lines that span a base of [low, high) of a contig, while there is room; forget those before.

        Returns `high`, or the base before which no line is missing. Regions must be requested in order, but may
        overlap. Raises InputError.
        """
        self._forget(contig, low)
        free = 2 * self._chunk
        while not self._is_over and not self._has_passed(contig, high):
            if room and room.left <= 0:
                number, lines = self._pieces[-1] if self._pieces else (-1, None)
                return int(lines.begin[-1]) if lines and number == contig else low
            free -= self._read()
            if room:
                room.left += min(0, free)
            free = max(0, free)
            self._forget(contig, low)
        return high

    def survey(self, contig: int, low: int, high: int) -> tuple[ndarray, int]:
        """Find where variants begin in [low, high) (int64, ascending), and the bytes of the lines that begin there."""
        found, size = [np.empty(0, np.int64)], 0
        for number, lines in self._pieces:
            if number == contig:
                first, stop = np.searchsorted(lines.begin, (low, high)).tolist()
                found.append(lines.begin[first:stop][lines.kind[first:stop] == VARIANT])
                size += bytes_of(lines, first, stop)
        return np.unique(np.concatenate(found)), size

    def thin(self, contig: int, low: int, high: int, positions: ndarray) -> int:
        """Forget the blocks within [low, high) that span none of these positions (ascending).

        Returns the bytes of the remaining lines that begin there.
        """
        pieces, size = deque[tuple[int, Lines]](), 0
        for number, lines in self._pieces:
            first, stop = np.searchsorted(lines.begin, (low, high)).tolist() if number == contig else (0, 0)
            if first < stop:
                begin, end = lines.begin[first:stop], lines.end[first:stop]
                is_kept = (lines.kind[first:stop] == VARIANT) | (end > high)
                is_kept |= np.searchsorted(positions, begin) < np.searchsorted(positions, end)
                rows = first + np.flatnonzero(is_kept)
                if first:
                    pieces.append((number, take(lines, "lines", slice(0, first))))
                if rows.size:
                    pieces.append((number, take(lines, "lines", rows)))
                    size += bytes_of(pieces[-1][1], 0, rows.size)
                lines = take(lines, "lines", slice(stop, len(lines)))
            if len(lines):
                pieces.append((number, lines))
        self._pieces = pieces
        return size

    def lines(self, contig: int, low: int, high: int) -> Lines:
        """Return the lines that span a base of [low, high) of a contig, and none that begins after it; see `read`."""
        self.read(contig, low, high)
        parts = [_between(lines, low, high) for number, lines in self._pieces if number == contig]
        return concatenate(parts, "lines") if parts else empty(Lines, {}, offsets=np.zeros(1, np.int64))

    def _has_passed(self, contig: int, high: int) -> bool:
        if not self._pieces:
            return False
        number, lines = self._pieces[-1]
        return number > contig or (number == contig and int(lines.begin[-1]) >= high)

    def _forget(self, contig: int, low: int) -> None:
        ahead = ((n, lines) for n, lines in self._pieces if n > contig or (n == contig and int(lines.end.max()) > low))
        self._pieces = deque(ahead)

    def _read(self) -> int:
        """Append the next lines; return their bytes.

        If they do not begin like lines after a jump, the index is wrong.
        """
        has_jumped, self._has_jumped = self._has_jumped, False
        try:
            text = self._text_of.lines(self._chunk).rstrip(b" \t\r")  # after the last line, at the end of the file
        except InputError as error:
            raise self._misled() if has_jumped else error from error
        if not text:
            self._is_over = True
            return 0
        text = text if text.endswith(b"\n") else text + b"\n"
        lines, scan = scan_text(text, self._columns, LETTERS_OF_NON_REF, self._needs_other)
        n = len(lines)
        for line in np.flatnonzero(scan.status).tolist():
            raise self._misled() if has_jumped and line == 0 else self._error(lines, line, int(scan.status[line]))
        for first, stop in pairwise([*np.flatnonzero(scan.is_other).tolist(), n]):
            name = text[lines.offsets[first] : scan.name_stop[first]].decode(errors="replace")
            self._add(take(lines, "lines", slice(first, stop)), name)
        return bytes_of(lines, 0, n)

    def _add(self, lines: Lines, name: str) -> None:
        """Append lines of one contig, which must come after all others."""
        if name not in self._contigs.numbers:
            reason = explain_absent(name, self._contigs.numbers, "variants")
            raise InputError(self.path, reason, self.place(lines, 0))
        number = self._contigs.numbers[name]
        if (number, int(lines.begin[0])) < self._last:
            raise self._error(lines, 0, UNSORTED)
        length = self._contigs.lengths[number]
        if int(lines.end.max()) > length:
            reason = f"it is beyond the end of its contig, which has {length} bases"
            raise InputError(self.path, reason, self.place(lines, int(np.argmax(lines.end > length))))
        self._last = number, int(lines.begin[-1])
        self._pieces.append((number, lines))

    def _error(self, lines: Lines, line: int, status: int) -> InputError:
        return InputError(self.path, BAD[status], self.place(lines, line))

    def place(self, lines: Lines, line: int) -> str:
        """Return `contig:position` of a line, as far as it has them."""
        return b":".join(lines.fields(line)[:2]).decode(errors="replace")

    def cells(self, lines: Lines, rows: np.ndarray, column: int) -> Cells:
        """Return the values of a sample, `column` in the file, on some of the lines. Raises InputError."""
        n, size = rows.size, int(np.diff(lines.offsets)[rows].sum()) // 2 + 1
        cells = empty(Cells, {"cells": n, "copies": size, "depths": size, "likelihoods": size})
        read_cells(lines, rows, column, cells)
        for k in np.flatnonzero(cells.status).tolist():
            raise self._error(lines, int(rows[k]), int(cells.status[k]))
        if len(self.samples) == 1:
            for k in np.flatnonzero(cells.depth < 0).tolist():
                cells.depth[k] = depth_in(lines.fields(int(rows[k]))[7])
        return replace(
            cells,
            genotype=cells.genotype[: cells.copy_offsets[-1]],
            depths=cells.depths[: cells.depth_offsets[-1]],
            likelihoods=cells.likelihoods[: cells.likelihood_offsets[-1]],
        )


def are_in_order(names: Sequence[str], contigs: Contigs, lines: Sequence[str]) -> bool:
    """Return whether an index's contigs are in a file's header or in the reference, each once, and in its order."""
    known = {match[1] for line in lines if (match := CONTIG.match(line))} | contigs.numbers.keys()
    numbers = [contigs.numbers[name] for name in names if name in contigs.numbers]
    return known.issuperset(names) and len(set(names)) == len(names) and numbers == sorted(numbers)


@lru_cache(maxsize=16)
def find_fault(lines: tuple[str, ...], contigs: Contigs) -> str | None:
    """Return what is wrong with the contigs of a header, if anything.

    Contigs that the reference lacks are allowed, as long as no line is on one of them.
    """
    last, found = -1, 0
    strange = ""
    for line in lines:
        match = CONTIG.match(line)
        strange = strange or (match[1] if match else "")
        number = contigs.numbers.get(match[1], -1) if match else -1
        if not match or number < 0:
            continue
        name, length = match[1], re.search(r"[<,]length=([0-9]+)", line)
        if length and int(length[1]) != contigs.lengths[number]:
            return f"its contig {name!r} has {length[1]} bases, in the reference {contigs.lengths[number]}"
        if number < last:
            return f"its contig {name!r} comes before {contigs.names[last]!r} in the reference"
        last, found = number, found + 1
    if found:
        return None
    hint = f": {explain_absent(strange, contigs.numbers, 'variants')}" if strange else ""
    return f"its header names no contig of the reference{hint}"


def depth_in(information: bytes) -> int:
    """Return DP of INFO, for a file with one sample; -1 if absent."""
    match = re.search(rb"(?:^|;)DP=([0-9]+)", information)
    return min(LARGEST, int(match[1][:15])) if match else -1


def bytes_of(lines: Lines, first: int, stop: int) -> int:
    """Count the bytes of rows [first, stop), text and numbers."""
    return int(lines.offsets[stop] - lines.offsets[first]) + (stop - first) * BYTES_OF_LINE


def _between(lines: Lines, low: int, high: int) -> Lines:
    """Return the lines from the first that spans a base of [low, high) to the last that begins before its end."""
    stop = int(np.searchsorted(lines.begin, high))
    reaching = np.flatnonzero(lines.end[:stop] > low)
    return take(lines, "lines", slice(int(reaching[0]) if reaching.size else stop, stop))
