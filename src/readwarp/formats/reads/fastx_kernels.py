"""Compiled loops over FASTQ and FASTA text. Errors are (record, reason) with `REASONS`; the first in the text wins."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.common.reads import Segment

OK, NO_NAME_LINE, NO_PLUS, UNEQUAL, BAD_BASE, BAD_QUALITY, BAD_NAME, LONG_NAME, OTHER_NAME = range(9)
REASONS = {
    NO_NAME_LINE: "does not start with '@'",
    NO_PLUS: "its third line does not start with '+'",
    BAD_BASE: "a character of the sequence is not an IUPAC letter",
    BAD_QUALITY: "a character of the quality is outside Phred+33 ('!' to '~')",
    BAD_NAME: "the name begins with '@', or a character of it is outside '!' to '~'",
    LONG_NAME: "the name is longer than 254 characters",
    OTHER_NAME: "its third line has another name than its first",
}

NEWLINE, RETURN, AT, GREATER, PLUS, SPACE, TAB, SLASH = b"\n\r@>+ \t/"
UNPAIRED, FIRST, LAST = map(int, Segment)
A, C, G, T = (np.uint8(letter) for letter in b"ACGT")
CAPITAL = np.uint8(0xDF)  # bits of a letter that do not depend on its case
INVALID = 255
COUNTED = np.uint64(255)  # words whose lines fit in a byte counter
EVEN_BYTES, ONES = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0001000100010001)
NO_QUALITY, MAX_QUALITY, MAX_NAME = 255, 93, 254


CODES = np.full(256, INVALID, np.uint8)  # letter -> base: A C G T(U) 0-3, other IUPAC letters and '.' 4
for _base, _letters in enumerate(("A", "C", "G", "TU", "RYSWKMBDHVN.")):
    CODES[list((_letters + _letters.lower()).encode())] = _base


class Text(NamedTuple):
    """Records of a file in a buffer of whole words."""

    letters: Annotated[ndarray, "uint8 [letters]"]
    start: int  # of the first record
    stop: int


class FastxRecords(NamedTuple):
    """Places of the parts of each record among the letters."""

    name: Annotated[ndarray, "int64 [records]"]
    name_length: Annotated[ndarray, "int64 [records]"]
    comment: Annotated[ndarray, "int64 [records]"]
    comment_length: Annotated[ndarray, "int64 [records]"]
    sequence: Annotated[ndarray, "int64 [records]"]
    length: Annotated[ndarray, "int64 [records]"]  # of the sequence, without line ends
    quality: Annotated[ndarray, "int64 [records]"]  # -1 none

    def __len__(self) -> int:
        return self.name.size


@scalar
def is_blank(text, start, stop):
    """Return whether the line at `start` is empty."""
    return start < stop and (
        text[start] == NEWLINE or (text[start] == RETURN and start + 1 < stop and text[start + 1] == NEWLINE)
    )


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
def cut_fastq(text, words, limit):
    """Find whole records of the text, at most `limit`; return (records, their end, whether a blank line follows).

    words: the memory of its letters as uint64.
    """
    letters, start, stop = text
    records, position, lines = 0, start, 0
    if is_blank(letters, start, stop):
        return records, position, True
    for w in range(start >> 3, (stop + 7) >> 3):
        bits = newline_bits(words[w])
        while bits:
            i = 8 * w + lowest_byte(bits)
            bits &= bits - np.uint64(1)
            lines += start <= i < stop
            if lines == 4:
                records, position, lines = records + 1, i + 1, 0
                if records == limit:
                    return records, position, False
                if is_blank(letters, position, stop):
                    return records, position, True
    return records, position, False


@kernel
def count_lines(text, words):
    """Return (newlines in the text, whether one may follow another directly, or a carriage return)."""
    letters, start, stop = text
    first, last = np.uint64((start + 7) >> 3), np.uint64(stop >> 3)  # whole words
    lines, empty, before = np.uint64(0), np.uint64(0), np.uint64(0)
    for block in range(first, last, COUNTED):
        sums = np.uint64(0)  # of each byte
        for w in range(block, min(block + COUNTED, last)):
            bits = newline_bits(words[w])
            sums += bits >> np.uint64(7)
            empty |= bits & (bits << np.uint64(8) | before >> np.uint64(56))
            empty |= equal_bits(words[w], np.uint64(0x0D0D0D0D0D0D0D0D))
            before = bits
        lines += (sums & EVEN_BYTES) * ONES >> np.uint64(48)
        lines += (sums >> np.uint64(8) & EVEN_BYTES) * ONES >> np.uint64(48)
    head, tail = min(np.int64(first) * 8, stop), max(np.int64(last) * 8, start)
    for i in range(start, head):
        lines += np.uint64(letters[i] == NEWLINE)
    for i in range(max(head, tail), stop):
        lines += np.uint64(letters[i] == NEWLINE)
    is_odd = empty != 0 or head >= tail or is_odd_end(letters, start, head) or is_odd_end(letters, tail, stop)
    return np.int64(lines), is_odd


@scalar
def is_odd_end(letters, start, stop):
    """Return whether an empty line or a carriage return may be near the end of a text."""
    for i in range(start, stop):
        if letters[i] == RETURN or (letters[i] == NEWLINE and (letters[i - 1] == NEWLINE or letters[i + 1] == NEWLINE)):
            return True
    return False


@kernel
def end_of_line(text, words, after):
    """Find the end of the line that this many whole lines and perhaps part of one follow; the start if none does."""
    letters, start, stop = text
    for w in range((stop - 1) >> 3, (start >> 3) - 1, -1):
        if newline_bits(words[w]):
            for i in range(min(stop, 8 * w + 8) - 1, max(start, 8 * w) - 1, -1):
                if letters[i] == NEWLINE:
                    if after == 0:
                        return i + 1
                    after -= 1
    return start


@kernel
def cut_fasta(text, limit, ended):
    """Find whole records like `cut_fastq`; one is whole when another follows it, or the file has ended."""
    letters, start, stop = text
    records, position, line = 0, start, start
    while line < stop and records < limit:
        if line > start and letters[line] == GREATER:
            records += 1
            position = line
        while line < stop and letters[line] != NEWLINE:
            line += 1
        line += 1
    if ended and position < stop and records < limit:
        return records + 1, stop, False
    return records, position, False


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
    if start == stop:
        return True
    if stop - start != header_stop - header:
        return False
    text, same = letters[start:stop], True
    name = letters[header:header_stop]
    for i in range(text.size):
        same &= text[i] == name[i]
    return same


@kernel
def pair_up(text, ends, is_fasta, ended, segments):
    """Pair neighbours of one name, like bwa mem -p, in segments (uint8 [records]); others are single reads.

    ends: of all lines of the records. Unless the file has `ended`, a last read without a mate may have it in the next
    record, and does not count. Returns the number of records that count.
    """
    letters, start, _ = text
    records, name, size, waits = 0, start, np.int64(0), False  # name of the last read, and whether it lacks a mate
    for line in range(ends.size):
        if letters[start] == GREATER if is_fasta else line & 3 == 0:
            stop = name_stop(letters, start + 1, line_stop(letters, start, ends[line]))
            is_mate = waits and stop - start - 1 == size and repeats(letters, start + 1, stop, name, name + size)
            segments[records] = LAST if is_mate else UNPAIRED
            if is_mate:
                segments[records - 1] = FIRST
            records, name, size, waits = records + 1, start + 1, stop - start - 1, not is_mate
        start = ends[line] + 1
    return records - (1 if waits and not ended else 0)


@kernel
def measure_fastq(text, ends, out):
    """Find the parts of all records by line ends; return (record, reason, length found instead) of the first error."""
    letters, start, _ = text
    name, name_length, comment, comment_length, sequence, length, quality = out
    for r in range(name.size):
        if letters[start] != AT:
            return r, NO_NAME_LINE, 0
        header, stop = start + 1, line_stop(letters, start, ends[4 * r])
        name[r], name_length[r], comment[r], comment_length[r] = name_and_comment(letters, header, stop)
        start = ends[4 * r] + 1
        sequence[r], length[r] = start, line_stop(letters, start, ends[4 * r + 1]) - start
        start = ends[4 * r + 1] + 1
        if letters[start] != PLUS:
            return r, NO_PLUS, 0
        if not repeats(letters, start + 1, line_stop(letters, start, ends[4 * r + 2]), header, stop):
            return r, OTHER_NAME, 0
        start = ends[4 * r + 2] + 1
        qualities = line_stop(letters, start, ends[4 * r + 3]) - start
        if qualities != length[r]:
            return r, UNEQUAL, qualities
        quality[r] = start
        start = ends[4 * r + 3] + 1
    return -1, OK, 0


@scalar
def name_and_comment(letters, start, stop):
    """Return starts and lengths of name and comment in the header line [start, stop), without its first letter."""
    name = end = name_stop(letters, start, stop)
    while end < stop and letters[end] != SPACE and letters[end] != TAB:
        end += 1
    return start, name - start, end + 1, max(0, stop - end - 1)


@kernel
def measure_fasta(text, ends, out):
    """Find the parts like `measure_fastq`, with sequences that may span several lines. Return (-1, OK, 0)."""
    letters, start, _ = text
    name, name_length, comment, comment_length, sequence, length, quality = out
    r = -1
    for end in ends:
        stop = line_stop(letters, start, end)
        if stop > start and letters[start] == GREATER:
            r += 1
            name[r], name_length[r], comment[r], comment_length[r] = name_and_comment(letters, start + 1, stop)
            sequence[r], length[r], quality[r] = end + 1, 0, -1
        else:
            length[r] += stop - start
        start = end + 1
    return -1, OK, 0


@kernel
def fill(text, records, first, step, out):
    """Copy record r to read `first + step * r` of out (ReadBatch, offsets set); return (record, reason) or (-1, OK)."""
    letters, bases, qualities, read_offsets = text.letters, out.bases, out.qualities, out.read_offsets
    names, name_offsets = out.names, out.name_offsets
    name, name_length, sequence = records.name, records.name_length, records.sequence
    length, quality = records.length, records.quality
    for r in range(name.size):
        read = first + step * r
        size, source, to = length[r], sequence[r], read_offsets[read]
        if quality[r] < 0:
            worst = fill_lines(letters, source, bases[to : to + size])
            qualities[to : to + size] = NO_QUALITY
        else:
            worst = fill_bases(letters[source : source + size], bases[to : to + size])
            if fill_qualities(letters[quality[r] : quality[r] + size], qualities[to : to + size]) > MAX_QUALITY:
                return r, BAD_QUALITY
        if worst == INVALID:
            return r, BAD_BASE
        size, source, to = name_length[r], name[r], name_offsets[read]
        if size > MAX_NAME:
            return r, LONG_NAME
        if not fill_name(letters[source : source + size], names[to : to + size]):
            return r, BAD_NAME
    return -1, OK


@scalar
def fill_name(text, out):
    """Fill in a name; return whether SAM can hold it: after a leading @, a line would belong to the header."""
    good = text.size == 0 or text[0] != AT
    for i in range(text.size):
        out[i] = text[i]
        good &= (text[i] >= 33) & (text[i] <= 126)
    return good


@scalar
def fill_bases(text, out):
    """Convert letters to codes; return the largest. A C G T, by far the most, go without a table, many at a time."""
    others = False
    for i in range(text.size):
        letter = text[i] & CAPITAL
        half = (letter >> np.uint8(1)) & np.uint8(3)
        out[i] = half ^ (half >> np.uint8(1))
        others |= (letter != A) & (letter != C) & (letter != G) & (letter != T)
    if not others:
        return np.uint8(3)
    worst = np.uint8(0)
    for i in range(text.size):
        out[i] = CODES[text[i]]
        worst = max(worst, out[i])
    return worst


@scalar
def fill_qualities(text, out):
    worst = np.uint8(0)
    for i in range(text.size):
        quality = np.uint8(text[i] - np.uint8(33))
        out[i] = quality
        worst = max(worst, quality)
    return worst


@scalar
def fill_lines(text, source, out):
    """Fill in a sequence over several lines; return the largest code."""
    worst, i = np.uint8(0), 0
    while i < out.size:
        letter = text[source]
        if letter != NEWLINE and not (letter == RETURN and text[source + 1] == NEWLINE):
            out[i] = CODES[letter]
            worst = max(worst, out[i])
            i += 1
        source += 1
    return worst


@kernel
def first_unequal_pair(names, name_offsets):
    """Return the first pair 2i, 2i + 1 whose names differ, or -1."""
    for pair in range((name_offsets.size - 1) // 2):
        start, middle, stop = name_offsets[2 * pair], name_offsets[2 * pair + 1], name_offsets[2 * pair + 2]
        if middle - start != stop - middle:
            return pair
        for i in range(middle - start):
            if names[start + i] != names[middle + i]:
                return pair
    return -1
