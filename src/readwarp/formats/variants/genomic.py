"""Genomic VCF in: the lines of a file that span a region, in bulk. VCF, VCF.gz and BCF; `gvcf` writes them.

A file is read forwards, piece by piece, and lines before the region asked for are forgotten. With an index, it jumps to
a region far ahead. Text (`genomic_text`) is split into lines in compiled code; BCF comes from htslib as text.
"""

import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pysam

from readwarp.errors import InputError
from readwarp.formats.common.contig_names import explain_absent
from readwarp.formats.common.index import BgzfIndex, load_vcf_index
from readwarp.formats.variants import genomic_kernels as kernels
from readwarp.formats.variants.genomic_cells import Cells, read_cells
from readwarp.formats.variants.genomic_kernels import Lines, Scan
from readwarp.formats.variants.genomic_text import LineText
from readwarp.formats.variants.gvcf import NON_REF
from readwarp.ragged import concatenate, empty, replace, take

CHUNK = 1 << 17  # bytes of text read at a time, at most; of many files less
BCF_LINES = 1 << 10  # records read at a time
LETTERS_OF_NON_REF = np.frombuffer(NON_REF.encode(), np.uint8)
BAD = {
    kernels.BAD_LINE: "the line has no position or alleles, or not as many columns as the header",
    kernels.NO_NON_REF: "its last ALT is not <NON_REF> (or <*>): not a genomic VCF",
    kernels.UNSORTED: "lines are not sorted by position",
    kernels.NO_LIKELIHOODS: "its FORMAT has no PL and no GL",
    kernels.BAD_NUMBER: "PL is not a list of whole numbers, or GL of logarithms",
}
BLOCKS_OF_BCFTOOLS = "##INFO=<ID=MinDP,"  # `bcftools call --gvcf`: lines with variants list no unknown allele
PRIORS = ("##DeepVariant_version=", "##source=DeepVariant", "##source=DeepTrio", "##source=Clair3")


class Contigs:
    """The reference's contigs; one object for all files."""

    def __init__(self, names: Sequence[str], lengths: Sequence[int]):
        self.names, self.lengths = names, lengths
        self.numbers = {name: number for number, name in enumerate(names)}


