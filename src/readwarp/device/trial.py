"""A tiny kernel, compiled, launched and checked on a card: proof that it works with the software that is installed.

A driver that shows a card says little: numba-cuda may not fit NumPy, the compiler of CUDA may be missing, or newer than
the driver.
"""

import numpy as np

from readwarp.device.jit import cuda, cuda_kernel
from readwarp.device.memory import Workspace
from readwarp.device.staging import ALIGNMENT

THREADS = 32


@cuda_kernel
def square(values):
    place = cuda.grid(1)
    if place < len(values):
        values[place] *= values[place]


def run(device: int) -> bool:
    """Whether the device computes as it should. Raises what numba-cuda and the driver do."""
    with cuda.gpus[device]:
        workspace, numbers = Workspace(ALIGNMENT, ALIGNMENT), np.arange(THREADS)
        try:
            with workspace.frame():
                there = workspace.upload(numbers)
                square[1, THREADS, workspace.stream](there)
                return np.array_equal(workspace.download(there)[0], numbers**2)
        finally:
            workspace.close()
