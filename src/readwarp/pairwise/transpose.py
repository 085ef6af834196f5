"""Transpose sequences into lanes: byte matrices in squares of 8 x 8 that fit eight 64-bit words."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.compiler.simd import load_eight, store_eight


class LaneSequences(NamedTuple):
    """Sequences, one per lane."""

    codes: Annotated[ndarray, "uint8 [bases]"]
    starts: Annotated[ndarray, "int64 [lanes]"]
    lengths: Annotated[ndarray, "int64 [lanes]"]
    places: Annotated[ndarray, "int64 [lanes]"]  # position of its first code


@kernel
def _eight_by_eight(a, b, c, d, e, f, g, h):
    """Transpose an 8 x 8 square of bytes, given by rows: swap single bytes, then pairs, then fours."""
    low = np.uint64(0x00FF00FF00FF00FF)
    a, b = (a & low) | ((b & low) << np.uint64(8)), ((a >> np.uint64(8)) & low) | (b & ~low)
    c, d = (c & low) | ((d & low) << np.uint64(8)), ((c >> np.uint64(8)) & low) | (d & ~low)
    e, f = (e & low) | ((f & low) << np.uint64(8)), ((e >> np.uint64(8)) & low) | (f & ~low)
    g, h = (g & low) | ((h & low) << np.uint64(8)), ((g >> np.uint64(8)) & low) | (h & ~low)
    low = np.uint64(0x0000FFFF0000FFFF)
    a, c = (a & low) | ((c & low) << np.uint64(16)), ((a >> np.uint64(16)) & low) | (c & ~low)
    b, d = (b & low) | ((d & low) << np.uint64(16)), ((b >> np.uint64(16)) & low) | (d & ~low)
    e, g = (e & low) | ((g & low) << np.uint64(16)), ((e >> np.uint64(16)) & low) | (g & ~low)
    f, h = (f & low) | ((h & low) << np.uint64(16)), ((f >> np.uint64(16)) & low) | (h & ~low)
    low, half = np.uint64(0x00000000FFFFFFFF), np.uint64(32)
    a, e = (a & low) | (e << half), (a >> half) | (e & ~low)
    b, f = (b & low) | (f << half), (b >> half) | (f & ~low)
    c, g = (c & low) | (g << half), (c >> half) | (g & ~low)
    d, h = (d & low) | (h << half), (d >> half) | (h & ~low)
    return a, b, c, d, e, f, g, h


@kernel
def _eight(codes, start, length, place, filler):
    """Return eight codes of a lane from `place` in its sequence on, first one lowest; `filler` outside the sequence."""
    if place >= 0 and place + 8 <= length:
        return load_eight(codes, start + place)
    word = np.uint64(0)
    for k in range(8):
        code = codes[start + place + k] if 0 <= place + k < length else np.uint8(filler)
        word |= np.uint64(code) << np.uint64(8 * k)
    return word


@kernel
def transpose(sequences, width, positions, filler, out):
    """Write sequences of up to `width` lanes to out[position * width + lane], with `filler` everywhere else.

    The width is a multiple of 8, and `out` (int8) has space for `positions`, rounded up to 8.
    """
    codes, starts, lengths, places = sequences
    squares = np.empty(8, np.uint64)
    for lane in range(0, width, 8):
        for position in range(0, positions, 8):
            for k in range(8):
                if lane + k < starts.size:
                    one = lane + k
                    squares[k] = _eight(codes, starts[one], lengths[one], position - places[one], filler)
                else:
                    squares[k] = np.uint64(filler) * np.uint64(0x0101010101010101)
            rows = _eight_by_eight(
                squares[0], squares[1], squares[2], squares[3], squares[4], squares[5], squares[6], squares[7]
            )
            for k in range(8):
                store_eight(out, (position + k) * width + lane, rows[k])


@kernel
def transpose_groups(sequences, width, count, offsets, filler, out):
    """Transpose each `count` sequences into `width` lanes; group g has the positions offsets[g] to offsets[g + 1]."""
    codes, starts, lengths, places = sequences
    for group in range(offsets.size - 1):
        begin, stop = group * count, (group + 1) * count
        position = offsets[group]
        some = LaneSequences(codes, starts[begin:stop], lengths[begin:stop], places[begin:stop])
        transpose(some, width, offsets[group + 1] - position, filler, out[position * width :])
