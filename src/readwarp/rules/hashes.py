"""FNV-1a, 64 bits (Fowler, Noll and Vo; draft-eastlake-fnv)."""

import numpy as np

from readwarp.device.jit import scalar

BASIS = 0xCBF29CE484222325  # the hash of no bytes
PRIME = 0x100000001B3


@scalar
def add_byte(value, byte):
    """The hash (uint64) after one more byte, given the hash of the bytes before it."""
    return (value ^ np.uint64(byte)) * np.uint64(PRIME)


@scalar
def hash_of(values, start, stop):
    """The hash of the bytes values[start:stop] (uint64)."""
    value = np.uint64(BASIS)
    for i in range(start, stop):
        value = add_byte(value, values[i])
    return value
