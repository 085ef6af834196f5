"""Encoded records."""

from typing import Annotated, NamedTuple

from numpy import ndarray


class Encoded(NamedTuple):
    """Records in the bytes of their format, ready to be written."""

    data: Annotated[ndarray, "uint8 [bytes]"]
    offsets: Annotated[ndarray, "int64 [records + 1] of bytes"]

    def __len__(self) -> int:
        return self.offsets.size - 1
