"""Open syncmers: the k-mers that are looked up (Edgar 2021, PeerJ 9:e10805; Sahlin 2022, Genome Biology 23:260).

A k-mer is a syncmer if the smallest of its k - s + 1 s-mers lies at offset t and all others are larger. t is the
middle, (k - s) / 2, and s-mers are compared by the hash `order` of the lesser of the s-mer and its reverse complement,
so that a place of the genome has the same syncmers on both strands. With a tie there is no syncmer, which excludes
repeats of up to t bases. A k-mer that is its own reverse complement is no syncmer either, since it has no strand.

    hash = mix(min(k-mer, its reverse complement)),  bucket = upper bits of the hash,  tag = the 15 bits below

A k-mer is a number of 2k bits; its first base is the highest two. The index and both sides of align/seed share these
rules.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import SeedParameters
from readwarp.device.jit import kernel, scalar

TAG_BITS = 15


class Shape(NamedTuple):
    """k, s and t of SeedParameters, for kernels."""

    k: int
    s: int
    t: int

    @classmethod
    def of(cls, parameters: SeedParameters) -> "Shape":
        return cls(parameters.k, parameters.s, parameters.t)


class Syncmers(NamedTuple):
    """Syncmers of sequences, sequence by sequence."""

    hashes: Annotated[ndarray, "uint64 [syncmers]"]
    positions: Annotated[ndarray, "int32 [syncmers]"]  # from the start of the sequence
    strands: Annotated[ndarray, "uint8 [syncmers]"]  # 1: the reverse complement is the lesser


class Scratch(NamedTuple):
    """Working memory of `sketch`; a row per base."""

    forward: Annotated[ndarray, "uint64 [bases]"]  # the k-mer that ends at the base
    reverse: Annotated[ndarray, "uint64 [bases]"]  # its reverse complement
    orders: Annotated[ndarray, "uint32 [bases]"]  # of the s-mers
    flags: Annotated[ndarray, "uint8 [bases]"]


@scalar
def mask_of(length):
    """2 * length ones."""
    return (np.uint64(1) << np.uint64(2 * length)) - np.uint64(1)


@scalar
def push(word, base, mask):
    """The word with the next base."""
    return ((word << np.uint64(2)) | np.uint64(base)) & mask


@scalar
def push_complement(word, base, length):
    """The reverse complement of the word with the next base."""
    return (word >> np.uint64(2)) | (np.uint64(3 - base) << np.uint64(2 * (length - 1)))


@scalar
def order(word):
    """A random order of s-mers; 0 is reserved for "no s-mer here"."""
    upper = np.uint32(np.uint32(word >> np.uint64(32)) * np.uint32(0x85EBCA6B))  # Numba multiplies in 64 bits
    half = np.uint32(word) ^ upper
    half = np.uint32((half ^ (half >> np.uint32(15))) * np.uint32(0x9E3779B1))
    return max(half, np.uint32(1))


@scalar
def mix(word):
    """64 well-mixed bits (multiply and xor-shift, twice)."""
    word = (word ^ (word >> np.uint64(31))) * np.uint64(0x7FB5D329728EA185)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x81DADEF4BC2DD44D)
    return word ^ (word >> np.uint64(33))


@scalar
def bucket_of(mixed, bucket_bits):
    return np.int64(mixed >> np.uint64(64 - bucket_bits))


@scalar
def tag_of(mixed, bucket_bits):
    return np.uint16((mixed >> np.uint64(64 - bucket_bits - TAG_BITS)) & np.uint64((1 << TAG_BITS) - 1))


def max_syncmers(lengths: ndarray, k: int, t: int) -> ndarray:
    """Upper bounds of the syncmers in sequences of these lengths.

    Each is strictly the smallest among its neighbours within t, so any two are more than t apart.
    """
    bounds: ndarray = np.maximum(lengths - k + 1 + t, 0) // (t + 1)
    return bounds


@kernel
def sketch(bases, start, stop, shape, scratch, out, first):
    """Syncmers of bases[start:stop] (0-4, one a byte) -> out (Syncmers) from row `first` on; returns the end.

    It writes to one row more than there are syncmers. Loops are separate where the compiler can then vectorise them.
    """
    length, sequence, (k, s, t) = stop - start, bases[start:stop], shape
    if length < k:
        return first
    forward, reverse, orders, flags = scratch
    hashes, positions, strands = out
    short, shift = mask_of(s), np.uint64(2 * (k - s))
    _roll(sequence, k, s, forward, reverse, flags)
    for i in range(length):
        orders[i] = order(min(forward[i] & short, reverse[i] >> shift)) * np.uint32(flags[i])
    kmers = length - k + 1
    middle, forward, reverse = orders[s - 1 + t :], forward[k - 1 :], reverse[k - 1 :]  # of the k-mer at i
    flags[:kmers] = 0
    for d in range(k - s + 1):
        other = orders[s - 1 + d :]
        for i in range(kmers):
            flags[i] += np.uint8(other[i] > middle[i])
    for i in range(kmers):
        flags[i] = (flags[i] == k - s) & (forward[i] != reverse[i]) & (middle[i] != 0)
    row = first
    for i in range(kmers):
        positions[row] = i
        row += np.int64(flags[i])
    for i in range(first, row):
        kmer = positions[i]
        strands[i] = forward[kmer] > reverse[kmer]
        hashes[i] = mix(min(forward[kmer], reverse[kmer]))
    return row


@kernel
def _roll(sequence, k, s, forward, reverse, flags):
    """The k-mer that ends at each base, its reverse complement, and whether the s bases up to it are A C G T."""
    mask = mask_of(k)
    word = complement = np.uint64(0)
    run = 0
    for i in range(sequence.size):
        base = sequence[i]
        run = run + 1 if base < 4 else 0
        flags[i] = run >= s
        base &= np.uint8(3)
        word = push(word, base, mask)
        complement = push_complement(complement, base, k)
        forward[i], reverse[i] = word, complement
