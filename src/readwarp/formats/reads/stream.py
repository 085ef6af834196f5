"""Reads in: any input as a stream of raw batches (one thread), and a raw batch as a ReadBatch (any thread).

    for raw in open_reads(inputs, batch_bases):     # reads and cuts bytes, decodes nothing
        reads = parse(raw)                          # compiled, without the GIL

The first bytes of a file tell its kind, never its name. Batches hold whole pairs of one input and at most `batch_bases`
bases (a longer pair is a batch of its own); where they are cut never changes the reads.
"""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing

from readwarp.batches import ReadBatch
from readwarp.formats.common.source import Source
from readwarp.formats.reads import bam, fastx
from readwarp.formats.reads.raw import RawBatch, ReadInput


def open_reads(inputs: Sequence[ReadInput], batch_bases: int) -> Generator[RawBatch, None, None]:
    """Raw batches of all inputs in order. Raises InputError for what cannot be read or is of no known kind."""
    number = template = 0
    for source, read_input in enumerate(inputs):
        with ExitStack() as stack:
            files = [stack.enter_context(closing(Source(path))) for path in read_input.paths]
            module = bam if any(file.kind in ("bam", "cram") for file in files) else fastx
            for chunk in module.read_chunks(files, read_input, batch_bases):
                yield RawBatch(number, source, read_input, template, chunk)
                number, template = number + 1, template + chunk.templates


def parse(raw: RawBatch) -> ReadBatch:
    """Decode a raw batch. Raises InputError with the file, the record and the reason."""
    return bam.parse(raw) if raw.chunk.kind == "bam" else fastx.parse(raw)
