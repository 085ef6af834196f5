"""The index as one memory-mapped file.

    bytes 0-7      magic "readwarp"
    8-11           version of the layout, uint32 (all numbers little-endian)
    12-15          length of the description, uint32
    16-47          SHA-256 of the description
    48-            description, JSON: parameters, contigs (name, length, MD5), source, arrays, CRC-32 of data blocks
    then           packed, bucket_starts, tags, positions, each from a multiple of 4096 on

Whenever the file is opened, its description, its length and `CHECKED_BLOCKS` evenly spread blocks of 1 MiB are checked
(all data up to 64 MiB; a few hundredths of a second for any size). `readwarp.index.Index.verify` checks everything.
"""

import hashlib
import json
import mmap
import struct
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from isal import isal_zlib
from numpy import ndarray

from readwarp.errors import InputError

MAGIC = b"readwarp"
VERSION = 1
PREFIX = struct.Struct("<8sII32s")
ALIGNMENT = 4096
BLOCK = 1 << 20
CHECKED_BLOCKS = 64
DTYPES = {"packed": np.uint8, "bucket_starts": np.uint32, "tags": np.uint16, "positions": np.uint32}  # in this order


def describe_source(path: str | Path) -> dict[str, int]:
    """Size and time of a source file, to see cheaply whether it has changed."""
    state = Path(path).stat()
    return {"size": state.st_size, "mtime_ns": state.st_mtime_ns}


class IndexFile:
    """A mapped index file whose description has been checked."""

    def __init__(self, path: Path):
        self.path = path
        try:
            with path.open("rb") as file:
                self.data = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        except (OSError, ValueError) as error:  # ValueError: an empty file
            raise InputError(path, f"cannot be read as an index ({error})") from error
        self.description = self._read_description()
        self.digest = self.data[16:48].tobytes().hex()  # of the description, which has the checksums of all blocks
        self.blocks = [(name, i) for name, sums in self.description["checksums"].items() for i in range(len(sums))]

    def _read_description(self) -> dict[str, Any]:
        if self.data[:8].tobytes() != MAGIC or self.data.size < PREFIX.size:
            raise InputError(self.path, "is not a readwarp index")
        _, version, length, digest = PREFIX.unpack(self.data[: PREFIX.size].tobytes())
        if version != VERSION:
            raise InputError(self.path, f"is of version {version}, but this readwarp reads {VERSION}; build it again")
        text = self.data[PREFIX.size : PREFIX.size + length].tobytes()
        if hashlib.sha256(text).digest() != digest:
            raise InputError(self.path, "damaged index (description); build it again")
        description: dict[str, Any] = json.loads(text)
        if self.data.size != align_up(PREFIX.size + length) + places_of(description["sizes"])[-1]:
            raise InputError(self.path, "damaged index (length); build it again")
        return description

    def array(self, name: str) -> ndarray:
        sizes = self.description["sizes"]
        start = self.data.size + places_of(sizes)[list(sizes).index(name)] - places_of(sizes)[-1]
        return self.data[start : start + sizes[name] * np.dtype(DTYPES[name]).itemsize].view(DTYPES[name])

    def check(self, limit: int) -> None:
        """Check up to `limit` blocks, with the first and the last. Raises InputError."""
        for block_number in sorted(set(np.linspace(0, len(self.blocks) - 1, limit).astype(int).tolist())):
            name, number = self.blocks[block_number]
            block = self.array(name).view(np.uint8)[number * BLOCK : (number + 1) * BLOCK]
            if isal_zlib.crc32(block) != self.description["checksums"][name][number]:
                raise InputError(self.path, f"damaged index ({name}, block {number}); build it again")


def is_index(path: str | Path) -> bool:
    """Whether a file is an index, by its first bytes; no if it cannot be read."""
    try:
        if not Path(path).is_file():  # opening a pipe would wait
            return False
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def source_of(path: str | Path) -> Path | None:
    """The file that an index was made from, if it lies beside it under the name without .rwx, unchanged."""
    beside = Path(path).with_suffix("")
    if beside.is_file() and IndexFile(Path(path)).description["source"] == describe_source(beside):
        return beside
    return None


def read_index(path: Path) -> Iterator[tuple[str, bytes]]:
    """Name and letters of each contig. Raises InputError for one with letters that an index does not hold."""
    from readwarp.rules.bases import LETTERS, unpack

    file, start = IndexFile(path), 0
    file.check(CHECKED_BLOCKS)
    packed, facts = file.array("packed"), file.description
    for name, length, digest in zip(facts["names"], facts["lengths"], facts["md5"], strict=True):
        bases = np.empty(length, np.uint8)
        unpack(packed, start, start + length, bases)
        letters = LETTERS[bases].tobytes()
        if hashlib.md5(letters, usedforsecurity=False).hexdigest() != digest:
            raise InputError(path, "has letters other than A C G T N, which an index lacks: give the FASTA file", name)
        yield name, letters
        start += length


def align_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def places_of(sizes: dict[str, int]) -> list[int]:
    """Where each array starts after the description, and where the file ends."""
    return [0, *accumulate(align_up(size * np.dtype(DTYPES[name]).itemsize) for name, size in sizes.items())]
