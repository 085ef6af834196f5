"""Open syncmers: the k-mers to look up (Edgar 2021, PeerJ 9:e10805; Sahlin 2022, Genome Biology 23:260).

A k-mer is a syncmer if the smallest of its k - s + 1 s-mers lies at offset t and all others are larger. t is the
middle, (k - s) / 2, and s-mers are compared by the hash `order` of the lesser of the s-mer and its reverse complement,
so that a genomic place has the same syncmers on both strands. A tie makes no syncmer, which excludes repeats of up to t
bases. A k-mer that is its own reverse complement is no syncmer either, since it has no strand.

    hash = mix(min(k-mer, its reverse complement)),  bucket = upper bits of the hash,  tag = the 15 bits below

A k-mer is a number of 2k bits whose highest two are the first base. The index and both sides of align/seed share these
rules.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.config import SeedParameters
from readwarp.ragged import empty

TAG_BITS = 15
WORD = 16  # bases
PAD = 16
U1, U2, U3, U4, U8, U12 = (np.uint64(n) for n in (1, 2, 3, 4, 8, 12))
S2, S4, S6 = (np.uint8(n) for n in (2, 4, 6))
HIGHEST = np.uint32(0xFFFFFFFF)


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
    """Working memory of `sketch`. Padded bases have PAD rows before the first one, so that it has neighbours."""

    codes: Annotated[ndarray, "uint8 [padded bases]"]  # 0-3
    quarters: Annotated[ndarray, "uint8 [padded bases]"]  # the 4 bases that end there
    reverse_quarters: Annotated[ndarray, "uint8 [padded bases]"]  # their reverse complement
    words: Annotated[ndarray, "uint32 [bases]"]  # the WORD bases that end there
    reverse: Annotated[ndarray, "uint32 [bases]"]  # their reverse complement
    orders: Annotated[ndarray, "uint32 [bases]"]  # order of the s-mer that ends there
    lowest: Annotated[ndarray, "uint32 [bases]"]  # lowest order in the k-mer that begins there, without its middle
    flags: Annotated[ndarray, "uint8 [bases]"]


def scratch_of(bases: int) -> Scratch:
    """Allocate scratch for sequences of up to this many bases."""
    scratch = empty(Scratch, {"bases": bases, "padded bases": bases + PAD})
    scratch.codes[:PAD] = 0
    return scratch


@scalar
def mask_of(length):
    """Return a mask of 2 * length ones."""
    return (np.uint64(1) << np.uint64(2 * length)) - np.uint64(1)


@scalar
def push(word, base, mask):
    """Return the word with the next base appended."""
    return ((word << np.uint64(2)) | np.uint64(base)) & mask


@scalar
def push_complement(word, base, length):
    """Return the reverse complement of the word with the next base appended."""
    return (word >> np.uint64(2)) | (np.uint64(3 - base) << np.uint64(2 * (length - 1)))


@scalar
def order(word):
    """Order s-mers at random; 0 is reserved for "no s-mer here"."""
    upper = np.uint32(np.uint32(word >> np.uint64(32)) * np.uint32(0x85EBCA6B))  # Numba multiplies in 64 bits
    return order_of_half(np.uint32(word) ^ upper)


@scalar
def order_of_half(half):
    """Return `order` of a word of up to 32 bits."""
    half = np.uint32((half ^ (half >> np.uint32(15))) * np.uint32(0x9E3779B1))
    return max(half, np.uint32(1))


@scalar
def mix(word):
    """Hash to 64 well-mixed bits (multiply and xor-shift, twice)."""
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
    """Return upper bounds of the numbers of syncmers in sequences of these lengths.

    Each is strictly the smallest among its neighbours within t, so any two are more than t apart.
    """
    return np.asarray(np.maximum(lengths - k + 1 + t, 0) // (t + 1))


@kernel
def sketch(bases, start, stop, shape, scratch, out, first):
    """Write the syncmers of bases[start:stop] (0-4, one a byte) to out (Syncmers) from row `first` on; return the end.

    One row more than there are syncmers is written. Loops are shaped for vectorisation: words are not rolled along the
    sequence but joined from quarters, all at once, and indices are unsigned, since tests for negative ones would
    prevent it.
    """
    length, (k, s, t) = stop - start, shape
    if length < k:
        return first
    has_others = _spell(bases[start:stop], scratch)
    _order(np.uint64(length), s, scratch)
    if has_others:
        _spoil(bases[start:stop], s, scratch.orders)
    lowest = scratch.lowest
    kmers = np.uint64(length - k + 1)
    head, middle = np.uint64(s - 1), np.uint64(s - 1 + t)
    for i in range(kmers):
        lowest[i] = HIGHEST
    for d in range(np.uint64(k - s + 1)):
        if d != t:
            for i in range(kmers):
                lowest[i] = min(lowest[i], scratch.orders[head + d + i])
    for i in range(kmers):
        scratch.flags[i] = (lowest[i] > scratch.orders[middle + i]) & (scratch.orders[middle + i] != 0)
    row = np.uint64(first)
    for i in range(kmers):
        out.positions[row] = i
        row += np.uint64(scratch.flags[i])
    return _hash(first, np.int64(row), k, scratch, out)


@kernel
def _spell(sequence, scratch):
    """Spell the words that end at each base, and their reverse complements; return whether there are other letters."""
    codes, quarters, reverse_quarters, words, reverse, _, _, _ = scratch
    size = np.uint64(sequence.size)
    pad, others = np.uint64(PAD), np.uint8(0)
    for i in range(size):
        codes[pad + i] = sequence[i] & np.uint8(3)
        others |= sequence[i] & np.uint8(4)
    for i in range(pad, pad + size):
        a, b, c, d = codes[i - U3], codes[i - U2], codes[i - U1], codes[i]
        quarters[i] = a << S6 | b << S4 | c << S2 | d
        reverse_quarters[i] = (d << S6 | c << S4 | b << S2 | a) ^ np.uint8(255)
    for i in range(size):
        a, b, c, d = i + pad - U12, i + pad - U8, i + pad - U4, i + pad
        words[i] = _join(quarters[a], quarters[b], quarters[c], quarters[d])
        reverse[i] = _join(reverse_quarters[d], reverse_quarters[c], reverse_quarters[b], reverse_quarters[a])
    return others != 0


@scalar
def _join(a, b, c, d):
    """Join a word from its quarters, highest first."""
    return np.uint32(a) << np.uint32(24) | np.uint32(b) << np.uint32(16) | np.uint32(c) << np.uint32(8) | np.uint32(d)


@scalar
def forward_at(words, i, length):
    """Return the `length` bases (up to 31) that end at base i."""
    if length <= WORD:
        return np.uint64(words[i]) & mask_of(length)
    more = length - WORD
    return np.uint64(words[i - more]) << np.uint64(2 * more) | (np.uint64(words[i]) & mask_of(more))


@scalar
def reverse_at(reverse, i, length):
    """Return the reverse complement of the `length` bases (up to 31) that end at base i."""
    if length <= WORD:
        return np.uint64(reverse[i]) >> np.uint64(2 * (WORD - length))
    more = length - WORD
    return np.uint64(reverse[i]) >> np.uint64(2 * (WORD - more)) << np.uint64(32) | np.uint64(reverse[i - more])


@kernel
def _order(size, s, scratch):
    """Compute the order of the s-mer that ends at each base, from the first that fits."""
    if s <= WORD:
        mask, shift = np.uint32(mask_of(s)), np.uint32(2 * (WORD - s))
        for i in range(size):
            scratch.orders[i] = order_of_half(min(scratch.words[i] & mask, scratch.reverse[i] >> shift))
    else:
        for i in range(s - 1, np.int64(size)):
            scratch.orders[i] = order(min(forward_at(scratch.words, i, s), reverse_at(scratch.reverse, i, s)))


@kernel
def _spoil(sequence, s, orders):
    """Clear the order of s-mers with letters other than A C G T."""
    run = 0
    for i in range(sequence.size):
        run = run + 1 if sequence[i] < 4 else 0
        if run < s:
            orders[i] = 0


@kernel
def _hash(first, last, k, scratch, out):
    """Write hashes and strands of the k-mers at the rows' positions; drop those equal to their reverse complement."""
    hashes, positions, strands = out
    row = first
    for i in range(first, last):
        end = positions[i] + k - 1
        forward, reverse = forward_at(scratch.words, end, k), reverse_at(scratch.reverse, end, k)
        positions[row], strands[row] = positions[i], forward > reverse
        hashes[row] = mix(min(forward, reverse))
        row += np.int64(forward != reverse)
    return row
