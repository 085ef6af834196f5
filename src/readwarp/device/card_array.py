"""Arrays on a card: an address, a shape and a dtype, contiguous; cheap to view and to launch with."""

from math import prod
from typing import Any

import numpy as np
from numpy import ndarray


class CardArray:
    """Items on a card in C order. Kernels take it like a NumPy array; `owner` holds its memory."""

    __slots__ = ("_parameters", "address", "dtype", "owner", "shape")

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any], owner: Any = None) -> None:
        self.address, self.shape, self.dtype, self.owner = address, shape, dtype, owner
        self._parameters: tuple[int, ...] | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one item to the next on each axis."""
        each = [self.dtype.itemsize]
        for length in self.shape[:0:-1]:
            each.append(each[-1] * length)
        return tuple(reversed(each))

    @property
    def parameters(self) -> tuple[int, ...]:
        """Parameters of a kernel that takes the array, see `launch`; kept, since most arrays go to several."""
        if self._parameters is None:
            self._parameters = 0, 0, self.size, self.dtype.itemsize, self.address, *self.shape, *self.strides
        return self._parameters

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: "slice | int") -> "CardArray":
        """Return rows of the first axis, or one of them without that axis. Slices have no step."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            shape = max(0, stop - start), *self.shape[1:]
        else:
            start, shape = range(self.shape[0])[rows], self.shape[1:]
        return CardArray(self.address + start * self.strides[0], shape, self.dtype, self.owner)

    def reshape(self, *shape: int) -> "CardArray":
        return CardArray(self.address, shape, self.dtype, self.owner)

    def copy_to_host(self) -> ndarray:
        """Copy to the host, after all earlier work of the card."""
        from readwarp.device import cuda_driver

        host = np.empty(self.shape, self.dtype)
        if host.size:
            cuda_driver.copy_back(host.ctypes.data, self.address, host.nbytes)
        return host

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3}
