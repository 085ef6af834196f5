"""The index as one memory-mapped file.

    bytes 0-7      magic "readwarp"
    8-11           version of the layout, uint32 (all numbers little-endian)
    12-15          length of the description, uint32
    16-47          SHA-256 of the description
    48-            description, JSON: parameters, contigs (name, length, MD5), source, arrays, CRC-32 of data blocks
    then           packed, bucket_starts, tags, positions, each from a multiple of 4096 on

A file is written under a private name and renamed, so other processes see all of it or nothing; if several build it at
once, the last one wins, with the same bytes. Whenever the file is opened, its description, its length and
`CHECKED_BLOCKS` evenly spread blocks of 1 MiB are checked (all data up to 64 MiB; a few hundredths of a second for any
size). `Index.verify` checks everything.
"""

import hashlib
import json
import mmap
import os
import secrets
import struct
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from isal import isal_zlib
from numpy import ndarray

from readwarp.config import SeedParameters
from readwarp.errors import InputError
from readwarp.index.reference import Reference
from readwarp.ragged import offsets_of

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
        self.digest = self.data[16:48].tobytes().hex()  # of the description, which has the checksums of all blocks
        self.description = self._read_description()
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
        if self.data.size != _align(PREFIX.size + length) + _places(description["sizes"])[-1]:
            raise InputError(self.path, "damaged index (length); build it again")
        return description

    def array(self, name: str) -> ndarray:
        sizes = self.description["sizes"]
        start = self.data.size + _places(sizes)[list(sizes).index(name)] - _places(sizes)[-1]
        return self.data[start : start + sizes[name] * np.dtype(DTYPES[name]).itemsize].view(DTYPES[name])

    def check(self, limit: int) -> None:
        """Check up to `limit` blocks, with the first and the last. Raises InputError."""
        for block_number in np.unique(np.linspace(0, len(self.blocks) - 1, limit).astype(int)):
            name, number = self.blocks[block_number]
            block = self.array(name).view(np.uint8)[number * BLOCK : (number + 1) * BLOCK]
            if isal_zlib.crc32(block) != self.description["checksums"][name][number]:
                raise InputError(self.path, f"damaged index ({name}, block {number}); build it again")

    def reference(self) -> Reference:
        text = self.description
        ends = offsets_of(text["lengths"])
        ends.flags.writeable = False
        return Reference(tuple(text["names"]), ends, tuple(text["md5"]), self.array("packed"))

    def parameters(self) -> SeedParameters:
        return SeedParameters(**self.description["parameters"])


def save(
    path: Path, reference: Reference, parameters: SeedParameters, seeds: dict[str, ndarray], source: str | Path | None
) -> None:
    """Write the index file; it gets its name when it is complete. seeds: the arrays of DTYPES after `packed`."""
    arrays = {"packed": reference.packed, **seeds}
    description = {
        "parameters": {"k": parameters.k, "s": parameters.s, "t": parameters.t},
        "names": reference.names,
        "lengths": np.diff(reference.contig_offsets).tolist(),
        "md5": reference.md5,
        "source": describe_source(source) if source is not None else None,
        "sizes": {name: array.size for name, array in arrays.items()},
        "checksums": {name: _checksums(array) for name, array in arrays.items()},
    }
    private = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with private.open("xb") as file:
            _write(file, json.dumps(description).encode(), arrays)
        private.replace(path)
    except BaseException:
        private.unlink(missing_ok=True)
        raise


def _write(file: BinaryIO, text: bytes, arrays: dict[str, ndarray]) -> None:
    file.write(PREFIX.pack(MAGIC, VERSION, len(text), hashlib.sha256(text).digest()) + text)
    for array in arrays.values():
        file.write(bytes(_align(file.tell()) - file.tell()))
        file.write(array.view(np.uint8).data)
    file.write(bytes(_align(file.tell()) - file.tell()))


def _checksums(array: ndarray) -> list[int]:
    data = array.view(np.uint8)
    return [isal_zlib.crc32(data[start : start + BLOCK]) for start in range(0, data.size, BLOCK)]


def _align(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _places(sizes: dict[str, int]) -> list[int]:
    """Where each array starts after the description, and where the file ends."""
    return [0, *accumulate(_align(size * np.dtype(DTYPES[name]).itemsize) for name, size in sizes.items())]
