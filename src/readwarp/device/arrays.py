"""Arrays of other libraries, without copies: on the host through DLPack, on a card through the CUDA Array Interface."""

from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.device.card_array import CardArray
from readwarp.errors import UsageError
from readwarp.ragged import Ragged

OUTPUTS = ("host", "device")
ON_HOST = 1  # kDLCPU: __dlpack_device__ of host memory


def is_on_card(given: Any) -> bool:
    """Return whether it is an array on a card."""
    return hasattr(given, "__cuda_array_interface__")


def is_foreign(given: Any) -> bool:
    """Return whether it is an array of a library other than NumPy."""
    return not isinstance(given, ndarray | np.generic) and (hasattr(given, "__dlpack__") or is_on_card(given))


def on_host(given: Any, name: str) -> ndarray:
    """Return a NumPy array: without a copy if it is on the host, else copied there. Raises UsageError."""
    if is_on_card(given):
        return np.asarray(on_card(given, name).copy_to_host())
    if isinstance(given, ndarray) or not hasattr(given, "__dlpack__"):
        return np.asarray(given)
    if given.__dlpack_device__()[0] != ON_HOST:
        raise UsageError(f"{name}: an array on a card needs the CUDA Array Interface; cupy.from_dlpack(array) has it")
    return np.from_dlpack(given)


def on_card(given: Any, name: str) -> CardArray:
    """Return an array on a card, without a copy. Raises UsageError unless it is contiguous."""
    if isinstance(given, CardArray):
        return given
    facts = given.__cuda_array_interface__
    array = CardArray(facts["data"][0] or 0, tuple(facts["shape"]), np.dtype(facts["typestr"]), given)
    strides = facts.get("strides") or array.strides
    if array.size and any(n > 1 and a != b for n, a, b in zip(array.shape, strides, array.strides, strict=True)):
        raise UsageError(f"{name}: an array on a card must be contiguous")
    if facts.get("stream"):  # on which its content is still being computed
        from readwarp.device import cuda_driver

        cuda_driver.wait_for(facts["stream"])
    return array


def check_places(output: str, is_cuda: bool, *given: Any) -> None:
    """Raise UsageError if arrays are on a card, or results are wanted there, but the device is the CPU."""
    if output not in OUTPUTS:
        raise UsageError(f"output {output!r}: not one of {', '.join(OUTPUTS)}")
    if output == "device" and not is_cuda:
        raise UsageError('output="device" needs device="cuda"')
    if not is_cuda and any(is_on_card(each.values if isinstance(each, Ragged) else each) for each in given):
        raise UsageError('arrays on a card need device="cuda"')


def ragged_of(given: Any, name: str) -> Ragged | None:
    """Return a `Ragged` or an array on a card as a `Ragged`: uint8 values where they are, int64 offsets on the host.

    A one-dimensional array is one row; a two-dimensional one has a sequence per row. None for anything else. Raises
    UsageError.
    """
    if not isinstance(given, Ragged):
        if not is_on_card(given):
            return None
        there = on_card(given, name)
        if there.ndim not in (1, 2):
            raise UsageError(f"{name}: an array on a card has one axis (a sequence) or two (a sequence in each row)")
        rows, length = (1, *there.shape)[-2:]
        given = Ragged(there.reshape(there.size), np.arange(rows + 1) * length)
    offsets = on_host(given.offsets, name)
    values: Any = on_card(given.values, name) if is_on_card(given.values) else on_host(given.values, name)
    if values.ndim != 1 or values.dtype != np.uint8:
        raise UsageError(f"{name}: values of a Ragged are uint8 codes, one axis")
    if offsets.ndim != 1 or not offsets.size or offsets.dtype.kind not in "ui":
        raise UsageError(f"{name}: offsets of a Ragged are integers, one more than there are rows")
    if offsets[0] != 0 or offsets[-1] != values.size or (np.diff(offsets.astype(np.int64)) < 0).any():
        raise UsageError(f"{name}: offsets of a Ragged rise from 0 to the number of its values, {values.size}")
    return Ragged(values if is_on_card(values) else np.ascontiguousarray(values), offsets.astype(np.int64))
