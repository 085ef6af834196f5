"""What the kernels of PairHMM need of a card, with a plain twin of each for the simulator.

The simulator has neither shuffles nor fma nor alignment: there `handed` goes through shared memory, a warp being a
block with all threads in step, and `fused` rounds a float64 sum to float32, which differs from an fma in the last bit,
rarely.
"""

import numpy as np

from readwarp.device.backend import is_simulated
from readwarp.device.jit import cuda

WARP = 32
ALIGNMENT = None if is_simulated() else 16  # of shared memory of which 16 bytes are loaded at once

if is_simulated():

    @cuda.jit(device=True)
    def handed(value):
        """The value of the thread before."""
        shared = cuda.shared.array(WARP, np.float64)
        cuda.syncthreads()
        shared[cuda.threadIdx.x] = value
        cuda.syncthreads()
        return type(value)(shared[max(cuda.threadIdx.x, 1) - 1])

    @cuda.jit(device=True)
    def fused(a, b, c):
        """a * b + c"""
        return type(c)(np.float64(a) * np.float64(b) + np.float64(c))

else:

    @cuda.jit(device=True)
    def handed(value):
        """The value of the thread before."""
        return cuda.shfl_up_sync(0xFFFFFFFF, value, 1)

    @cuda.jit(device=True)
    def fused(a, b, c):
        """a * b + c, rounded once."""
        return cuda.fma(a, b, c)
