"""BAM records are checked before kernels index by what they say: what SAM cannot hold is refused too."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.errors import InputError
from readwarp.formats.alignments import check_kernels as kernels
from readwarp.formats.alignments.header import field, lines_of
from readwarp.formats.alignments.layout import MAX_RECORD, NAME
from readwarp.formats.common.text import pack_names


class Header(NamedTuple):
    """What records may refer to."""

    lengths: Annotated[ndarray, "int64 [contigs]"]  # none: any contig will do
    letters: Annotated[ndarray, "uint8 [letters]"] = np.zeros(0, np.uint8)  # names of read groups
    offsets: Annotated[ndarray, "int64 [groups + 1] of letters"] = np.zeros(
        0, np.int64
    )  # none: any will do, also no CIGAR

    @classmethod
    def of(cls, text: str, lengths: Sequence[int]) -> "Header":
        """From SAM header text and the lengths of the contigs."""
        groups = pack_names([field(line, "ID") or "" for line in lines_of(text, "RG")])
        return cls(np.array(lengths, np.int64), *groups)


ANY = Header(np.zeros(0, np.int64))
MAX_NAME = 254  # letters


def find_bad(data: ndarray, places: ndarray, header: Header = ANY) -> tuple[int, str]:
    """The first bad record among those at `places` (int64) of the data -> (its row, the reason); (-1, "") if none.

    Their sizes are known to be at least `NAME` bytes and to fit into the data (uint8).
    """
    row, reason = kernels.find_bad(data, places, header)
    return row, kernels.REASONS[reason]


def name_of(data: ndarray, place: int) -> str:
    """The name of a record, which finds it in a file of any order, with what cannot be printed escaped."""
    name = data[place + NAME :][:MAX_NAME].tobytes().partition(b"\0")[0]
    return ascii(name.decode("latin-1"))[1:-1]


def check_size(path: object, rest: ndarray, record: int) -> None:
    """Raises InputError if the incomplete record at the beginning of `rest` has a size that no record has."""
    size = int.from_bytes(rest[:4].tobytes(), "little", signed=True)
    if rest.size >= 4 and not NAME <= size + 4 <= MAX_RECORD:
        raise InputError(path, f"damaged: its size is {size} bytes", record)
