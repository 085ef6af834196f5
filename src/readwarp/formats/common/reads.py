"""Reads of a file, in batches."""

from enum import IntEnum
from typing import Annotated, NamedTuple

from numpy import ndarray


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
