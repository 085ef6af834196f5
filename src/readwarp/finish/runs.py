"""Runs of sorted BAM records, in memory or in a temporary file, from which any stretch of frames can be read.

A frame is a few records that are read as a whole. The heads of a run, each frame's first record without bases and tags,
tell where in the run a key lies.
"""

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, BinaryIO, NamedTuple, Protocol

import numpy as np
from isal import isal_zlib
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.device.rows import ragged_rows
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.layout import LONGEST_NAME, NAME, NAME_LENGTH
from readwarp.formats.alignments.stored import records_in
from readwarp.formats.common.bgzf import decompress_into
from readwarp.formats.common.text import put_copy
from readwarp.formats.common.writing import writing_temporary
from readwarp.ragged import concatenate, offsets_of, replace, take

IN_MEMORY = 1 << 14  # bytes of a frame
GZIP = 31  # zlib's window bits, with the gzip header


class Frames(NamedTuple):
    heads: Encoded
    sizes: Annotated[ndarray, "int64 [frames]"]  # bytes
    rows: Annotated[ndarray, "int64 [frames + 1] of records"]  # the frame's first; at the end the last frame's end


class Run(Protocol):
    @property
    def frames(self) -> Frames: ...

    def read(self, first: int, stop: int) -> Encoded:
        """Return the records of frames [first, stop). Any thread may call this."""

    def close(self) -> None: ...


def frames_of(records: Encoded, skip: int, size: int) -> Frames:
    """Cut records into frames of about `size` bytes, at least one record each. `skip` bytes precede each record."""
    ends = np.searchsorted(records.offsets, np.arange(0, records.data.size + 1, size))
    rows = np.unique(np.concatenate([ends, [len(records)]]))
    heads = put_head(rows.size - 1, records, skip, rows)
    return Frames(Encoded(heads.data.copy(), heads.offsets), np.diff(records.offsets[rows]), rows)


@dataclass(frozen=True, slots=True)
class MemoryRun:
    records: Encoded
    frames: Frames

    @classmethod
    def of(cls, records: Encoded, skip: int) -> "MemoryRun":
        return cls(records, frames_of(records, skip, IN_MEMORY))

    def read(self, first: int, stop: int) -> Encoded:
        rows = self.frames.rows
        return take(self.records, "records", slice(int(rows[first]), int(rows[stop])))

    def close(self) -> None:
        """Do nothing: memory needs no closing."""


class Packed(NamedTuple):
    """Sorted records on their way to a file."""

    frames: Frames
    compressed: list[bytes]


def pack(records: Encoded, skip: int, size: int) -> Packed:
    """Cut records into frames and compress them. Any thread may call this."""
    frames = frames_of(records, skip, size)
    places = records.offsets[frames.rows].tolist()
    view = memoryview(records.data)
    packed = [isal_zlib.compress(view[place:stop], 1, GZIP) for place, stop in pairwise(places)]
    return Packed(frames, packed)


@dataclass(frozen=True, slots=True)
class FileRun:
    frames: Frames
    skip: int
    file: BinaryIO
    places: ndarray  # of the frames in the file (int64 [frames + 1])

    @classmethod
    def write(cls, pieces: Iterable[Packed], skip: int) -> "FileRun":
        """Write a run to a file. Raises OSError that names the temporary folder."""
        written: list[Frames] = []
        sizes: list[int] = []
        with writing_temporary():
            file: BinaryIO = tempfile.TemporaryFile(prefix="readwarp-")  # noqa: SIM115
            try:
                for frames, compressed in pieces:
                    file.writelines(compressed)
                    sizes += map(len, compressed)
                    written.append(frames)
                file.flush()
            except BaseException:
                with suppress(OSError):  # it writes what it can before
                    file.close()
                raise
        heads = concatenate([part.heads for part in written], "records")
        return cls(replace(concatenate(written, "frames"), heads=heads), skip, file, offsets_of(sizes))

    def read(self, first: int, stop: int) -> Encoded:
        places = self.places[first : stop + 1].tolist()
        data = os.pread(self.file.fileno(), places[-1] - places[0], places[0])
        records = np.empty(self.frames.sizes[first:stop].sum(), np.uint8)
        decompress_into(data, memoryview(records))
        return records_in(records, self.skip)

    def close(self) -> None:
        self.file.close()


@scalar
def room_of_head(i, records, skip, rows):
    return skip + NAME + LONGEST_NAME


@ragged_rows(Encoded, room_of_head)
def put_head(i, at, records, skip, rows, out):
    """Put the fixed part and the name of a record, after the `skip` bytes before it."""
    fixed = records.offsets[rows[i]] + skip
    return put_copy(records.data, fixed - skip, fixed + NAME + records.data[fixed + NAME_LENGTH], out.data, at)
