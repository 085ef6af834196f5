"""Kernels for the test of first launches. They are in a module, so that they are cached on disk."""

from readwarp.device.jit import cuda, cuda_kernel


def made():
    """A kernel as in a process that has not launched it yet: from disk, once it was compiled."""

    def add_one(values):
        i = cuda.grid(1)
        if i < values.size:
            values[i] += 1

    return cuda_kernel(add_one)
