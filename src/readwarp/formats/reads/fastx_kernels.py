"""Compiled loops over FASTQ and FASTA text.

A record is located by five numbers: starts of name, sequence and quality, lengths of name and sequence (`FIELDS`).
Errors are (record, reason) with `REASONS`; the first in the text wins.
"""

import numpy as np

from readwarp.device.jit import kernel, scalar

NAME, NAME_LENGTH, SEQUENCE, LENGTH, QUALITY, COMMENT, COMMENT_LENGTH = range(7)
FIELDS = 7

OK, NO_NAME_LINE, NO_PLUS, UNEQUAL, BAD_BASE, BAD_QUALITY, BAD_NAME, LONG_NAME, NAMES_DIFFER = range(9)
REASONS = {
    NO_NAME_LINE: "does not start with '@'",
    NO_PLUS: "its third line does not start with '+'",
    BAD_BASE: "a character of the sequence is no IUPAC letter",
    BAD_QUALITY: "a character of the quality is outside Phred+33 ('!' to '~')",
    BAD_NAME: "a character of the name is outside '!' to '~'",
    LONG_NAME: "the name is longer than 254 characters",
    NAMES_DIFFER: "the names of the mates differ",
}

NEWLINE, RETURN, AT, GREATER, PLUS, SPACE, TAB, SLASH = 10, 13, 64, 62, 43, 32, 9, 47
INVALID = 255


def _codes() -> np.ndarray:
    """Letter -> base code: A C G T(U) 0-3, other IUPAC letters and '.' 4, the rest INVALID."""
    table = np.full(256, INVALID, np.uint8)
    for code, letters in enumerate(("A", "C", "G", "TU", "RYSWKMBDHVN.")):
        for letter in letters + letters.lower():
            table[ord(letter)] = code
    return table


CODES = _codes()


@scalar
def is_blank(text, start, stop):
    """Whether the line at `start` is empty."""
    return start < stop and (
        text[start] == NEWLINE or (text[start] == RETURN and start + 1 < stop and text[start + 1] == NEWLINE)
    )


@scalar
def newline_bits(word):
    """The highest bit of each byte of the word that is a newline."""
    x = word ^ np.uint64(0x0A0A0A0A0A0A0A0A)
    low = np.uint64(0x7F7F7F7F7F7F7F7F)
    return ~(((x & low) + low) | x) & np.uint64(0x8080808080808080)


@scalar
def lowest_byte(bits):
    """Which byte the lowest bit lies in."""
    lowest = bits & (~bits + np.uint64(1))
    byte = np.int64(4) if lowest & np.uint64(0xFFFFFFFF00000000) else np.int64(0)
    byte += 2 if lowest & np.uint64(0xFFFF0000FFFF0000) else 0
    return byte + (1 if lowest & np.uint64(0xFF00FF00FF00FF00) else 0)


@kernel
def cut_fastq(words, text, start, stop, most):
    """Whole records in text[start:stop], at most `most` -> (records, where they end, whether a blank line is there).

    `words` is the memory of `text` as uint64.
    """
    records, position, lines = 0, start, 0
    if is_blank(text, start, stop):
        return records, position, True
    for w in range(start >> 3, (stop + 7) >> 3):
        bits = newline_bits(words[w])
        while bits:
            i = 8 * w + lowest_byte(bits)
            bits &= bits - np.uint64(1)
            lines += start <= i < stop
            if lines == 4:
                records, position, lines = records + 1, i + 1, 0
                if records == most:
                    return records, position, False
                if is_blank(text, position, stop):
                    return records, position, True
    return records, position, False


@kernel
def cut_fasta(text, start, stop, most, ended):
    """As `cut_fastq`; a record is whole when another follows it, or the file has ended."""
    records, position, line = 0, start, start
    while line < stop and records < most:
        if line > start and text[line] == GREATER:
            records += 1
            position = line
        while line < stop and text[line] != NEWLINE:
            line += 1
        line += 1
    if ended and position < stop and records < most:
        return records + 1, stop, False
    return records, position, False


@kernel
def is_blank_text(text, start, stop):
    blank = True
    for i in range(start, stop):
        blank &= text[i] == NEWLINE or text[i] == RETURN
    return blank


@kernel
def line_ends(words, start, stop, ends):
    """Positions of the newlines in bytes start to stop of `words` (uint64) -> ends (int64)."""
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
    """Where the line [start, end) stops, without the carriage return of a CRLF end."""
    return end - 1 if end > start and text[end - 1] == RETURN else end


@scalar
def name_stop(text, start, stop):
    """Where the name stops: before the first blank, and without /1 or /2."""
    i = start
    while i < stop and text[i] != SPACE and text[i] != TAB:
        i += 1
    if i - start > 2 and text[i - 2] == SLASH and (text[i - 1] == 49 or text[i - 1] == 50):
        return i - 2
    return i


