"""Inputs of reads, and batches of their records before decoding."""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from numpy import ndarray

from readwarp.config import UmiParameters
from readwarp.errors import UsageError


@dataclass(frozen=True, slots=True)
class ReadInput:
    """One input: a file ("-" is stdin), or the two files of its mates."""

    paths: tuple[str, ...]
    interleaved: bool = False  # FASTQ and FASTA: neighbours of one name are mates, others single reads
    read_group: int = -1  # of every read (FASTQ, FASTA), or of those whose own group is unknown; -1 none
    single: bool = False  # FASTQ and FASTA: reads are unpaired, whatever their names say
    comments: bool = False  # FASTQ and FASTA: comments hold SAM tags
    groups: tuple[str, ...] = ()  # IDs of the header's read groups, which RG tags refer to
    named_groups: tuple[int, ...] = ()  # groups that this input's own header or comments may name, if several
    references: tuple[str, ...] = ()  # possible sources of a CRAM file's sequences
    phred: int | None = None  # 33 or 64, of the qualities; None: 33, but an error if they look like 64
    umi: UmiParameters | None = None  # location of the UMIs; None: not requested
    numbered: bool = False  # FASTQ and FASTA: names in two files of mates end in .1 and .2, judging by the first reads

    def __post_init__(self) -> None:
        if len(self.paths) not in (1, 2) or (self.interleaved and len(self.paths) == 2):
            raise UsageError("an input is one file, interleaved or not, or two files of mates")


class Chunk(NamedTuple):
    """Whole records as in the files, mates in step: record i of one file and record i of the other."""

    kind: str  # fastq | fasta | bam
    first_record: int  # number of the first record in its file, from 1
    records: int  # per file
    templates: int  # pairs and single reads
    data: Any  # fastq, fasta: the Text of each file; bam: Templates
    segments: Any = None  # fastq, fasta: uint8 [records], Segment if there is one file

    @property
    def bytes(self) -> int:
        """Bytes of the text."""
        return sum(text.stop - text.start for text in self.data)


class FastxRecords(NamedTuple):
    """Places of the parts of each record among the letters."""

    name: Annotated[ndarray, "int64 [records]"]
    name_length: Annotated[ndarray, "int64 [records]"]
    comment: Annotated[ndarray, "int64 [records]"]
    comment_length: Annotated[ndarray, "int64 [records]"]
    sequence: Annotated[ndarray, "int64 [records]"]
    length: Annotated[ndarray, "int64 [records]"]  # of the sequence, without line ends
    quality: Annotated[ndarray, "int64 [records]"]  # -1 none

    def __len__(self) -> int:
        return self.name.size


@dataclass(frozen=True, slots=True)
class RawBatch:
    """A chunk of an input within a run."""

    number: int  # counts from 0
    source: int  # index of the input
    input: ReadInput
    first_template: int  # number of the first pair or single read, from 0
    chunk: Chunk

    def __len__(self) -> int:
        """Return the number of reads, of FASTQ and FASTA."""
        return len(self.input.paths) * self.chunk.records

    @property
    def templates(self) -> int:
        """Number of pairs and single reads."""
        return self.chunk.templates

    def place_of(self, read: int, name: str) -> tuple[str, int | str]:
        """Return file and record number of this read of the batch; for BAM, whose order may differ, the name."""
        files = len(self.input.paths)
        record = name if self.chunk.kind == "bam" else self.chunk.first_record + read // files
        return self.input.paths[read % files], record
