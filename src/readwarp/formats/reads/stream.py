"""Reads in: any input as a stream of raw batches (one thread), and a raw batch as a ReadBatch (any thread).

    for raw in open_reads(inputs, batch_bases):     # reads and cuts bytes, decodes nothing
        reads = parse(raw)                          # compiled, without the GIL

The kind of a file is told by its first bytes, never by its name. Batches hold whole pairs, at most `batch_bases` bases
(a single longer pair comes alone), and one input each; where they are cut never changes the reads.
"""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing

from readwarp.batches import ReadBatch
from readwarp.formats.common.source import Source
from readwarp.formats.reads import bam, fastx
from readwarp.formats.reads.raw import RawBatch, ReadInput


def open_reads(inputs: Sequence[ReadInput], batch_bases: int) -> Generator[RawBatch, None, None]:
    """Raw batches of all inputs in order. Raises InputError for what cannot be read or is no known kind."""
    number = template = 0
    for source, given in enumerate(inputs):
        with ExitStack() as stack:
            files = [stack.enter_context(closing(Source(path))) for path in given.paths]
            module = bam if any(file.kind in ("bam", "cram") for file in files) else fastx
            for kind, first_record, records, data in module.raw_records(files, given, batch_bases):
                templates = module.templates(given, records, data)
                yield RawBatch(number, source, given, kind, first_record, records, template, templates, data)
                number, template = number + 1, template + templates


def parse(raw: RawBatch) -> ReadBatch:
    """Decode a raw batch. Raises InputError with the file, the record and the reason."""
    return bam.parse(raw) if raw.kind == "bam" else fastx.parse(raw)
