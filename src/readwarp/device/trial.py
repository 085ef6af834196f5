"""A trial kernel, compiled, launched and checked on a card: proof that the card works with the installed software.

A visible card proves little: numba-cuda may not fit NumPy, and the CUDA compiler may be missing, or newer than the
driver.
"""

import numpy as np

from readwarp.device import cuda_driver
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.memory import Workspace
from readwarp.device.staging import ALIGNMENT

THREADS = 32


@cuda_kernel
def square(values):
    place = cuda.grid(1)
    if place < len(values):
        values[place] *= values[place]


def run(device: int) -> bool:
    """Return whether the device computes correctly. Raises errors of numba-cuda and the driver."""
    with cuda_driver.on(device):
        workspace, numbers = Workspace(ALIGNMENT, ALIGNMENT), np.arange(THREADS)
        try:
            with workspace.frame():
                there = workspace.upload(numbers)
                square[1, THREADS, workspace.stream](there)
                return np.array_equal(workspace.download(there)[0], numbers**2)
        finally:
            workspace.close()
