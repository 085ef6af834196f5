"""Geometry of pairs: scalars in, scalars out. v is the reference position of query position 0, gaps undone."""

import numpy as np

from readwarp.device.jit import kernel, scalar

FORWARD_REVERSE, FORWARD_FORWARD, REVERSE_FORWARD = 0, 1, 2


@scalar
def outer_distance(strand_a, v_a, length_a, strand_b, v_b, length_b):
    """Outer distance of two mates on opposite strands: negative or short when they point away from each other."""
    if strand_a == 0:
        return v_b + length_b - v_a
    return v_a + length_a - v_b


@scalar
def orientation(strand_a, v_a, length_a, strand_b, v_b, length_b):
    """How two mates lie: pointing at each other, the same way, or apart."""
    if strand_a == strand_b:
        return FORWARD_FORWARD
    forward, reverse = (v_a, v_b + length_b) if strand_a == 0 else (v_b, v_a + length_a)
    return FORWARD_REVERSE if forward < reverse else REVERSE_FORWARD


@scalar
def mix(x):
    """A bijection of uint64 that scatters its bits (Steele, Lea and Flood 2014: splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def contig_of(contig_offsets, position):
    """Contig that holds a reference position (binary search)."""
    low, high = 0, contig_offsets.size - 2
    while low < high:
        middle = (low + high + 1) >> 1
        if contig_offsets[middle] <= position:
            low = middle
        else:
            high = middle - 1
    return low
