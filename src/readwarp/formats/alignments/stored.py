"""Alignments as they were written before they are sorted: BAM records in input order, read back batch by batch.

Used where the work of one run lies in several files: parts of `align --part`, lanes, and segments of a run that was
stopped. Templates are counted from their first primary record: mates are neighbours, supplementary records follow the
record they belong to.
"""

from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np
from numpy import ndarray

from readwarp.device.jit import kernel
from readwarp.errors import InputError
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.alignments.sort import record_offsets
from readwarp.formats.alignments.sort_kernels import FLAG, uint16_at
from readwarp.formats.common.source import Source

CHUNK = 1 << 22  # bytes of records at hand
NOT_FIRST = 0x80 | 0x100 | 0x800  # last mate, secondary, supplementary


def stored_records(path: str) -> Iterator[Encoded]:
    """The records of a BAM file, in pieces of whole templates. Raises InputError."""
    with closing(Source(path)) as source:
        _skip_header(source)
        yield from records_of(path, source.read_into)


def records_of(path: str, read_into: Callable[[ndarray], int]) -> Iterator[Encoded]:
    """As `stored_records`, of what `read_into` gives: it fills a buffer as far as the file goes."""
    rest, ended = np.empty(0, np.uint8), False
    while not ended:
        data = np.empty(rest.size + CHUNK, np.uint8)
        data[: rest.size] = rest
        got = rest.size + read_into(data[rest.size :])
        ended, data = got < data.size, data[:got]
        offsets = record_offsets(data, 0)
        if ended and offsets[-1] < got:
            raise InputError(path, "damaged, or truncated within a record")
        whole = offsets.size - 1 if ended else int(last_template(data, offsets))
        rest = data[offsets[whole] :].copy()
        if whole:
            yield Encoded(data[: offsets[whole]], offsets[: whole + 1])


def _skip_header(source: Source) -> None:
    def exactly(size: int) -> ndarray:
        data = np.empty(size, np.uint8)
        if source.read_into(data) < size:
            raise InputError(source.path, "truncated: ends within its header")
        return data

    def number() -> int:
        return int.from_bytes(exactly(4).tobytes(), "little")

    exactly(4)
    exactly(number())
    for _ in range(number()):
        exactly(number() + 4)


def by_blocks(records: Iterator[Encoded], block: int) -> Iterator[list[Encoded]]:
    """The same records cut behind every `block` templates; the last list holds what is left."""
    pieces: list[Encoded] = []
    room = block
    for piece in records:
        while True:
            cut = int(record_of_template(piece.data, piece.offsets, room))
            if cut < 0:
                break
            pieces.append(between(piece, 0, cut))
            yield pieces
            pieces, room, piece = [], block, between(piece, cut, len(piece))
        pieces.append(piece)
        room -= int(templates_in(piece.data, piece.offsets))
    if any(len(piece) for piece in pieces):
        yield pieces


def between(records: Encoded, start: int, stop: int) -> Encoded:
    """Records [start, stop); views."""
    offsets = records.offsets[start : stop + 1]
    return Encoded(records.data[offsets[0] : offsets[-1]], offsets - offsets[0])


@kernel
def is_first(data, offset):
    """Whether a template begins with this record."""
    return uint16_at(data, offset + FLAG) & NOT_FIRST == 0


@kernel
def last_template(data, offsets):
    """The record with which the last template begins."""
    for i in range(offsets.size - 2, -1, -1):
        if is_first(data, offsets[i]):
            return i
    return 0


@kernel
def templates_in(data, offsets):
    count = 0
    for i in range(offsets.size - 1):
        count += is_first(data, offsets[i])
    return count


@kernel
def record_of_template(data, offsets, number):
    """The record with which template `number` (from 0) begins, -1 when there are no more than so many."""
    seen = -1
    for i in range(offsets.size - 1):
        seen += is_first(data, offsets[i])
        if seen == number:
            return i
    return -1
