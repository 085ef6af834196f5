"""Kernels for the test of first launches, cached on disk as those of a module of the package."""

from readwarp.device.cuda_jit import cuda, cuda_kernel


def made():
    """A kernel as in a process that has not launched it yet: from disk, once it was compiled."""

    def add_one(values):
        i = cuda.grid(1)
        if i < values.size:
            values[i] += 1

    kernel = cuda_kernel(add_one)
    kernel.name = "readwarp.device.memory:add_one"
    return kernel
