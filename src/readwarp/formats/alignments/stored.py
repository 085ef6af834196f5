"""Alignments as they are before they are sorted: BAM records in input order, read back batch by batch.

Used where the work of one run lies in several files: parts of `align --part`, lanes, and segments of a run that was
stopped. A template begins with its first primary record: mates are neighbours, and supplementary records follow the
record they belong to.
"""

from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np
from numpy import ndarray

from readwarp.device.jit import kernel
from readwarp.errors import InputError
from readwarp.formats.alignments.header import skip_header
from readwarp.formats.alignments.layout import FLAG, uint16_at
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.alignments.sort import records_in
from readwarp.formats.common.source import Source
from readwarp.ragged import take

CHUNK = 1 << 22  # bytes of records in memory
NOT_FIRST = 0x80 | 0x100 | 0x800  # last mate, secondary, supplementary


def read_stored(path: str) -> Iterator[Encoded]:
    """Read a BAM file, in pieces of whole templates. Raises InputError."""
    with closing(Source(path)) as source:
        skip_header(source.read_into, source.path)
        yield from read_templates(path, source.read_into)


def read_templates(path: str, read_into: Callable[[ndarray], int]) -> Iterator[Encoded]:
    """As `read_stored`, of the bytes with which `read_into` fills a buffer, as far as the file goes."""
    rest, ended = np.empty(0, np.uint8), False
    while not ended:
        data = np.empty(rest.size + CHUNK, np.uint8)
        data[: rest.size] = rest
        got = rest.size + read_into(data[rest.size :])
        ended, data = got < data.size, data[:got]
        records = records_in(data)
        if ended and records.offsets[-1] < got:
            raise InputError(path, "damaged, or truncated within a record")
        whole = len(records) if ended else int(find_last_template(records))
        rest = data[records.offsets[whole] :].copy()
        if whole:
            yield take(records, "records", slice(0, whole))


def split_blocks(records: Iterator[Encoded], block: int) -> Iterator[list[Encoded]]:
    """The same records, cut after every `block` templates; the last list holds what is left."""
    pieces: list[Encoded] = []
    room = block
    for piece in records:
        while True:
            cut = int(find_template(piece, room))
            if cut < 0:
                break
            pieces.append(take(piece, "records", slice(0, cut)))
            yield pieces
            pieces, room, piece = [], block, take(piece, "records", slice(cut, len(piece)))
        pieces.append(piece)
        room -= int(count_templates(piece))
    if any(len(piece) for piece in pieces):
        yield pieces


@kernel
def is_first(data, offset):
    """Whether a template begins with this record."""
    return uint16_at(data, offset + FLAG) & NOT_FIRST == 0


@kernel
def find_last_template(records):
    """The record with which the last template begins."""
    data, offsets = records.data, records.offsets
    for i in range(offsets.size - 2, -1, -1):
        if is_first(data, offsets[i]):
            return i
    return 0


@kernel
def count_templates(records):
    data, offsets, count = records.data, records.offsets, 0
    for i in range(offsets.size - 1):
        count += is_first(data, offsets[i])
    return count


@kernel
def find_template(records, number):
    """The record with which template `number` (from 0) begins, -1 if there are not so many."""
    data, offsets, seen = records.data, records.offsets, -1
    for i in range(offsets.size - 1):
        seen += is_first(data, offsets[i])
        if seen == number:
            return i
    return -1
