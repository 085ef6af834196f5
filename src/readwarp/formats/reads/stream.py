"""Reads in: any input as a stream of raw batches (one thread), and a raw batch as a ReadBatch (any thread).

    for raw in open_reads(inputs, batch_bases):     # reads and cuts bytes, decodes nothing
        reads = parse(raw)                          # compiled, without the GIL

The kind of a file is told by its first bytes, never by its name. Batches hold whole pairs, at most `batch_bases` bases
(a single longer pair comes alone), and one input each; where they are cut never changes the reads.
"""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from readwarp.batches import ReadBatch
from readwarp.errors import UsageError


@dataclass(frozen=True, slots=True)
class ReadInput:
    """One input: a file ("-" is stdin), or the two files of its mates."""

    paths: tuple[str, ...]
    interleaved: bool = False  # FASTQ and FASTA: mates are neighbours in the file
    read_group: int = -1  # of every read (FASTQ, FASTA) or of those whose own group is unknown; -1 none
    comments: bool = False  # FASTQ and FASTA: the comment holds SAM tags
    groups: tuple[str, ...] = ()  # IDs of the header's read groups, which RG tags refer to
    reference: str | None = None  # FASTA that CRAM was written against

    def __post_init__(self) -> None:
        if len(self.paths) not in (1, 2) or (self.interleaved and len(self.paths) == 2):
            raise UsageError("an input is one file, interleaved or not, or two files of mates")


@dataclass(frozen=True, slots=True)
class RawBatch:
    """Whole records as they lie in the files, mates in step: record i of one file and record i of the other."""

    number: int  # counts from 0 within the run
    source: int  # index of the input
    input: ReadInput
    kind: str  # fastq | fasta | bam
    first_record: int  # number of the first record in its file, from 1
    records: int  # in each of `data`
    first_template: int  # number of the first pair or single read within the run, from 0
    templates: int
    data: tuple[Any, ...]  # what the format's parser takes: text of each file, or BAM records and their places


def open_reads(inputs: Sequence[ReadInput], batch_bases: int) -> Generator[RawBatch, None, None]:
    """Raw batches of all inputs in order. Raises InputError for what cannot be read or is no known kind."""
    from readwarp.formats.common.source import Source

    number = template = 0
    for source, given in enumerate(inputs):
        with ExitStack() as stack:
            files = [stack.enter_context(closing(Source(path))) for path in given.paths]
            module = _codec("bam" if any(file.kind in ("bam", "cram") for file in files) else "fastx")
            for kind, first_record, records, data in module.raw_records(files, given, batch_bases):
                templates = module.templates(given, records, data)
                yield RawBatch(number, source, given, kind, first_record, records, template, templates, data)
                number, template = number + 1, template + templates


def parse(raw: RawBatch) -> ReadBatch:
    """Decode a raw batch. Raises InputError with the file, the record and the reason."""
    return _codec("bam" if raw.kind == "bam" else "fastx").parse(raw)


def _codec(name: str) -> ModuleType:
    return import_module(f"readwarp.formats.reads.{name}")
