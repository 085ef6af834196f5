"""Compute CRC-32 (IEEE 802.3, as in zlib) in kernels, eight bytes at a time (Kounavis and Berry 2008, slicing-by-8)."""

import numpy as np
from numpy import ndarray

from readwarp.device.jit import scalar
from readwarp.device.simd import load_eight

POLYNOMIAL, ALL_ONES = 0xEDB88320, 0xFFFFFFFF
SLICES = 8  # bytes


def _tables() -> ndarray:
    """Return the contribution of a byte to the remainder after 0, 1, ... following bytes (uint32 [SLICES, 256])."""
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, first >> 1 ^ POLYNOMIAL, first >> 1).astype(np.uint32)
    tables = [first]
    for _ in range(SLICES - 1):
        tables.append(tables[-1] >> 8 ^ first[tables[-1] & 255])
    return np.array(tables)


TABLES = _tables()


@scalar
def crc32_of(data, start, stop):
    """Return the checksum of the bytes data[start:stop] (uint8), as uint64."""
    value, at, end, byte = np.uint64(ALL_ONES), np.uint64(start), np.uint64(stop), np.uint64(255)
    while at + np.uint64(SLICES) <= end:
        word = load_eight(data, at) ^ value
        value = np.uint64(
            TABLES[7, word & byte]
            ^ TABLES[6, word >> np.uint64(8) & byte]
            ^ TABLES[5, word >> np.uint64(16) & byte]
            ^ TABLES[4, word >> np.uint64(24) & byte]
            ^ TABLES[3, word >> np.uint64(32) & byte]
            ^ TABLES[2, word >> np.uint64(40) & byte]
            ^ TABLES[1, word >> np.uint64(48) & byte]
            ^ TABLES[0, word >> np.uint64(56)]
        )
        at += np.uint64(SLICES)
    while at < end:
        value = value >> np.uint64(8) ^ np.uint64(TABLES[0, (value ^ np.uint64(data[at])) & byte])
        at += np.uint64(1)
    return value ^ np.uint64(ALL_ONES)
