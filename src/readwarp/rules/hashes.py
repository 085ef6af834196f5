"""FNV-1a, 64 bits (Fowler, Noll and Vo; draft-eastlake-fnv), and uniform ranks for any hashed values."""

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar

BASIS = 0xCBF29CE484222325  # the hash of no bytes
PRIME = 0x100000001B3


@scalar
def add_byte(value, byte):
    """Return the hash (uint64) after one more byte."""
    return (value ^ np.uint64(byte)) * np.uint64(PRIME)


@scalar
def hash_of(values, start, stop):
    """Return the hash of the bytes values[start:stop] (uint64)."""
    value = np.uint64(BASIS)
    for i in range(start, stop):
        value = add_byte(value, values[i])
    return value


@scalar
def mix(value):
    """Scatter the bits of a uint64 by a bijection, the finalizer of SplitMix64 (Steele et al. 2014)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def spread(hashes: ndarray) -> ndarray:
    """Spread hashes (uint64) uniformly: names that differ only in their last letters have similar hashes."""
    return np.asarray(mix.py_func(hashes + np.uint64(0x9E3779B97F4A7C15)))
