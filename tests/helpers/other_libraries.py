"""Arrays like those of other libraries: only DLPack on the host, only the CUDA Array Interface on a card."""

import numpy as np


class HostArray:
    """The interface of a tensor on the CPU."""

    def __init__(self, memory, device=1):
        self.memory, self.device, self.ndim, self.dtype = memory, device, memory.ndim, memory.dtype

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **options):
        return self.memory.__dlpack__(**options)


class OnCard:
    """The interface of an array on a card."""

    def __init__(self, given, strides=None, shape=None):
        from readwarp.device import memory

        given = np.ascontiguousarray(given)
        self.memory = memory.resident(given)
        described = self.memory.__cuda_array_interface__
        self.__cuda_array_interface__ = {
            **{key: described[key] for key in ("typestr", "data")},
            "shape": given.shape if shape is None else shape,
            "strides": strides,
            "version": 3,
        }
