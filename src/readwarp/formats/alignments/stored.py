"""Alignments before sorting: BAM records in input order, read back batch by batch.

Used where the work of one run is in several files: parts of `align --part`, lanes, and segments of a stopped run. A
template begins with its first primary record: mates are neighbours, and supplementary records follow the record they
belong to.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.errors import InputError
from readwarp.formats.alignments.checks import ANY, HeaderLimits, check_size, find_bad
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.layout import FLAG, NAME, stop_of, values_at
from readwarp.ragged import take
from readwarp.rules.flags import LAST, SECONDARY, SUPPLEMENTARY

CHUNK = 1 << 22  # bytes of records in memory
NOT_FIRST = LAST | SECONDARY | SUPPLEMENTARY


def read_templates(path: str, read_into: Callable[[ndarray], int], header: HeaderLimits = ANY) -> Iterator[Encoded]:
    """Yield the records in pieces of whole templates; `read_into` fills a buffer, or as much of it as the file has.

    Raises InputError.
    """
    rest, seen = np.empty(0, np.uint8), 0
    ended = False
    while not ended:
        data = np.empty(rest.size + CHUNK, np.uint8)
        data[: rest.size] = rest
        got = rest.size + read_into(data[rest.size :])
        ended, data = got < data.size, data[:got]
        records = records_in(data)
        bad, reason = find_bad(data, records.offsets[:-1], header)
        if bad >= 0:
            raise InputError(path, reason, seen + bad + 1)
        check_size(path, data[records.offsets[-1] :], seen + len(records) + 1)
        if ended and records.offsets[-1] < got:
            raise InputError(path, "truncated within the record", seen + len(records) + 1)
        begins = template_begins(records)
        whole = len(records) if ended else int(begins[-1]) if begins.size else 0
        rest, seen = data[records.offsets[whole] :].copy(), seen + whole
        if whole:
            yield take(records, "records", slice(0, whole))


def split_blocks(records: Iterator[Encoded], block: int) -> Iterator[list[Encoded]]:
    """Yield the same records, cut after every `block` templates; the last list holds the remainder."""
    pieces: list[Encoded] = []
    room = block
    for piece in records:
        begins = template_begins(piece)
        while begins.size > room:
            cut = begins[room]
            yield [*pieces, take(piece, "records", slice(0, cut))]
            pieces, piece = [], take(piece, "records", slice(cut, None))
            begins, room = begins[room:] - cut, block
        pieces.append(piece)
        room -= begins.size
    if any(len(piece) for piece in pieces):
        yield pieces


def template_begins(records: Encoded) -> ndarray:
    """Return the records with which templates begin."""
    return np.flatnonzero(values_at(records.data, records.offsets[:-1] + FLAG, "<u2") & NOT_FIRST == 0)


def records_in(data: ndarray, skip: int = 0) -> Encoded:
    """Return the whole records at the beginning of `data`; anything may follow them."""
    offsets = np.empty(data.size // (skip + NAME) + 2, np.int64)
    return Encoded(data, offsets[: find_records(data, skip, offsets) + 1])


@kernel
def find_records(data, skip, offsets):
    """Write where each whole record of `data` starts, and the last stops, to offsets (int64, large enough); return the
    number.

    The first incomplete record ends the search.
    """
    at, n = 0, 0
    offsets[0] = 0
    while at + skip + NAME <= data.size:
        end = stop_of(data, at + skip)
        if end > data.size or end < at + skip + NAME:
            break
        n += 1
        offsets[n] = at = end
    return n
