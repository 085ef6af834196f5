"""The index and its file: see `readwarp.formats.common.index_file` for the layout.

A file is written under a private name and renamed, so other processes see all of it or nothing; if several build it at
once, the last one wins, with the same bytes.
"""

import hashlib
import json
from pathlib import Path
from typing import BinaryIO

import numpy as np
from isal import isal_zlib
from numpy import ndarray

from readwarp.config import SeedParameters
from readwarp.errors import InputError
from readwarp.formats.common import index_file
from readwarp.formats.common.index_file import BLOCK, MAGIC, PREFIX, VERSION, align_up, describe_source
from readwarp.formats.common.names import contig_problem
from readwarp.formats.common.writing import writing
from readwarp.index.reference import Reference
from readwarp.ragged import offsets_of
from readwarp.scratch import private_file
from readwarp.stopping import completed, held_back

__all__ = ["VERSION", "IndexFile", "describe_source", "save"]


class IndexFile(index_file.IndexFile):
    """A mapped index file whose description has been checked."""

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
    with writing(path), private_file(path) as private:
        with private.path.open("wb") as file:
            _write(file, json.dumps(description).encode(), arrays)
        with held_back():
            private.path.replace(path)
            completed()


def _write(file: BinaryIO, text: bytes, arrays: dict[str, ndarray]) -> None:
    file.write(PREFIX.pack(MAGIC, VERSION, len(text), hashlib.sha256(text).digest()) + text)
    for array in arrays.values():
        file.write(bytes(align_up(file.tell()) - file.tell()))
        file.write(array.view(np.uint8).data)
    file.write(bytes(align_up(file.tell()) - file.tell()))


def _checksums(array: ndarray) -> list[int]:
    data = array.view(np.uint8)
    return [isal_zlib.crc32(data[start : start + BLOCK]) for start in range(0, data.size, BLOCK)]
