"""Reads of a file, in batches."""

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.device.rows import is_on_card, ragged_rows, to_host, to_side_of
from readwarp.ragged import empty, offsets_of, ranges, take


class Segment(IntEnum):
    """Position of a read in its template. In a batch, FIRST is always followed directly by its LAST."""

    UNPAIRED = 0
    FIRST = 1
    LAST = 2


class ReadBatch(NamedTuple):
    """Reads in input order. Mates are neighbours and always in the same batch."""

    number: int  # number in the run, from 0
    source: int  # the input (file or pair of files) of all its reads
    bases: Annotated[ndarray, "uint8 [bases]"]  # 0-4
    qualities: Annotated[ndarray, "uint8 [bases]"]  # Phred; 255 throughout a read that has none
    read_offsets: Annotated[ndarray, "int64 [reads + 1] of bases"]
    names: Annotated[ndarray, "uint8 [letters]"]  # without /1 /2 and comment
    name_offsets: Annotated[ndarray, "int64 [reads + 1] of letters"]
    tags: Annotated[ndarray, "uint8 [tag bytes]"]  # BAM-encoded auxiliary fields to carry over, without RG
    tag_offsets: Annotated[ndarray, "int64 [reads + 1] of tag bytes"]
    segment: Annotated[ndarray, "uint8 [reads]"]  # Segment
    read_group: Annotated[ndarray, "int32 [reads]"]  # index into the header's read groups, -1 none
    failed: Annotated[ndarray, "uint8 [reads]"]  # 1: failed the instrument's quality checks, flag 0x200
    left_out: int = 0  # fields of FASTQ comments left out

    def __len__(self) -> int:
        return self.read_offsets.size - 1


class SomeReads(NamedTuple):
    """Reads on their way from a card: the bases of each, and behind them its name."""

    letters: Annotated[ndarray, "uint8 [letters]"]
    letter_offsets: Annotated[ndarray, "int64 [reads + 1] of letters"]
    length: Annotated[ndarray, "int64 [reads]"]  # bases
    segment: Annotated[ndarray, "uint8 [reads]"]
    read_group: Annotated[ndarray, "int32 [reads]"]


@scalar
def spans_of(reads, read):
    """Return where a read's bases start and stop, and its name."""
    bases = reads.read_offsets[read], reads.read_offsets[read + 1]
    return bases, (reads.name_offsets[read], reads.name_offsets[read + 1])


@scalar
def room_of_read(row, rows, reads):
    (start, stop), (first, last) = spans_of(reads, rows[row])
    return stop - start + last - first


@ragged_rows(SomeReads, room_of_read, is_exact=True)
def list_reads(row, at, rows, reads, out):
    """List the reads of these rows."""
    read = rows[row]
    (start, stop), (first, last) = spans_of(reads, read)
    out.length[row] = stop - start
    out.segment[row], out.read_group[row] = reads.segment[read], reads.read_group[read]
    for i in range(start, stop):
        out.letters[at + i - start] = reads.bases[i]
    at += stop - start
    for i in range(first, last):
        out.letters[at + i - first] = reads.names[i]
    return at + last - first


def bring_reads(reads: ReadBatch, rows: ndarray) -> ReadBatch:
    """Return reads (int64 [rows]) of a batch on the host; from a card they come without qualities and tags."""
    if not is_on_card((reads.bases,)):
        return take(reads, "reads", rows)
    some = empty(SomeReads, {"letters": 0}, letter_offsets=np.zeros(1, np.int64))
    if rows.size:
        some = to_host(list_reads(rows.size, to_side_of(reads.bases, rows), reads))
    both = offsets_of(np.stack((some.length, np.diff(some.letter_offsets) - some.length), axis=1).ravel())
    bases, names = (some.letters[ranges(both, np.arange(part, both.size - 1, 2))] for part in (0, 1))
    return empty(
        ReadBatch,
        {"tag bytes": 0},
        number=reads.number,
        source=reads.source,
        bases=bases,
        qualities=np.empty_like(bases),
        read_offsets=offsets_of(some.length),
        names=names,
        name_offsets=offsets_of(np.diff(both)[1::2]),
        tag_offsets=np.zeros(rows.size + 1, np.int64),
        segment=some.segment,
        read_group=some.read_group,
        failed=np.zeros(rows.size, np.uint8),
    )
