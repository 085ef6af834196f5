"""Compiled loops of sorting. Records are `sam.Encoded` BAM, each after `skip` bytes that travel with it."""

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments.layout import CONTIG, FLAG, NAME, NAME_LENGTH, POSITION, int32_at, stop_of, uint16_at
from readwarp.rules.flags import FIRST, LAST, REVERSE, SECONDARY, SUPPLEMENTARY

CONTIG_SHIFT = 33  # in a key: the position has 32 bits, the strand one
UNPLACED = (1 << 30) - 1  # replaces the contig: files have fewer
UNPLACED_KEY = UNPLACED << CONTIG_SHIFT


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


@scalar
def coordinate_key(data, at):
    """Return (contig, position, strand) of the record at `at`; those without a contig come last."""
    contig, place = int32_at(data, at + CONTIG), int32_at(data, at + POSITION) + 1
    strand = (uint16_at(data, at + FLAG) & REVERSE) >> 4
    return (contig if contig >= 0 else UNPLACED) << CONTIG_SHIFT | place << 1 | strand


@kernel
def make_coordinate_keys(records, skip, keys):
    """Write the key of each record to keys (int64)."""
    for i in range(keys.size):
        keys[i] = coordinate_key(records.data, records.offsets[i] + skip)


@kernel
def gather(records, order, drop, out):
    """Copy the records in this order to out (Encoded), each without its first `drop` bytes."""
    data, offsets, out_data, out_offsets = records.data, records.offsets, out.data, out.offsets
    at = 0
    for i in range(order.size):
        source = data[offsets[order[i]] + drop : offsets[order[i] + 1]]
        target = out_data[at : at + source.size]
        out_offsets[i] = at
        for j in range(source.size):
            target[j] = source[j]
        at += source.size
    out_offsets[order.size] = at


@kernel
def copy_heads(records, skip, rows, out):
    """Copy the fixed part and the name of these records, after their `skip` bytes, to out (Encoded, large enough)."""
    data, offsets, out_data, out_offsets = records.data, records.offsets, out.data, out.offsets
    at = 0
    for i in range(rows.size):
        start = offsets[rows[i]]
        stop = start + skip + NAME + data[start + skip + NAME_LENGTH]
        out_offsets[i] = at
        for j in range(start, stop):
            out_data[at + j - start] = data[j]
        at += stop - start
    out_offsets[rows.size] = at


@kernel
def key_of(records, skip, row):
    """Return the key of a record."""
    return coordinate_key(records.data, records.offsets[row] + skip)


@kernel
def find_key(records, skip, key):
    """Find the first of the sorted records whose key (see `make_coordinate_keys`) is at least `key`."""
    first, stop = 0, records.offsets.size - 1
    while first < stop:
        middle = (first + stop) // 2
        if coordinate_key(records.data, records.offsets[middle] + skip) < key:
            first = middle + 1
        else:
            stop = middle
    return first


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
        for i in range(n):
            order[i] = other[i]
        width *= 2
