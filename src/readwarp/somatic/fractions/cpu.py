"""Multiply over the reads of contrasts on CPU lanes, one node per lane."""

import numpy as np

from readwarp.compiler.jit import kernel
from readwarp.compiler.simd import VECTOR_BYTES, fused, load, plus, splat, store, where_greater
from readwarp.somatic.fractions import AT_ONCE, GROWTH, SMALL
from readwarp.somatic.fractions.contrasts import Contrasts
from readwarp.somatic.fractions.products import Products

VECTORS = 4  # whose products are in registers


def multiply(contrasts: Contrasts) -> Products:
    """Multiply over reads; see the step's contract."""
    products, growths = np.empty((2, contrasts.fraction.size))
    multiply_all(contrasts, products, growths)
    return Products(products, growths)


@kernel
def multiply_all(contrasts, products, growths):
    read_offsets, others, gain, node_offsets, fraction = contrasts
    lanes = VECTOR_BYTES // products.itemsize
    zero, one = splat(products, 0.0), splat(products, 1.0)
    small, growth = splat(products, SMALL), splat(products, GROWTH)
    for item in range(node_offsets.size - 1):
        low, high = read_offsets[item], read_offsets[item + 1]
        for node in range(node_offsets[item], node_offsets[item + 1], VECTORS * lanes):
            f0, f1 = load(fraction, node), load(fraction, node + lanes)
            f2, f3 = load(fraction, node + 2 * lanes), load(fraction, node + 3 * lanes)
            p0 = p1 = p2 = p3 = one
            n0 = n1 = n2 = n3 = zero
            for start in range(low, high, AT_ONCE):
                for r in range(start, min(start + AT_ONCE, high)):
                    g, q = splat(products, gain[r]), splat(products, others[r])
                    p0, p1 = fused(p0, fused(g, f0, q), zero), fused(p1, fused(g, f1, q), zero)
                    p2, p3 = fused(p2, fused(g, f2, q), zero), fused(p3, fused(g, f3, q), zero)
                n0, p0 = grow(p0, n0, one, small, growth, zero)
                n1, p1 = grow(p1, n1, one, small, growth, zero)
                n2, p2 = grow(p2, n2, one, small, growth, zero)
                n3, p3 = grow(p3, n3, one, small, growth, zero)
            store(products, node, p0)
            store(products, node + lanes, p1)
            store(products, node + 2 * lanes, p2)
            store(products, node + 3 * lanes, p3)
            store(growths, node, n0)
            store(growths, node + lanes, n1)
            store(growths, node + 2 * lanes, n2)
            store(growths, node + 3 * lanes, n3)


@kernel
def grow(product, number, one, small, growth, zero):
    """Return (number of times it grew, product)."""
    more = where_greater(small, product, plus(number, one), number)
    return more, where_greater(small, product, fused(product, growth, zero), product)