@kernel
def measure_fastq(text, start, ends, fields):
    """Line ends of n records -> fields int64 [n, FIELDS]; (record, reason, length found instead) of the first error."""
    for r in range(fields.shape[0]):
        if text[start] != AT:
            return r, NO_NAME_LINE, 0
        stop = line_stop(text, start, ends[4 * r])
        measure_name(text, start + 1, stop, fields[r])
        start = ends[4 * r] + 1
        length = line_stop(text, start, ends[4 * r + 1]) - start
        fields[r, SEQUENCE], fields[r, LENGTH] = start, length
        start = ends[4 * r + 1] + 1
        if text[start] != PLUS:
            return r, NO_PLUS, 0
        start = ends[4 * r + 2] + 1
        qualities = line_stop(text, start, ends[4 * r + 3]) - start
        if qualities != length:
            return r, UNEQUAL, qualities
        fields[r, QUALITY] = start
        start = ends[4 * r + 3] + 1
    return -1, OK, 0


@scalar
def measure_name(text, start, stop, fields):
    end = name_stop(text, start, stop)
    fields[NAME], fields[NAME_LENGTH] = start, end - start
    while end < stop and text[end] != SPACE and text[end] != TAB:
        end += 1
    fields[COMMENT], fields[COMMENT_LENGTH] = end + 1, max(0, stop - end - 1)


@kernel
def measure_fasta(text, start, ends, lines, fields):
    """As `measure_fastq`; a sequence may go over several lines, so LENGTH sums them. -> (record, reason, 0)"""
    r = -1
    for line in range(lines):
        stop = line_stop(text, start, ends[line])
        if stop > start and text[start] == GREATER:
            r += 1
            measure_name(text, start + 1, stop, fields[r])
            fields[r, SEQUENCE], fields[r, LENGTH], fields[r, QUALITY] = ends[line] + 1, 0, -1
        else:
            fields[r, LENGTH] += stop - start
        start = ends[line] + 1
    return -1, OK, 0


@kernel
def fill(text, fields, first, step, bases, qualities, read_offsets, names, name_offsets):
    """Record r becomes read `first + step * r`. -> (record, reason) of the first error, or (-1, OK)."""
    for r in range(fields.shape[0]):
        read = first + step * r
        length, source, out = fields[r, LENGTH], fields[r, SEQUENCE], read_offsets[read]
        if fields[r, QUALITY] < 0:
            worst = fill_lines(text, source, bases[out : out + length])
            qualities[out : out + length] = 255
        else:
            worst = np.uint8(0)
            for i in range(length):
                code = CODES[text[source + i]]
                bases[out + i] = code
                worst = max(worst, code)
            if (
                fill_qualities(text[fields[r, QUALITY] : fields[r, QUALITY] + length], qualities[out : out + length])
                > 93
            ):
                return r, BAD_QUALITY
        if worst == INVALID:
            return r, BAD_BASE
        length, source, out = fields[r, NAME_LENGTH], fields[r, NAME], name_offsets[read]
        if length > 254:
            return r, LONG_NAME
        if not fill_name(text[source : source + length], names[out : out + length]):
            return r, BAD_NAME
    return -1, OK


@scalar
def fill_bases(text, out):
    """Letters -> codes; the largest. A C G T come by arithmetic, which compiles to vector code, others by the table."""
    worst = np.uint8(0)
    for i in range(text.size):
        letter = text[i]
        upper = letter & np.uint8(0xDF)
        code = (letter >> np.uint8(1)) & np.uint8(3)  # A C T(U) G
        code ^= code >> np.uint8(1)
        known = (upper == 65) | (upper == 67) | (upper == 71) | (upper == 84) | (upper == 85)
        out[i] = np.uint8(code) if known else np.uint8(4)
        worst = max(worst, out[i])
    if worst == 4:
        for i in range(text.size):
            worst = max(worst, CODES[text[i]])
    return worst


@scalar
def fill_name(text, out):
    good = True
    for i in range(text.size):
        out[i] = text[i]
        good &= (text[i] >= 33) & (text[i] <= 126)
    return good


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
    """A sequence over several lines -> out; the largest code."""
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
    """First pair 2i, 2i + 1 whose names differ, or -1."""
    for pair in range((name_offsets.size - 1) // 2):
        start, middle, stop = name_offsets[2 * pair], name_offsets[2 * pair + 1], name_offsets[2 * pair + 2]
        if middle - start != stop - middle:
            return pair
        for i in range(middle - start):
            if names[start + i] != names[middle + i]:
                return pair
    return -1
