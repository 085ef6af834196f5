"""Multiply over the reads of contrasts on CUDA: one node per thread, the nodes of one item per warp."""

import numpy as np

from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.memory import current
from readwarp.somatic.fractions import AT_ONCE, GROWTH, SMALL
from readwarp.somatic.fractions.contrasts import STEP, Contrasts
from readwarp.somatic.fractions.products import Products


def multiply(contrasts: Contrasts) -> Products:
    """Multiply over reads; see the step's contract. Takes and returns host arrays."""
    nodes = contrasts.fraction.size
    if nodes == 0:
        return Products(np.empty(0), np.empty(0))
    item = np.repeat(np.arange(contrasts.node_offsets.size - 1), np.diff(contrasts.node_offsets))[::STEP]
    with current().frame() as workspace:
        there, blocks = workspace.on_card((contrasts, item))
        products, growths = workspace.empty(nodes, np.float64), workspace.empty(nodes, np.float64)
        multiply_block[item.size, STEP, workspace.stream](there, blocks, products, growths)
        return Products(*workspace.download(products, growths))


@cuda_kernel
def multiply_block(contrasts, items, products, growths):
    """Multiply STEP nodes of one item, one per thread."""
    read_offsets, others, gain, _, fraction = contrasts
    item, node = items[cuda.blockIdx.x], cuda.grid(1)
    f, product, number = fraction[node], 1.0, 0.0
    start, high = read_offsets[item], read_offsets[item + 1]
    while start < high:
        stop = min(start + AT_ONCE, high)
        for r in range(start, stop):
            product = cuda.fma(product, cuda.fma(gain[r], f, others[r]), 0.0)
        if product < SMALL:
            product, number = product * GROWTH, number + 1.0
        start = stop
    products[node], growths[node] = product, number
