"""The index and its file: see `readwarp.formats.common.index_file` for the layout.

A file is written under a private name and renamed, so other processes see all of it or nothing; if several processes
build it at once, the last one wins, with the same bytes.
"""

import hashlib
import json
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from isal import isal_zlib
from numpy import ndarray

from readwarp.config import SeedParameters
from readwarp.errors import InputError
from readwarp.formats.common import index_file
from readwarp.formats.common.index_file import describe_source
from readwarp.formats.common.names import contig_problem
from readwarp.formats.common.writing import writing
from readwarp.index.reference import Reference
from readwarp.ragged import offsets_of
from readwarp.system.scratch import private_file
from readwarp.system.stopping import completed, held_back

__all__ = ["ReferenceIndexFile", "describe_source", "save"]


class ReferenceIndexFile(index_file.IndexFile):
    """A mapped index file with a checked description."""

    def reference(self) -> Reference:
        text = self.description
        for name in text["names"]:
            if problem := contig_problem(name):
                raise InputError(self.path, problem, name)
        ends = offsets_of(text["lengths"])
        ends.flags.writeable = False
        return Reference(tuple(text["names"]), ends, tuple(text["md5"]), self.array("packed"))

    def parameters(self) -> SeedParameters:
        return SeedParameters(**self.description["parameters"])


class SeedArrays(NamedTuple):
    """The arrays of DTYPES after `packed`, made part by part."""

    sizes: dict[str, int]  # of the whole arrays
    dtypes: dict[str, type]
    parts: Iterable[dict[str, ndarray]]  # the next values of some arrays, valid until the next part


def gather(seeds: SeedArrays) -> dict[str, ndarray]:
    """Return the whole arrays, read-only."""
    arrays: dict[str, ndarray] = {name: np.empty(size, seeds.dtypes[name]) for name, size in seeds.sizes.items()}
    filled = dict.fromkeys(arrays, 0)
    for part in seeds.parts:
        for name, values in part.items():
            arrays[name][filled[name] : filled[name] + values.size] = values
            filled[name] += values.size
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def save(
    path: Path, reference: Reference, parameters: SeedParameters, seeds: SeedArrays, source: str | Path | None
) -> None:
    """Write the index file, which gets its name when complete."""
    description: dict[str, Any] = {
        "parameters": {"k": parameters.k, "s": parameters.s, "t": parameters.t},
        "names": reference.names,
        "lengths": np.diff(reference.contig_offsets).tolist(),
        "md5": reference.md5,
        "source": describe_source(source) if source is not None else None,
        "sizes": {"packed": reference.packed.size, **seeds.sizes},
    }
    if wide := [name for name, dtype in seeds.dtypes.items() if dtype != index_file.DTYPES[name]]:
        description["wide"] = wide
    with writing(path), private_file(path) as private:
        with private.path.open("r+b") as file:
            _write(file, description, chain([{"packed": reference.packed}], seeds.parts))
        with held_back():
            private.path.replace(path)
            completed()


class StoredColumn:
    """Array in the file, as far as it is written, with checksums.

    Whole huge pages are written at once, so that the page cache holds them as such (see `IndexFile.advise`).
    """

    def __init__(self, file: BinaryIO, place: int) -> None:
        self.file, self.place = file, place
        self.written, self.checksums = 0, list[int]()
        self._rest = bytearray()  # less than a page, not written yet

    def append(self, values: ndarray) -> None:
        data, done = values.view(np.uint8), self.written + len(self._rest)
        self._sum(data, done)
        border = -(self.place + done) % index_file.HUGE_PAGE
        whole = max(0, data.size - border) // index_file.HUGE_PAGE * index_file.HUGE_PAGE
        head, pages, tail = np.split(data, [border, border + whole])
        self._rest += head.data
        if data.size >= border:
            self._write(self._rest)
            self._write(pages.data)
            self._rest = bytearray(tail.data)

    def close(self) -> None:
        """Write the rest."""
        self._write(self._rest)

    def _sum(self, data: ndarray, done: int) -> None:
        while data.size:
            if done % index_file.BLOCK == 0:
                self.checksums.append(0)
            piece, data = np.split(data, [index_file.BLOCK - done % index_file.BLOCK])
            self.checksums[-1] = isal_zlib.crc32(piece, self.checksums[-1])
            done += piece.size

    def _write(self, data: bytearray | memoryview) -> None:
        self.file.seek(self.place + self.written)
        self.written += self.file.write(data)


def _write(file: BinaryIO, description: dict[str, Any], parts: Iterable[dict[str, ndarray]]) -> None:
    """Write the arrays, then, before them, the description with their checksums."""
    sizes, dtypes = description["sizes"], index_file.described_dtypes(description)
    expected = {name: _expected(number) for name, number in index_file.blocks_of(sizes, dtypes).items()}
    places, start = index_file.places_of(sizes, dtypes), len(_head(description | {"checksums": expected}))
    columns = {name: StoredColumn(file, start + place) for name, place in zip(sizes, places, strict=False)}
    for part in parts:
        for name, values in part.items():
            columns[name].append(values)
    for column in columns.values():
        column.close()
    head = _head(description | {"checksums": {name: column.checksums for name, column in columns.items()}})
    file.truncate(start + places[-1])
    if len(head) != start:
        _move(file, start, len(head), places[-1])
    file.seek(0)
    file.write(head)
    file.truncate(len(head) + places[-1])


def _head(description: dict[str, Any]) -> bytes:
    """Return what is before the arrays, padded to where they begin."""
    text = json.dumps(description).encode()
    version = index_file.version_of(index_file.described_dtypes(description))
    head = index_file.PREFIX.pack(index_file.MAGIC, version, len(text), hashlib.sha256(text).digest()) + text
    return head.ljust(index_file.align_up(len(head)), b"\0")


def _expected(blocks: int) -> list[int]:
    """Return evenly spread numbers (multiples of 2^32 / phi), which nearly always take the room of the checksums."""
    return [number * 0x9E3779B1 & 0xFFFFFFFF for number in range(1, blocks + 1)]


def _move(file: BinaryIO, source: int, target: int, size: int) -> None:
    """Move this many bytes within the file."""
    steps = range(0, size, index_file.BLOCK)
    for step in reversed(steps) if target > source else steps:
        file.seek(source + step)
        data = file.read(min(index_file.BLOCK, size - step))
        file.seek(target + step)
        file.write(data)
