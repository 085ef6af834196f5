"""Arrays as other libraries have them: DLPack alone on the host, the CUDA Array Interface alone on a card."""

import numpy as np


class HostArray:
    """What a tensor on the CPU shows of itself."""

    def __init__(self, memory, device=1):
        self.memory, self.device, self.ndim, self.dtype = memory, device, memory.ndim, memory.dtype

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **options):
        return self.memory.__dlpack__(**options)


class OnCard:
    """What an array on a card shows of itself."""

    def __init__(self, given, strides=None, shape=None):
        from readwarp.device.jit import cuda

        given = np.ascontiguousarray(given)
        self.memory = cuda.to_device(given)
        described = self.memory.__cuda_array_interface__
        self.__cuda_array_interface__ = {
            **{key: described[key] for key in ("typestr", "data")},
            "shape": given.shape if shape is None else shape,
            "strides": strides,
            "version": 3,
        }
