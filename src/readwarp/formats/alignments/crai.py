"""The index of a CRAM file (.crai), checked against the file: it lists each slice, at the place in the slice's header.

See the CRAM specification 3.1, sections 7 (containers), 8.4 (slice headers) and 12 (indexing). Files of versions other
than 3 are not checked.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from readwarp.errors import InputError
from readwarp.formats.common.index import explain_other, load_crai

DEFINITION = 26  # bytes before the first container
HEADER = 1 << 10  # bytes read of a container, and of a slice's header
SEVERAL = -2  # replaces the contig of a slice with several


class Slice(NamedTuple):
    """A line of a .crai, without the slice's size."""

    contig: int
    start: int
    span: int
    container: int  # offset in the file
    place: int  # after the container's header


def contigs_of_cram(path: Path) -> set[int]:
    """Return the numbers of the contigs on which a CRAM file has reads, by the index beside it.

    Raises InputError if the index is missing, damaged or of another file.
    """
    index, lines = load_crai(path)
    listed = [Slice(*line[:5]) for line in lines]
    with path.open("rb") as file:
        if file.read(5) == b"CRAM\x03":
            try:
                is_right = set(listed) == _expected(file, listed)
            except (IndexError, struct.error, OSError):  # OSError: an offset before the file
                raise InputError(path, "damaged, or truncated") from None
            if not is_right:
                raise InputError(index, explain_other(path))
    return {line.contig for line in listed} - {-1}


def _expected(file: BinaryIO, listed: list[Slice]) -> set[Slice]:
    """Return the lines for all slices; those of several contigs, and without positions, as listed."""
    by_place: dict[tuple[int, int], list[Slice]] = {}
    for line in listed:
        by_place.setdefault(line[3:], []).append(line)
    out = set[Slice]()
    for found in _slices(file):
        own = by_place.get(found[3:], [])
        if found.contig == SEVERAL or (found.contig < 0 and all(line.contig < 0 for line in own)):
            out.update(own or [found])
        else:
            out.add(found)
    return out


def _slices(file: BinaryIO) -> Iterator[Slice]:
    container, size = DEFINITION, os.fstat(file.fileno()).st_size
    while container < size:
        data = os.pread(file.fileno(), HEADER, container)
        (length,), at = struct.unpack_from("<i", data), 4
        (*_, records), at = _numbers(data, at, 4)  # contig, start, span, records
        at = _after_ltf8(data, _after_ltf8(data, at))  # number of the first record, bases
        (_, count), at = _numbers(data, at, 2)  # blocks, slices
        if length < 0 or not 0 <= count <= length:
            raise IndexError
        if count * 5 + at + 4 > len(data):
            data = os.pread(file.fileno(), at + 5 * count + 4, container)
        places, at = _numbers(data, at, count)
        after = container + at + 4  # a CRC
        for place in places if records else ():
            yield Slice(*_place_of(os.pread(file.fileno(), HEADER, after + place)), container, place)
        container = after + length


def _place_of(block: bytes) -> tuple[int, int, int]:
    """Return contig, start and span from a slice's header."""
    (*_, contig, start, span), _ = _numbers(block, 2, 6)  # after method and content: number, compressed size, size
    return contig, start, span


def _numbers(data: bytes, at: int, count: int) -> tuple[list[int], int]:
    """Return 32-bit numbers and where they end."""
    found = list[int]()
    for _ in range(count):
        number, at = _itf8(data, at)
        found.append(number)
    return found, at


def _itf8(data: bytes, at: int) -> tuple[int, int]:
    """Return a 32-bit number and where it ends."""
    first = data[at]
    more = min(4, 8 - (first ^ 0xFF).bit_length())
    rest = data[at + 1 : at + 1 + more]
    if len(rest) < more:
        raise IndexError
    if more < 4:
        return (first & (0x7F >> more)) << 8 * more | int.from_bytes(rest, "big"), at + 1 + more
    value = (first & 15) << 28 | int.from_bytes(rest[:3], "big") << 4 | rest[3] & 15
    return value - (value >> 31 << 32), at + 5


def _after_ltf8(data: bytes, at: int) -> int:
    return at + 1 + 8 - (data[at] ^ 0xFF).bit_length()
