"""BGZF blocks compressed by ISA-L, many per call from Python."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.compiler.simd import call

BLOCK = 65280  # bytes of data, as in htslib
MAX_SIZE = 1 << 16  # bytes of any program's block, and of the data in it (SAM specification, 4.1)
ALONE = 8  # first bytes of a block, compressed separately: 4 to 16, which ISA-L takes for the last ones
HEADER, SIZE_AT, TRAILER = 18, 16, 8  # bytes before and after the data; offset of the block size in the former
NO_FLUSH, SYNC_FLUSH, FULL_FLUSH = 0, 1, 2  # from igzip_lib.h, like the offsets below
LEVEL, LEVEL_BYTES = 1, 282_624  # ISAL_DEF_LVL1_DEFAULT
STREAM_BYTES = 82_384  # isal_zstream
NEXT_IN, NEXT_OUT, LEVEL_BUFFER = 0, 2, 6  # fields of 64 bits
AVAILABLE_IN, AVAILABLE_OUT, TOTAL_OUT, LEVEL_AT, LEVEL_SIZE = 2, 6, 7, 10, 11  # fields of 32 bits
END_OF_STREAM, FLUSH = 28, 29  # fields of 16 bits


class Functions(NamedTuple):
    """Addresses of ISA-L's functions."""

    init: int  # isal_deflate_init
    deflate: int  # isal_deflate
    checksum: int  # crc32_gzip_refl


class DeflateStream(NamedTuple):
    """ISA-L's isal_zstream by fields of each width, and its working memory."""

    longs: ndarray  # uint64
    ints: ndarray  # uint32
    shorts: ndarray  # uint16
    level_buffer: ndarray  # uint8


def make_stream() -> DeflateStream:
    longs = np.zeros(STREAM_BYTES // 8, np.uint64)
    return DeflateStream(longs, longs.view(np.uint32), longs.view(np.uint16), np.empty(LEVEL_BYTES, np.uint8))


@kernel
def compress_blocks(functions, stream, data, head, out, sizes):
    """Compress each BLOCK bytes of data to a block in `out`, one after another, and its size to `sizes`; return the
    total.

    head: the start of each block. Returns -1 if ISA-L has failed.
    """
    place = 0
    for block in range(sizes.size):
        first = block * BLOCK
        part = data[first : first + BLOCK]
        body = out[place + HEADER : place + MAX_SIZE - TRAILER]
        size = _deflate(functions, stream, part, body)
        if size < 0:
            return -1
        sizes[block] = HEADER + size + TRAILER
        for k in range(HEADER):
            out[place + k] = head[k]
        _write_number(out, place + SIZE_AT, sizes[block] - 1, 2)
        place += HEADER + size
        _write_number(out, place, call(functions.checksum, (0, part.ctypes.data, part.size)), 4)
        _write_number(out, place + 4, part.size, 4)
        place += TRAILER
    return place


@scalar
def _deflate(functions, stream, data, out):
    """Compress the data as a whole stream; return the bytes, or -1 if ISA-L has failed."""
    longs, ints, shorts, level_buffer = stream
    address = longs.ctypes.data
    call(functions.init, (address,))
    ints[LEVEL_AT], ints[LEVEL_SIZE], longs[LEVEL_BUFFER] = LEVEL, level_buffer.size, level_buffer.ctypes.data
    longs[NEXT_OUT], ints[AVAILABLE_OUT] = out.ctypes.data, out.size
    alone = min(ALONE, data.size)
    for step in range(4):
        begin, stop = (0, alone) if step == 0 else (alone, data.size) if step == 2 else (0, 0)
        longs[NEXT_IN], ints[AVAILABLE_IN] = data.ctypes.data + begin, stop - begin
        shorts[FLUSH] = NO_FLUSH if step % 2 == 0 else SYNC_FLUSH if step == 1 else FULL_FLUSH
        shorts[END_OF_STREAM] = step == 3
        if call(functions.deflate, (address,)) != 0 or ints[AVAILABLE_IN] or not ints[AVAILABLE_OUT]:
            return -1
    return np.int64(ints[TOTAL_OUT])


@scalar
def _write_number(out, place, number, size):
    for k in range(size):
        out[place + k] = number >> 8 * k & 255
