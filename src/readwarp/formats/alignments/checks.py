"""Checks of BAM records before kernels use their values as indices; contents that SAM cannot hold are rejected too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pysam
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.errors import InputError
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.header import field, lines_of
from readwarp.formats.common.silence import quiet_htslib
from readwarp.formats.common.text import find_name, pack_names
from readwarp.rules.flags import UNMAPPED

REASONS = (
    "",
    "damaged: its parts do not fit into its size",
    "its name is empty, or has characters that SAM does not allow",
    "its CIGAR has an unknown operation, or does not match the number of its bases",
    "the tag CG, which should hold its CIGAR, does not match the read",
    "a base quality is above 93, which SAM cannot hold",
    "a tag is cut off",
    "the name of a tag is not a letter and then a letter or digit",
    "has a tag twice",
    "the type of a tag is unknown",
    "the text of a tag has characters that SAM does not allow",
    "a tag of type H is not made of pairs of hexadecimal digits",
    "lies on a contig that the header does not have, or beyond its end",
    "its read group is not in the header",
    "reads are not sorted by position",
)
SOUND, SIZE, BAD_NAME, CIGAR, MOVED, QUALITY, CUT = range(7)
TAG_NAME, TWICE, KIND, LETTERS, DIGITS, PLACE, GROUP, UNSORTED = range(7, len(REASONS))
MAX_QUALITY, NO_QUALITY = 93, 255
AT, SPACE, TILDE = b"@ ~"


def _classes() -> ndarray:
    """Classify each byte: a bit for each of the sets below."""
    codes = np.arange(256)
    letter = (codes | 32 >= 97) & (codes | 32 <= 122)
    digit = (codes >= 48) & (codes <= 57)
    graph = (codes > SPACE) & (codes < 127)
    hexadecimal = digit | ((codes | 32 >= 97) & (codes | 32 <= 102))
    text = graph | (codes == SPACE) | (codes >= 128)  # names of files, samples and read groups may be UTF-8
    sets = (letter, letter | digit, graph, text, hexadecimal, codes < 128)
    return np.array(sum(own.astype(np.uint8) << bit for bit, own in enumerate(sets)), np.uint8)


CLASSES = _classes()
LETTER, ALPHANUMERIC, GRAPH, PRINTABLE, HEXADECIMAL, ASCII = (1 << bit for bit in range(6))
WIDTHS = np.zeros(256, np.uint8)  # bytes per number of each type
WIDTHS[np.frombuffer(b"cCsSiIf", np.uint8)] = 1, 1, 2, 2, 4, 4, 4


class HeaderLimits(NamedTuple):
    """The contigs and read groups that records may refer to."""

    lengths: Annotated[ndarray, "int64 [contigs]"]  # empty: any contig is valid
    letters: Annotated[ndarray, "uint8 [letters]"] = np.zeros(0, np.uint8)  # names of read groups
    offsets: Annotated[ndarray, "int64 [groups + 1] of letters"] = np.zeros(0, np.int64)  # empty: any; no CIGAR needed

    @classmethod
    def of(cls, text: str, lengths: Sequence[int]) -> "HeaderLimits":
        """Build it from SAM header text and the lengths of the contigs."""
        groups = pack_names([field(line, "ID") or "" for line in lines_of(text, "RG")])
        return cls(np.array(lengths, np.int64), *groups)


ANY = HeaderLimits(np.zeros(0, np.int64))
MAX_NAME = 254  # letters


def find_bad(data: ndarray, places: ndarray, header: HeaderLimits = ANY) -> tuple[int, str]:
    """Find the first bad record among those at `places` (int64); return (its row, the reason), or (-1, "") if none is.

    Their sizes are known to be at least `layout.NAME` bytes and to fit into the data (uint8).
    """
    row, reason = find_unsound(data, places, header)
    return row, REASONS[reason]


def name_of(data: ndarray, place: int) -> str:
    """Return the name of a record, which locates it in a file of any order, with unprintable characters escaped."""
    name = data[place + layout.NAME :][:MAX_NAME].tobytes().partition(b"\0")[0]
    return ascii(name.decode("latin-1"))[1:-1]


def check_size(path: object, rest: ndarray, record: int) -> None:
    """Raise InputError if the incomplete record at the beginning of `rest` has an impossible size."""
    size = int.from_bytes(rest[:4].tobytes(), "little", signed=True)
    if rest.size >= 4 and not layout.NAME <= size + 4 <= layout.MAX_RECORD:
        raise InputError(path, f"damaged: its size is {size} bytes", record)


def header_from(path: Path, text: str) -> pysam.AlignmentHeader:
    """Parse a header. Raises InputError."""
    with quiet_htslib():
        try:
            header = pysam.AlignmentHeader.from_text(text)
            groups = header.to_dict().get("RG", [])  # forces the parsing
        except ValueError as error:
            raise InputError(path, f"its header is not valid SAM ({error})") from error
        except KeyError as error:  # pysam's, for CL in a line other than @PG
            raise InputError(path, f"its header has {error.args[0]} in a line that may not have it") from error
    if not all("ID" in group for group in groups):
        raise InputError(path, "its header has a read group without an ID")
    return header


@kernel
def find_unsound(data, places, header):
    """Find the first bad record, like `find_bad`; return (its row, its number in REASONS), or (-1, SOUND)."""
    for i in range(places.size):
        reason = reason_of_record(data, places[i], header)
        if reason != SOUND:
            return i, reason
    return -1, SOUND


@scalar
def reason_of_record(data, at, header):
    """Return what is wrong with a record whose size fits into the data."""
    lengths, letters, offsets = header
    stop = layout.stop_of(data, at)
    reason = reason_of(data, at, stop)
    if reason == SOUND and lengths.size > 0:
        reason = reason_of_place(data, at, lengths, offsets.size > 0)
    if reason == SOUND:
        reason = reason_of_tags(data, (layout.qualities_of(data, at)[1], stop), letters, offsets)
    return reason


@scalar
def reason_of(data, at, stop):
    """Return what is wrong with the name, the CIGAR or the qualities of a record."""
    if not layout.is_whole(data, at, stop):
        return SIZE
    end = at + layout.NAME + np.int64(data[at + layout.NAME_LENGTH]) - 1
    least, most = range_of(data, at + layout.NAME, end)
    if data[end] != 0 or data[at + layout.NAME] == AT or least <= SPACE or most > TILDE or end == at + layout.NAME:
        return BAD_NAME
    reason = reason_of_cigar(data, at)
    if reason != SOUND:
        return reason
    start, stop = layout.qualities_of(data, at)
    least, most = range_of(data, start, stop)
    return QUALITY if most > MAX_QUALITY and least != NO_QUALITY else SOUND


@scalar
def range_of(data, start, stop):
    """Return the least and the largest byte, found many at a time; 255 and 0 if there are none."""
    least, most = np.uint8(255), np.uint8(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        least, most = min(least, data[i]), max(most, data[i])
    return least, most


@scalar
def reason_of_cigar(data, at):
    """Return what is wrong with the CIGAR, wherever it is stored."""
    (stored, operations), length = layout.stored_cigar_of(data, at), layout.int32_at(data, at + layout.LENGTH)
    if operations == 0:
        return SOUND
    start, operations = layout.cigar_of(data, at)
    if operations < 0:
        return MOVED
    stop, bases = layout.span_of(data, at)
    if bases < 0 or (length > 0 and bases != length):
        return CIGAR
    covered = stop - layout.int32_at(data, at + layout.POSITION)
    return MOVED if start != stored and covered != layout.uint32_at(data, stored + 4) >> 4 else SOUND


@scalar
def reason_of_place(data, at, lengths, needs_cigar):
    """Check that a record and its mate lie on contigs of the header; an aligned one also ends there and has a CIGAR.

    Without a contig, a position is meaningless, but some programs write one.
    """
    for contig, position in ((layout.CONTIG, layout.POSITION), (layout.MATE_CONTIG, layout.MATE_POSITION)):
        number, start = layout.int32_at(data, at + contig), layout.int32_at(data, at + position)
        if number < -1 or number >= lengths.size or start < -1 or (number >= 0 and start >= lengths[number]):
            return PLACE
    if layout.uint16_at(data, at + layout.FLAG) & UNMAPPED == 0:
        number, start = layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, at + layout.POSITION)
        if number < 0 or start < 0 or layout.span_of(data, at)[0] > lengths[number]:
            return PLACE
        has_cigar = not needs_cigar or layout.uint16_at(data, at + layout.OPERATIONS) > 0
        if not has_cigar and layout.int32_at(data, at + layout.LENGTH) > 0:  # as in CRAM
            return CIGAR
    return SOUND


@scalar
def reason_of_tags(data, tags, letters, offsets):
    """Return what is wrong with the fields (start, stop). Read groups must be among the names, if there are offsets."""
    at, stop = tags
    first, seen = at, np.uint64(0)
    while at < stop:
        if at + 4 > stop:
            return CUT
        head = layout.uint32_at(data, at)  # all four bytes at once
        one, other = np.uint8(head), np.uint8(head >> 8)
        kind = np.uint8(head >> 16)
        if not (CLASSES[one] & LETTER and CLASSES[other] & ALPHANUMERIC):
            return TAG_NAME
        bit = np.uint64(1) << np.uint64((31 * np.int64(one) + np.int64(other)) & 63)
        if seen & bit and is_repeated(data, first, at):
            return TWICE
        seen |= bit
        if kind == layout.TEXT or kind == layout.HEX:
            end, known = read_text(data, at + 3, stop)
            reason = CUT if end == stop else reason_of_text(data, (at + 3, end), known, kind == layout.HEX)
            is_group = kind == layout.TEXT and one == layout.R and other == layout.G and offsets.size > 0
            if reason == SOUND and is_group and find_name(data, at + 3, end, letters, offsets) < 0:
                reason = GROUP
            at = end + 1
        else:
            reason, at = reason_of_value(data, at + 3, stop, kind)
        if reason != SOUND:
            return reason
    return CUT if at > stop else SOUND


@scalar
def reason_of_text(data, span, known, is_hexadecimal):
    """Return what is wrong with the text in this span; known: the sets to which all its bytes belong."""
    at, stop = span
    if not known & PRINTABLE or not (known & ASCII or is_utf8(data, at, stop)):
        return LETTERS
    return DIGITS if is_hexadecimal and (not known & HEXADECIMAL or (stop - at) & 1) else SOUND


@scalar
def reason_of_value(data, at, stop, kind):
    """Return (what is wrong with a value that is no text, where it ends)."""
    if kind == layout.CHARACTER:
        return SOUND if CLASSES[data[at]] & GRAPH else LETTERS, at + 1
    if kind != layout.ARRAY:
        return SOUND if WIDTHS[kind] else KIND, at + np.int64(WIDTHS[kind])
    width = np.int64(WIDTHS[data[at]])
    if width == 0 or at + 5 > stop:
        return CUT if width else KIND, at
    return SOUND, at + 5 + width * layout.uint32_at(data, at + 1)


@scalar
def read_text(data, at, stop):
    """Return where the text ends, before a 0 or at `stop`, and the sets to which all its bytes belong."""
    known, one = np.uint8(255), np.uint64(1)
    i, end = np.uint64(at), np.uint64(stop)  # unsigned: no negative test
    while i < end and data[i] != 0:
        known &= CLASSES[data[i]]
        i += one
    return np.int64(i), known


@scalar
def is_utf8(data, at, stop):
    """Return whether the bytes [at, stop) are UTF-8 (RFC 3629), in shortest form and without surrogates."""
    while at < stop:
        first = data[at]
        low, high = 0x80, 0xBF  # bounds of the second byte
        if first < 0x80:
            more = 0
        elif 0xC2 <= first <= 0xDF:
            more = 1
        elif 0xE0 <= first <= 0xEF:
            more = 2
            low, high = 0xA0 if first == 0xE0 else 0x80, 0x9F if first == 0xED else 0xBF
        elif 0xF0 <= first <= 0xF4:
            more = 3
            low, high = 0x90 if first == 0xF0 else 0x80, 0x8F if first == 0xF4 else 0xBF
        else:
            return False
        if at + more >= stop or (more and not low <= data[at + 1] <= high):
            return False
        for i in range(2, more + 1):
            if data[at + i] & 0xC0 != 0x80:
                return False
        at += more + 1
    return True


@scalar
def is_repeated(data, first, last):
    """Return whether a field from `first` on, all of them sound, has the same name as the one at `last`."""
    while first < last:
        if data[first] == data[last] and data[first + 1] == data[last + 1]:
            return True
        first = layout.field_stop(data, first, last)
    return False
