"""Compiled loops of sorting. Records are `sam.Encoded` BAM, each after `skip` bytes that travel with it."""

import numpy as np

from readwarp.device.jit import kernel, scalar
from readwarp.formats.alignments.layout import CONTIG, FLAG, NAME, POSITION, int32_at, stop_of, uint16_at

REVERSE = 0x10


@kernel
def find_records(data, skip, offsets):
    """Where each whole record of `data` starts and the last stops -> offsets (int64, large enough); -> their number.

    The first bytes that are not a whole record end the search.
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


@kernel
def make_coordinate_keys(records, skip, keys):
    """(contig, position, strand) of each record -> keys (uint64); records without a contig come last."""
    data, offsets = records.data, records.offsets
    for i in range(keys.size):
        at = offsets[i] + skip
        contig = int32_at(data, at + CONTIG) & 0x7FFFFFFF
        place = int32_at(data, at + POSITION) + 1
        strand = (uint16_at(data, at + FLAG) & REVERSE) >> 4
        keys[i] = np.uint64(contig) << np.uint64(33) | np.uint64(place << 1 | strand)


@kernel
def gather(records, order, drop, out):
    """The records in this order -> out (Encoded), each without its first `drop` bytes."""
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


@scalar
def is_digit(letter):
    return 48 <= letter <= 57


@scalar
def compare_names(data, a, b):
    """Order of the names at a and b, which end in 0: runs of digits by value, other letters by code."""
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
    """First mate before last, primary before supplementary before secondary."""
    return (flag & 0xC0) << 8 | (flag & 0x100) << 3 | (flag & 0x800) >> 3


@scalar
def comes_before(data, a, b):
    """Whether record b must come before record a (not when they are equal: the sort is stable)."""
    order = compare_names(data, a + NAME, b + NAME)
    if order == 0:
        order = rank_of_flag(uint16_at(data, a + FLAG)) - rank_of_flag(uint16_at(data, b + FLAG))
    return order > 0


@kernel
def sort_by_name(records, skip, order, other):
    """Stable merge sort of the records by name -> order (int64, at first 0, 1, ...); `other` has the same size."""
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
