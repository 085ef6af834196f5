"""Lines of FASTQ and FASTA text: where they end, and the names in headers."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.device.rows import ragged_rows
from readwarp.formats.common.text import same_bytes

NEWLINE, RETURN, SPACE, TAB, SLASH = b"\n\r \t/"
SPAN = 256  # letters


class Text(NamedTuple):
    """Records of a file in a buffer of whole words."""

    letters: Annotated[ndarray, "uint8 [letters]"]
    start: int  # of the first record
    stop: int


def find_line_ends(text: Text, kind: str, records: int) -> ndarray:
    """Return the line ends of whole records: int64 [lines]."""
    letters, start, stop = text
    lines = int(np.count_nonzero(letters[start:stop] == NEWLINE)) if kind == "fasta" else 4 * records
    ends = np.empty(lines, np.int64)
    line_ends(letters.view(np.uint64), start, stop, ends)
    return ends


class LineEnds(NamedTuple):
    """Line ends of a text that fills its memory, by spans of SPAN letters."""

    place: Annotated[ndarray, "int64 [lines]"]
    offsets: Annotated[ndarray, "int64 [spans + 1] of lines"]


@scalar
def lines_in(span, letters):
    """Return the number of lines that end in a span."""
    lines = np.int64(0)
    for i in range(SPAN * span, min(SPAN * (span + 1), letters.size)):
        lines += letters[i] == NEWLINE
    return lines


@ragged_rows(LineEnds, lines_in, is_exact=True)
def list_line_ends(span, at, letters, out):
    """List where lines end in a span."""
    for i in range(SPAN * span, min(SPAN * (span + 1), letters.size)):
        if letters[i] == NEWLINE:
            out.place[at] = i
            at += 1
    return at


@scalar
def newline_bits(word):
    """Return the highest bit of each byte of the word that is a newline."""
    return equal_bits(word, np.uint64(0x0A0A0A0A0A0A0A0A))


@scalar
def equal_bits(word, other):
    """Return the highest bit of each byte that is equal in both words."""
    x, low = word ^ other, np.uint64(0x7F7F7F7F7F7F7F7F)
    return ~(((x & low) + low) | x) & np.uint64(0x8080808080808080)


@scalar
def lowest_byte(bits):
    """Return the byte that holds the lowest bit."""
    lowest = bits & (~bits + np.uint64(1))
    byte = np.int64(4) if lowest & np.uint64(0xFFFFFFFF00000000) else np.int64(0)
    byte += 2 if lowest & np.uint64(0xFFFF0000FFFF0000) else 0
    return byte + (1 if lowest & np.uint64(0xFF00FF00FF00FF00) else 0)


@kernel
def line_ends(words, start, stop, ends):
    """Write positions of the newlines among the bytes [start, stop) of `words` (uint64) to ends (int64)."""
    n = 0
    for w in range(start >> 3, (stop + 7) >> 3):
        bits = newline_bits(words[np.uint64(w)])
        while bits:
            i = 8 * w + lowest_byte(bits)
            bits &= bits - np.uint64(1)
            if start <= i < stop:
                ends[np.uint64(n)] = i
                n += 1


@scalar
def line_stop(text, start, end):
    """Return where the line [start, end) stops, without the carriage return of a CRLF end."""
    return end - 1 if end > start and text[end - 1] == RETURN else end


@scalar
def name_stop(text, start, stop):
    """Return where the name stops: before the first blank, and without /1 or /2."""
    i = start
    while i < stop and text[i] != SPACE and text[i] != TAB:
        i += 1
    if i - start > 2 and text[i - 2] == SLASH and (text[i - 1] == 49 or text[i - 1] == 50):
        return i - 2
    return i


@scalar
def repeats(letters, start, stop, header, header_stop):
    """Return whether the text [start, stop) is empty, or equal to the header's."""
    size = stop - start
    return size == 0 or (size == header_stop - header and same_bytes(letters, start, letters, header, size))
