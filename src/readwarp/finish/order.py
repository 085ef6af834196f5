"""Orders of BAM records, by coordinate and by name. Each record lies after `skip` bytes that travel with it."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.device.rows import each_row, maker_beside, ragged_rows, to_host, to_side_of
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.layout import CONTIG, FLAG, NAME, POSITION, int32_at, uint16_at
from readwarp.formats.common.text import put_bytes, put_copy
from readwarp.ragged import concatenate, offsets_of
from readwarp.rules.flags import FIRST, LAST, REVERSE, SECONDARY, SUPPLEMENTARY

CONTIG_SHIFT = 33  # in a key: the position has 32 bits, the strand one
UNPLACED = (1 << 30) - 1  # replaces the contig: files have fewer
UNPLACED_KEY = UNPLACED << CONTIG_SHIFT
NO_WORDS = np.empty((0, 0), np.int32)


def order_by_coordinate(parts: Sequence[Encoded], skip: int) -> ndarray:
    """Order records of either side by contig, position and strand, like `samtools sort`; unplaced ones come last."""
    keys = [maker_beside(records.data)(len(records), np.int64) for records in parts]
    for records, key in zip(parts, keys, strict=True):
        set_coordinate_key(len(records), records, skip, key)
    return np.argsort(np.concatenate([to_host(key) for key in keys]), kind="stable")


def order_by_name(parts: Sequence[Encoded], skip: int) -> ndarray:
    """Order by name, numbers in it by value, like `samtools sort -n`; then first mate before last, primary first."""
    records = concatenate(parts, "records")
    order = np.arange(len(records))
    sort_by_name(records, skip, order, np.empty_like(order))
    return order


Order = Callable[[Sequence[Encoded], int], ndarray]  # of the records of all parts, each after this many bytes
ORDERS: dict[str, Order] = {"coordinate": order_by_coordinate, "name": order_by_name}


def gather(records: Encoded, order: ndarray, skip: int, words: ndarray = NO_WORDS) -> Encoded:
    """Gather all records, of either side, in this order, each without its first `skip` bytes, and after its words.

    order: on the host. words: int32 [records, words].
    """
    rows, words = (to_side_of(records.data, each) for each in (order, words))
    number = records.data.size + order.size * (4 * words.shape[1] - skip)
    return put_in_order(order.size, records, rows, words, skip, number=number)


def gather_from(parts: Sequence[Encoded], order: ndarray) -> Encoded:
    """Gather the records of all parts, numbered from the first part on, in this order."""
    starts = offsets_of([len(records) for records in parts])
    offsets = offsets_of(np.concatenate([np.diff(records.offsets) for records in parts])[order])
    data, places = np.empty(offsets[-1], np.uint8), np.full(starts[-1], -1)
    places[order] = offsets[:-1]
    for records, start in zip(parts, starts, strict=False):
        put_in_place(len(records), records, places[start:], data)
    return Encoded(data, offsets)


@each_row
def put_in_place(row, records, places, data):
    """Copy a record to its place, if it has one."""
    if places[row] >= 0:
        put_copy(records.data, records.offsets[row], records.offsets[row + 1], data, places[row])


@scalar
def coordinate_key(data, at):
    """Return (contig, position, strand) of the record at `at`; those without a contig come last."""
    contig, place = int32_at(data, at + CONTIG), int32_at(data, at + POSITION) + 1
    strand = (uint16_at(data, at + FLAG) & REVERSE) >> 4
    return (contig if contig >= 0 else UNPLACED) << CONTIG_SHIFT | place << 1 | strand


@each_row
def set_coordinate_key(row, records, skip, keys):
    keys[row] = coordinate_key(records.data, records.offsets[row] + skip)


@kernel
def key_of(records, skip, row):
    """Return the key of a record."""
    return coordinate_key(records.data, records.offsets[row] + skip)


@kernel
def find_key(records, skip, key):
    """Find the first of the sorted records whose key (see `coordinate_key`) is at least `key`."""
    first, stop = 0, records.offsets.size - 1
    while first < stop:
        middle = (first + stop) // 2
        if coordinate_key(records.data, records.offsets[middle] + skip) < key:
            first = middle + 1
        else:
            stop = middle
    return first


@scalar
def room_in_order(i, records, order, words, skip):
    """Return the bytes of a record and its words."""
    return records.offsets[order[i] + 1] - records.offsets[order[i]] - skip + 4 * words.shape[1]


@ragged_rows(Encoded, room_in_order, is_exact=True)
def put_in_order(i, at, records, order, words, skip, out):
    """Put the i-th record of the order: see `gather`."""
    row = order[i]
    for word in range(words.shape[1]):
        at = put_bytes(words[row, word], 4, out.data, at)
    return put_copy(records.data, records.offsets[row] + skip, records.offsets[row + 1], out.data, at)


@scalar
def is_digit(letter):
    return 48 <= letter <= 57


@scalar
def compare_names(data, a, b):
    """Compare the names at a and b, which end in 0: runs of digits by value, other letters by code."""
    while data[a] != 0 and data[b] != 0:
        if not (is_digit(data[a]) and is_digit(data[b])):
            if data[a] != data[b]:
                return np.int64(data[a]) - np.int64(data[b])
            a += 1
            b += 1
            continue
        while data[a] == 48:
            a += 1
        while data[b] == 48:
            b += 1
        while is_digit(data[a]) and data[a] == data[b]:
            a += 1
            b += 1
        difference = np.int64(data[a]) - np.int64(data[b])
        while is_digit(data[a]) and is_digit(data[b]):
            a += 1
            b += 1
        if is_digit(data[a]) or is_digit(data[b]):
            return np.int64(1) if is_digit(data[a]) else np.int64(-1)
        if difference != 0:
            return difference
    return np.int64(data[a]) - np.int64(data[b])


@scalar
def rank_of_flag(flag):
    """Rank first mates before last, primary before supplementary before secondary records."""
    return (flag & (FIRST | LAST)) << 8 | (flag & SECONDARY) << 3 | (flag & SUPPLEMENTARY) >> 3


@scalar
def comes_before(data, a, b):
    """Return whether record b must precede record a (not when they are equal: the sort is stable)."""
    order = compare_names(data, a + NAME, b + NAME)
    if order == 0:
        order = rank_of_flag(uint16_at(data, a + FLAG)) - rank_of_flag(uint16_at(data, b + FLAG))
    return order > 0


@kernel
def sort_by_name(records, skip, order, other):
    """Sort the records by name with a stable merge sort. order: int64, initially 0, 1, ...; `other` has its size."""
    data, offsets = records.data, records.offsets
    n, width = order.size, 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for out in range(start, stop):
                right = i == middle
                if not right and j < stop:
                    right = comes_before(data, offsets[order[i]] + skip, offsets[order[j]] + skip)
                if right:
                    other[out] = order[j]
                    j += 1
                else:
                    other[out] = order[i]
                    i += 1
        order[:] = other
        width *= 2
