"""Sequence codes on a card, checked and replaced there."""

from typing import Any

import numpy as np

from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.memory import Workspace

BLOCK = 256
MAX_BLOCKS = 2048


def _grid(size: int) -> int:
    return min(MAX_BLOCKS, max(1, -(-size // BLOCK)))


def highest(values: Any, workspace: Workspace) -> int:
    """Return the maximum of uint8 values on the card; -1 if there are none."""
    if not values.size:
        return -1
    with workspace.frame():
        found = workspace.upload(np.full(1, -1, np.int32))
        find_highest[_grid(values.size), BLOCK, workspace.stream](values, found)
        return int(workspace.download(found)[0][0])


def replace_code(values: Any, code: int, other: int, workspace: Workspace) -> Any:
    """Copy values to the workspace with one code replaced by another."""
    out = workspace.empty(values.size, np.uint8)
    replace_codes[_grid(values.size), BLOCK, workspace.stream](values, code, other, out)
    return out


@cuda_kernel
def find_highest(values, found):
    highest = np.int32(-1)
    for k in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        highest = max(highest, np.int32(values[k]))
    cuda.atomic.max(found, 0, highest)


@cuda_kernel
def replace_codes(values, code, other, out):
    for k in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        out[k] = other if values[k] == code else values[k]
