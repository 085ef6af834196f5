"""Reads in: any input as a stream of raw batches (one thread), and a raw batch as a ReadBatch (any thread).

    for raw in open_reads(inputs, batch_bases):     # reads and cuts bytes, decodes nothing
        reads = parse(raw)                          # compiled, without the GIL

The first bytes of a file tell its kind, never its name. Batches hold whole pairs of one input and at most `batch_bases`
bases (a longer pair is a batch of its own); where batches are cut never changes the reads.
"""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace as replace_fields

import numpy as np

from readwarp.errors import InputError
from readwarp.formats.common.qualities import PHRED64, TOO_LOW, explain_phred64, from_phred64
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.common.source import Source
from readwarp.formats.reads import bam, fastx, fastx_chunks
from readwarp.formats.reads.mates import check_mates, mates_by_endings, names_of_chunk, warn_of_neighbours
from readwarp.formats.reads.raw import RawBatch, ReadInput
from readwarp.formats.reads.umis import extract_umis
from readwarp.ragged import replace

THREADS_FED = 8  # threads that one decompressing thread feeds; it could feed half as many again


def helpers_of(threads: int) -> int:
    """Return the threads that decompress a file with divisible blocks, for this many that align."""
    return max(1, threads // THREADS_FED)


def open_reads(inputs: Sequence[ReadInput], batch_bases: int, threads: int = 1) -> Generator[RawBatch, None, None]:
    """Yield raw batches of all inputs in order. Raises InputError for unreadable input, and for misplaced mates.

    threads: that align.
    """
    helpers = helpers_of(threads)
    number = template = 0
    for source, read_input in enumerate(inputs):
        with ExitStack() as stack:
            files = [stack.enter_context(closing(Source(path, threads=helpers))) for path in read_input.paths]
            is_binary = any(file.kind in ("bam", "cram") for file in files)
            read_chunks = bam.read_chunks if is_binary else fastx_chunks.read_chunks
            for is_later, chunk in enumerate(read_chunks(files, read_input, batch_bases)):
                if not is_later and not is_binary:
                    names = names_of_chunk(chunk)
                    check_mates(names, read_input)
                    warn_of_neighbours(names[0], read_input)
                    is_numbered = len(names) == 2 and mates_by_endings(names) is not None
                    read_input = replace_fields(read_input, numbered=is_numbered)
                yield RawBatch(number, source, read_input, template, chunk)
                number, template = number + 1, template + chunk.templates


def parse(raw: RawBatch) -> ReadBatch:
    """Decode a raw batch, with its UMIs. Raises InputError with the file, the record and the reason."""
    reads = bam.parse(raw) if raw.chunk.kind == "bam" else fastx.parse(raw)
    return extract_umis(_from_phred64(reads, raw) if raw.input.phred == PHRED64 else reads, raw)


def _from_phred64(reads: ReadBatch, raw: RawBatch) -> ReadBatch:
    """Convert qualities from Phred+64. Raises InputError for one that it cannot hold."""
    qualities, bad = from_phred64(reads.qualities)
    if bad >= 0:
        read = int(np.searchsorted(reads.read_offsets, bad, side="right")) - 1
        name = reads.names[reads.name_offsets[read] : reads.name_offsets[read + 1]].tobytes().decode("latin-1")
        raise InputError(raw.place_of(read, name)[0], TOO_LOW, name)
    return replace(reads, qualities=qualities)


def check_encoding(sample: Sequence[ReadBatch], read_input: ReadInput) -> None:
    """Raise InputError if the qualities of an input's first reads show that it is not Phred+33."""
    qualities = np.concatenate([reads.qualities for reads in sample] or [np.empty(0, np.uint8)])
    if read_input.phred is None and (reason := explain_phred64(qualities)):
        raise InputError(read_input.paths[0], reason)