class GenomicFile:
    """A genomic VCF that is read once, from its beginning to its end, or region by region in order."""

    def __init__(
        self, path: Path, contigs: Contigs, wanted: Collection[int] | None, chunk: int = CHUNK, is_held: bool = True
    ):
        """`wanted`: contigs of which regions will be asked for, by an index; None: the file is read as a whole.

        chunk: bytes of text read at a time. is_held: the file stays open, as far as its kind has a choice.

        `has_priors`: likelihoods of its variants are posteriors of its caller, a neural network. Raises InputError for
        a file that is not VCF, whose contigs have other lengths or another order, or that names no sample.
        """
        self.path, self._contigs, self._chunk = path, contigs, chunk
        self._index: BgzfIndex | None = None
        self._pieces: deque[tuple[int, Lines]] = deque()
        self._is_over = False
        self._last = (0, 0)  # contig and position of the last line
        self._bcf: Any = None
        self._text_of = LineText(path, is_held)
        try:
            if self._text_of.begin(5) == b"BCF\x02\x02":
                self._open_bcf(wanted is not None)
            elif wanted is not None:
                self._index = load_vcf_index(path).only({contigs.names[number] for number in wanted})
            self.samples = self._read_header()
        except BaseException:
            self.close()
            raise

    def _open_bcf(self, with_index: bool) -> None:
        self._text_of.close()
        verbosity = pysam.set_verbosity(0)
        try:
            self._bcf = pysam.VariantFile(str(self.path), index_filename=None)
        except (OSError, ValueError) as error:
            raise InputError(self.path, "cannot be read as BCF") from error
        finally:
            pysam.set_verbosity(verbosity)
        if with_index and self._bcf.index is None:
            raise InputError(self.path, "has no index (make one with `bcftools index`)")
        self._records: Iterator[Any] = iter(self._bcf)

    def close(self) -> None:
        if self._bcf is not None:
            self._bcf.close()
        self._text_of.close()

    def _read_header(self) -> tuple[str, ...]:
        header = self._text_of.header() if self._bcf is None else str(self._bcf.header).splitlines()
        if not header or not header[0].startswith("##fileformat=VCF"):
            raise InputError(self.path, "is not VCF")
        columns = header[-1].split("\t")
        if columns[0] != "#CHROM" or len(columns) <= kernels.FIXED:
            raise InputError(self.path, "its header names no sample")
        self._columns = len(columns)
        if fault := find_fault(tuple(line for line in header if line.startswith("##contig")), self._contigs):
            raise InputError(self.path, fault)
        self._needs_other = not any(line.startswith(BLOCKS_OF_BCFTOOLS) for line in header)
        self.has_priors = any(line.startswith(PRIORS) for line in header)
        return tuple(columns[kernels.FIXED :])

    def go_to(self, contig: int, position: int) -> None:
        """Regions from here on will be asked for: jump there if that skips lines. Needs an index."""
        if self._bcf is not None:
            if self._last[0] == contig and self._pieces and position <= self._last[1]:
                return
            self._pieces.clear()
            self._records, self._is_over = self._bcf.fetch(self._contigs.names[contig], position), False
            self._last = (0, 0)
            return
        assert self._index is not None
        name = self._contigs.names[contig]
        number = self._index.names.index(name) if name in self._index.names else -1
        start = self._index.start_of(number, position)
        if start is None:  # no line reaches it or begins after it on this contig
            self._pieces.clear()
            self._is_over = True
        elif self._is_over or self._text_of.is_before(start):
            self._pieces.clear()
            self._text_of.seek(start)
            self._is_over, self._last = False, (0, 0)

    def lines(self, contig: int, low: int, high: int) -> Lines:
        """The lines that span a base of [low, high) of a contig, and no line that begins after it.

        Regions must be asked for in order, but may overlap. Raises InputError.
        """
        self._forget(contig, low)
        while not self._is_over and not self._has_passed(contig, high):
            self._read()
            self._forget(contig, low)
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

    def _text(self) -> bytes:
        """The next whole lines; nothing at the end of the file."""
        if self._bcf is not None:
            try:
                return "".join(map(str, islice(self._records, BCF_LINES))).encode()
            except (OSError, ValueError) as error:
                raise InputError(self.path, "damaged, or truncated") from error
        text = self._text_of.lines(self._chunk)
        if text.endswith(b"\n"):
            return text
        text = text.rstrip(b" \t\r")  # at the end of the file
        return text if not text or text.endswith(b"\n") else text + b"\n"

    def _read(self) -> None:
        text = self._text()
        if not text:
            self._is_over = True
            return
        n = text.count(b"\n")
        lines, scan = empty(Lines, {"lines": n}, text=np.frombuffer(text, np.uint8)), empty(Scan, {"lines": n})
        kernels.scan_lines(self._columns, LETTERS_OF_NON_REF, self._needs_other, lines, scan)
        for line in np.flatnonzero(scan.status).tolist():
            raise self._error(lines, line, int(scan.status[line]))
        for first, stop in pairwise([*np.flatnonzero(scan.is_other).tolist(), n]):
            name = text[lines.offsets[first] : scan.name_stop[first]].decode(errors="replace")
            self._add(take(lines, "lines", slice(first, stop)), name)

    def _add(self, lines: Lines, name: str) -> None:
        """Append lines of one contig, which must come after all others."""
        if name not in self._contigs.numbers:
            reason = explain_absent(name, self._contigs.numbers, "variants")
            raise InputError(self.path, reason, self.place(lines, 0))
        number = self._contigs.numbers[name]
        if (number, int(lines.begin[0])) < self._last:
            raise self._error(lines, 0, kernels.UNSORTED)
        self._last = number, int(lines.begin[-1])
        self._pieces.append((number, lines))

    def _error(self, lines: Lines, line: int, status: int) -> InputError:
        return InputError(self.path, BAD[status], self.place(lines, line))

    def place(self, lines: Lines, line: int) -> str:
        """`contig:position` of a line, as far as it has them."""
        return b":".join(lines.fields(line)[:2]).decode(errors="replace")

    def cells(self, lines: Lines, rows: np.ndarray, column: int) -> Cells:
        """The values of a sample, `column` of those in the file, on some of the lines. Raises InputError."""
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


@lru_cache(maxsize=16)
def find_fault(lines: tuple[str, ...], contigs: Contigs) -> str | None:
    """What is wrong with the contigs of a header, if anything.

    Contigs that the reference lacks may be there, as long as no line is on one of them.
    """
    last, found, strange = -1, 0, ""
    for line in lines:
        match = re.match(r"##contig=<(?:.*,)?ID=([^,>]+)", line)
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
    """DP of INFO, which is that of the file's only sample; -1 for none."""
    match = re.search(rb"(?:^|;)DP=([0-9]+)", information)
    return int(match[1]) if match else -1


def _between(lines: Lines, low: int, high: int) -> Lines:
    """From the first line that spans a base of [low, high) to the last that begins before its end."""
    stop = int(np.searchsorted(lines.begin, high))
    reaching = np.flatnonzero(lines.end[:stop] > low)
    return take(lines, "lines", slice(int(reaching[0]) if reaching.size else stop, stop))
