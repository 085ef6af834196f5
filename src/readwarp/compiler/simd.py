"""Explicit SIMD in Numba: operations on vectors of signed integers or floats, for CPU kernels.

A vector is as wide as the registers of the machine's level, `VECTOR_BYTES`, so the lane type determines the number of
lanes: `lanes(np.int8)` is 64 with AVX-512, 32 with AVX2, 16 with SSE or NEON. Kernels are written once: the dtype of
the arrays they load from determines the lane type. A lane never depends on its neighbours, so results do not depend on
the width. `READWARP_VECTOR_BYTES` sets another width (for tests; use it with an empty kernel cache).

Arrays are C-contiguous, and an index counts elements. `add` and `subtract` saturate and are for integers; floats have
`plus` and `fused`, each rounded once, in the order in which a kernel calls them.

This module names the operations, without Numba; `vectors` implements them.
"""

import os
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from readwarp.compiler.levels import current_level

VECTOR_BYTES = int(os.environ.get("READWARP_VECTOR_BYTES") or current_level().vector_bytes)


class Operation:
    """A SIMD operation, which only kernels can call."""

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning

    def __repr__(self) -> str:
        return f"<operation {self.meaning}>"

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"only kernels may call {self!r}")


load = Operation("(array, index): array[index : index + lanes] as one vector")
load_bytes = Operation("(array, index, like): array[index : index + lanes], signed bytes, as integers of like's dtype")
load_eight = Operation("(array, index): array[index : index + 8] of bytes as one uint64, the first byte lowest")
store = Operation("(array, index, value): array[index : index + lanes] = value")
store_eight = Operation("(array, index, value): array[index : index + 8] of bytes = a uint64, its lowest byte first")
store_greater = Operation(
    "(array, index, a, b): a bit per lane, set where a > b, to an array of bytes from `index` on; lane 0 is lowest"
)
store_transposed = Operation(
    "(out, place, source, starts): out[place + k * lanes + lane] = source[starts[lane] + k] for k in range(lanes), "
    "in arrays of one dtype"
)
prefetch = Operation("(array, index): bring array[index] into the cache; never faults")
fetch_add = Operation("(array, index, number): array[index] += number, in one step among threads -> what it was before")
call = Operation("(address, arguments): the C function there, with a tuple of int64 -> the uint32 that it returns")
splat = Operation("(array, number): the number (the low bits of an integer) in each lane of the array's lane type")
maximum = Operation("(a, b)")
add = Operation("(a, b): a + b, saturated")
subtract = Operation("(a, b): a - b, saturated")
plus = Operation("(a, b): a + b; integers wrap around")
fused = Operation("(a, b, c): a * b + c of floats, rounded once")
where_equal = Operation("(a, b, yes, no): yes in the lanes where a == b, no elsewhere")
where_greater = Operation("(a, b, yes, no): yes in the lanes where a > b, no elsewhere")


def lanes(dtype: DTypeLike) -> int:
    """Return the lanes of that type in one vector."""
    return VECTOR_BYTES // np.dtype(dtype).itemsize


def empty_vectors(elements: int, dtype: DTypeLike) -> np.ndarray:
    """Return an array of that many elements, undefined and aligned for vectors. Kernels may call it too.

    Numba aligns arrays to 32 bytes; every vector of 64 would then straddle two cache lines.
    """
    spare = np.empty(elements + VECTOR_BYTES, dtype)
    first = -spare.ctypes.data % VECTOR_BYTES // spare.itemsize
    return spare[first : first + elements]
