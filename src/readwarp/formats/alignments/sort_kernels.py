"""Compiled loops of sorting: BAM records, each behind `skip` bytes that travel with it, one behind the other."""

import numpy as np

from readwarp.device.jit import kernel, scalar

CONTIG, POSITION, NAME_LENGTH, FLAG, NAME = 4, 8, 12, 18, 36  # byte offsets in a record, block_size included
REVERSE = 0x10


@scalar
def int32_at(data, at):
    """Little-endian int32 as int64."""
    value = np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16
    return value | np.int64(np.int8(data[at + 3])) << 24


@scalar
def uint16_at(data, at):
    return np.int64(data[at]) | np.int64(data[at + 1]) << 8


@kernel
def record_offsets(data, skip, offsets):
    """Where the whole records of `data` start, and the end of the last -> offsets (int64, large enough); how many."""
    at, n = 0, 0
    offsets[0] = 0
    while at + skip + NAME <= data.size:
        end = at + skip + 4 + int32_at(data, at + skip)
        if end > data.size:
            break
        n += 1
        offsets[n] = at = end
    return n


@kernel
def coordinate_keys(data, offsets, skip, keys):
    """(contig, position, strand) of each record -> uint64 [n]; records without a contig come last."""
    for i in range(keys.size):
        at = offsets[i] + skip
        contig = int32_at(data, at + CONTIG) & 0x7FFFFFFF
        place = int32_at(data, at + POSITION) + 1
        strand = (uint16_at(data, at + FLAG) & REVERSE) >> 4
        keys[i] = np.uint64(contig) << np.uint64(33) | np.uint64(place << 1 | strand)


@kernel
def gather(data, offsets, order, first, last, drop, out, out_offsets):
    """Records order[first:last] -> out, each without its first `drop` bytes; where they start -> out_offsets."""
    at = 0
    for i in range(first, last):
        source = data[offsets[order[i]] + drop : offsets[order[i] + 1]]
        target = out[at : at + source.size]
        out_offsets[i - first] = at
        for j in range(source.size):
            target[j] = source[j]
        at += source.size
    out_offsets[last - first] = at


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
def name_order(data, offsets, skip, order, other):
    """Stable merge sort of the records by name -> order (int64 [n], 0..n-1 beforehand); `other` is of the same size."""
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
