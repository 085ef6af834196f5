"""Lines of a genomic VCF: their extents in the text and on the contig."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.formats.common.text import same_bytes
from readwarp.formats.variants.genomic_numbers import number_in
from readwarp.ragged import empty

TAB, NEWLINE, RETURN, COMMA, DOT, SEMICOLON, LESS, EQUALS, GREATER, ASTERISK = b"\t\n\r,.;<=>*"
FIXED = 9  # columns before the samples

BLOCK, VARIANT = 0, 1  # kinds of lines
OK, BAD_LINE, NO_NON_REF, UNSORTED, NO_LIKELIHOODS, BAD_NUMBER = range(6)  # status of a line
BAD = {
    BAD_LINE: "the line has no position or alleles, an END before POS, or not as many columns as the header",
    NO_NON_REF: "its last ALT is not <NON_REF> (or <*>): not a genomic VCF",
    UNSORTED: "lines are not sorted by position",
    NO_LIKELIHOODS: "its FORMAT has no PL and no GL",
    BAD_NUMBER: "PL is not a list of whole numbers, or GL of logarithms",
}


class Lines(NamedTuple):
    """Whole lines of one contig in order of position."""

    text: Annotated[ndarray, "uint8 [letters]"]
    offsets: Annotated[ndarray, "int64 [lines + 1] of letters"]
    begin: Annotated[ndarray, "int64 [lines]"]  # first base of its span, 0-based in the contig
    end: Annotated[ndarray, "int64 [lines]"]  # after the last base
    kind: Annotated[ndarray, "uint8 [lines]"]  # BLOCK of reference or VARIANT

    def __len__(self) -> int:
        return self.begin.size

    def fields(self, line: int) -> list[bytes]:
        return self.text[self.offsets[line] : self.offsets[line + 1]].tobytes().rstrip(b"\r\n").split(b"\t")


class Scan(NamedTuple):
    """Further findings about lines."""

    name_stop: Annotated[ndarray, "int64 [lines]"]  # end of the contig's name in the text
    is_other: Annotated[ndarray, "bool [lines]"]  # on another contig than the line before
    status: Annotated[ndarray, "uint8 [lines]"]  # OK, BAD_LINE ...


def scan_text(text: bytes, columns: int, non_ref: ndarray, needs_other: bool) -> tuple[Lines, Scan]:
    """Scan whole lines, each with this many columns.

    needs_other: the last ALT of a line must be `non_ref` (uint8) or <*>, unless ALT is missing (`.`).
    """
    sizes = {"lines": text.count(b"\n")}
    lines, scan = empty(Lines, sizes, text=np.frombuffer(text, np.uint8)), empty(Scan, sizes)
    scan_lines(columns, non_ref, needs_other, lines, scan)
    return lines, scan


@kernel
def scan_lines(columns, non_ref, needs_other, lines, scan):
    """Fill Lines and Scan, see `scan_text`."""
    text = lines.text
    count = at = 0
    while at < text.size:
        stop = at
        while text[stop] != NEWLINE:
            stop += 1
        lines.offsets[count] = at
        last = count - 1 if count else 0
        scan_line(at, stop, columns, non_ref, needs_other, lines, scan, count)
        size, first = scan.name_stop[count] - at, lines.offsets[last]
        is_other = count == 0 or scan.name_stop[last] - first != size or not same_bytes(text, at, text, first, size)
        scan.is_other[count] = is_other
        if scan.status[count] == OK and not is_other and lines.begin[count] < lines.begin[last]:
            scan.status[count] = UNSORTED
        count += 1
        at = stop + 1
    lines.offsets[count] = text.size


@kernel
def scan_line(at, stop, columns, non_ref, needs_other, lines, scan, row):
    """Scan one line, text[at:stop], into the arrays at `row`."""
    text = lines.text
    if stop > at and text[stop - 1] == RETURN:
        stop -= 1
    field = tabs = begin = end = 0
    first, name_stop = at, stop
    status, kind = OK, BLOCK
    for i in range(at, stop + 1):
        if i < stop and text[i] != TAB:
            continue
        tabs += 1
        if field == 0:
            name_stop = i
        elif field == 1:
            begin = number_in(text, first, i) - 1
        elif field == 3:
            end = begin + i - first
        elif field == 4:
            kind, is_open = kind_of(text, first, i, non_ref)
            if needs_other and not is_open:
                status = NO_NON_REF
        elif field == 7 and kind == BLOCK:
            known = end_in(text, first, i)
            end = known if known > 0 else end
        field, first = field + 1, i + 1
    if tabs != columns or begin < 0 or end <= begin or name_stop == at:
        status = BAD_LINE
    lines.begin[row], lines.end[row] = begin, end
    lines.kind[row], scan.status[row] = kind, status
    scan.name_stop[row] = name_stop


@kernel
def kind_of(text, start, stop, non_ref):
    """Return the kind of a line with this ALT, and whether that is missing or ends in `non_ref` or <*>."""
    last = stop
    while last > start and text[last - 1] != COMMA:
        last -= 1
    is_none, is_open = stop - start == 1 and text[start] == DOT, is_non_ref(text, last, stop, non_ref)
    return BLOCK if is_none or (is_open and last == start) else VARIANT, is_none or is_open


@kernel
def is_non_ref(text, start, stop, non_ref):
    if stop - start == 3:
        return text[start] == LESS and text[start + 1] == ASTERISK and text[start + 2] == GREATER
    return stop - start == non_ref.size and same_bytes(text, start, non_ref, 0, non_ref.size)


@kernel
def end_in(text, start, stop):
    """Return END of INFO; 0 if there is none."""
    i = start
    while i + 4 < stop:
        if text[i] == 69 and text[i + 1] == 78 and text[i + 2] == 68 and text[i + 3] == EQUALS:
            last = i + 4
            while last < stop and text[last] != SEMICOLON:
                last += 1
            return number_in(text, i + 4, last)
        while i < stop and text[i] != SEMICOLON:
            i += 1
        i += 1
    return 0
