"""Checks of BAM records before kernels use their values as indices; contents that SAM cannot hold are rejected too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pysam
from numpy import ndarray

from readwarp.errors import InputError
from readwarp.formats.alignments import check_kernels as kernels
from readwarp.formats.alignments.header import field, lines_of
from readwarp.formats.alignments.layout import MAX_RECORD, NAME
from readwarp.formats.common.silence import quiet_htslib
from readwarp.formats.common.text import pack_names


class HeaderLimits(NamedTuple):
    """The contigs and read groups that records may refer to."""

    lengths: Annotated[ndarray, "int64 [contigs]"]  # empty: any contig is valid
    letters: Annotated[ndarray, "uint8 [letters]"] = np.zeros(0, np.uint8)  # names of read groups
    offsets: Annotated[ndarray, "int64 [groups + 1] of letters"] = np.zeros(
        0, np.int64
    )  # empty: any is valid, even without a CIGAR

    @classmethod
    def of(cls, text: str, lengths: Sequence[int]) -> "HeaderLimits":
        """Build it from SAM header text and the lengths of the contigs."""
        groups = pack_names([field(line, "ID") or "" for line in lines_of(text, "RG")])
        return cls(np.array(lengths, np.int64), *groups)


ANY = HeaderLimits(np.zeros(0, np.int64))
MAX_NAME = 254  # letters


def find_bad(data: ndarray, places: ndarray, header: HeaderLimits = ANY) -> tuple[int, str]:
    """Find the first bad record among those at `places` (int64); return (its row, the reason), or (-1, "") if none is.

    Their sizes are known to be at least `NAME` bytes and to fit into the data (uint8).
    """
    row, reason = kernels.find_bad(data, places, header)
    return row, kernels.REASONS[reason]


def name_of(data: ndarray, place: int) -> str:
    """Return the name of a record, which locates it in a file of any order, with unprintable characters escaped."""
    name = data[place + NAME :][:MAX_NAME].tobytes().partition(b"\0")[0]
    return ascii(name.decode("latin-1"))[1:-1]


def check_size(path: object, rest: ndarray, record: int) -> None:
    """Raise InputError if the incomplete record at the beginning of `rest` has an impossible size."""
    size = int.from_bytes(rest[:4].tobytes(), "little", signed=True)
    if rest.size >= 4 and not NAME <= size + 4 <= MAX_RECORD:
        raise InputError(path, f"damaged: its size is {size} bytes", record)


def header_from(path: Path, text: str) -> pysam.AlignmentHeader:
    """Parse a header. Raises InputError."""
    with quiet_htslib():
        try:
            header = pysam.AlignmentHeader.from_text(text)
            groups = header.to_dict().get("RG", [])  # forces the parsing
        except ValueError as error:
            raise InputError(path, f"its header is not valid SAM ({error})") from error
        except KeyError as error:  # pysam's, for CL in a line other than @PG
            raise InputError(path, f"its header has {error.args[0]} in a line that may not have it") from error
    if not all("ID" in group for group in groups):
        raise InputError(path, "its header has a read group without an ID")
    return header
