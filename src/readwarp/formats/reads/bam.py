"""BAM, unaligned BAM and CRAM as reads: primary records as sequenced, with their tags and read groups.

Mates must be neighbours. A file that is sorted by coordinate, or turns out not to be grouped, goes through `samtools
collate` first; samtools decodes CRAM. Secondary and supplementary records are omitted; so are tags that describe the
old alignment (`formats.alignments.fields`), and the duplicate flag. A record whose mate is not in the file becomes a
single read.
"""

import subprocess
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy import ndarray

from readwarp.errors import InputError
from readwarp.formats.alignments import samtools
from readwarp.formats.alignments.checks import HeaderLimits, check_size, find_bad, name_of
from readwarp.formats.alignments.cram import header_of
from readwarp.formats.alignments.cram_reference import find_reference
from readwarp.formats.alignments.header import field, lines_of, read_binary_header
from readwarp.formats.alignments.layout import NAME
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.alignments.stored import read_templates
from readwarp.formats.common.bgzf import EOF_BLOCK, tail_of
from readwarp.formats.common.compressed import is_bgzf
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.formats.common.source import Source
from readwarp.formats.common.text import pack_names
from readwarp.formats.reads import bam_kernels as kernels
from readwarp.formats.reads.bam_kernels import Templates
from readwarp.formats.reads.raw import Chunk, RawBatch, ReadInput
from readwarp.ragged import empty, offsets_of, replace, take
from readwarp.system.scratch import ScratchFolder

MAX_BYTES = 1 << 30  # per template


def read_header(path: str) -> str:
    """Read the SAM header text of a BAM or CRAM file. Raises InputError."""
    if not _check_whole(path):
        with closing(Source(path)) as source:
            return read_binary_header(source.read_into, path).text
    return header_of(Path(path))


def _check_whole(path: str) -> bool:
    """Return whether it is CRAM. Raises InputError unless the file ends in the end-of-file block or container."""
    if path == "-" or not Path(path).is_file():
        raise InputError(path, "BAM and CRAM can be read from files only")
    with Path(path).open("rb") as file:
        head = file.read(14)
        is_cram = head[:4] == b"CRAM"
        if head and not (is_cram or is_bgzf(head)):
            raise InputError(path, "is neither BAM nor CRAM")
        tail = tail_of(file, 40)
    if (b"\xe0EOF" not in tail) if is_cram else not tail.endswith(EOF_BLOCK):
        raise InputError(path, "truncated: no BGZF EOF marker")
    return is_cram


@contextmanager
def _open_records(source: Source, read_input: ReadInput, collate: bool) -> Iterator[Callable[[ndarray], int]]:
    """Yield a function that fills a buffer with BAM records; with `collate`, samtools brings mates together first."""
    with ExitStack() as stack:
        is_bam = source.kind == "bam" and not collate
        read_into = source.read_into if is_bam else _start_samtools(stack, source, read_input.references, collate)
        read_binary_header(read_into, source.path)
        yield read_into


def read_records(path: Path, references: Sequence[str] = (), threads: int = 1) -> Generator[Encoded, None, None]:
    """Yield the records of a BAM or CRAM file in order, in pieces of whole templates. Raises InputError.

    references: possible sources of a CRAM file's sequences. threads: decompress BAM.
    """
    with closing(Source(str(path), threads=threads)) as source, ExitStack() as stack:
        if source.kind not in ("bam", "cram"):
            raise InputError(path, "is neither BAM nor CRAM")
        is_bam = source.kind == "bam"
        read_into = source.read_into if is_bam else _start_samtools(stack, source, references, collate=False)
        header = read_binary_header(read_into, path)
        yield from read_templates(str(path), read_into, HeaderLimits.of(header.text, header.lengths))


def _start_samtools(
    stack: ExitStack, source: Source, references: Sequence[str], collate: bool
) -> Callable[[ndarray], int]:
    folder, reference = stack.enter_context(ScratchFolder()).path, None
    command = ["collate", "-u", "-O", "--no-PG"] if collate else ["view", "-u", "--no-PG"]
    if source.kind == "cram":
        reference = find_reference(header_of(Path(source.path)), references, folder)
        command += ["--reference", reference.fasta]
    path = str(Path(source.path).absolute())  # neither an option nor an address, whatever its name
    command += [path, f"{folder}/collate"] if collate else [path]
    child = samtools.ToolProcess("samtools", *command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    stack.enter_context(closing(child))
    decoded = stack.enter_context(closing(Source(source.path, cast(BinaryIO, child.stdout))))
    stack.callback(child.kill)  # before `decoded`, which may be waiting for it, is closed

    def read_into(buffer: ndarray) -> int:
        got = decoded.read_into(buffer)
        if got < buffer.size and child.wait():
            said = child.error()
            known = reference.explain(said) if reference else f"cannot be decoded ({said})"
            raise InputError(source.path, known)
        return got

    return read_into


def read_chunks(sources: Sequence[Source], read_input: ReadInput, batch_bases: int) -> Iterator[Chunk]:
    """Yield chunks of whole templates."""
    if len(sources) == 2:
        raise InputError(read_input.paths[1], "BAM and CRAM hold both mates in one file; give it alone")
    source, path = sources[0], read_input.paths[0]
    header = read_header(path)
    order = next(iter(lines_of(header, "HD")), "")
    grouped = field(order, "SO") == "queryname" or field(order, "GO") == "query"
    limit = max(1 << 9, batch_bases * 3 // 2)  # a base takes a byte and a half
    collate = field(order, "SO") == "coordinate"
    if not collate and not grouped:
        collate = _looks_ungrouped(path, read_input, limit)
    with _open_records(source, read_input, collate) as read_into:
        yield from _chunks(path, read_into, limit, strict=not (grouped or collate))


def _looks_ungrouped(path: str, read_input: ReadInput, limit: int) -> bool:
    """Return whether mates are apart at the start of a file whose header does not give its order."""
    with closing(Source(path)) as source, _open_records(source, read_input, collate=False) as read_into:
        try:
            for _ in _chunks(path, read_into, limit, strict=True):
                return False
        except UngroupedError:
            return True
    return False


class UngroupedError(InputError):
    """An error for mates that are apart."""


def _chunks(path: str, read_into: Callable[[ndarray], int], limit: int, strict: bool) -> Iterator[Chunk]:
    rest, first, ended, size = np.empty(0, np.uint8), 1, False, limit
    while not ended or rest.size:
        data = np.empty(max(size, rest.size), np.uint8)
        data[: rest.size] = rest
        got = rest.size + read_into(data[rest.size :])
        ended, data = got < data.size, data[:got]
        found = empty(Templates, {"reads": got // NAME + 1}, data=data)
        reads, seen, end, orphans, damaged = kernels.pair_up(found, ended)
        if damaged or (ended and end < got):
            check_size(path, data[end:], first + seen)
            raise InputError(path, "damaged, or truncated within the record", first + seen)
        if strict and orphans:
            reason = "mates are not side by side; group them with `samtools collate`"
            raise UngroupedError(path, reason, first + seen)
        if reads:
            found = replace(take(found, "reads", slice(0, reads)), data=data[:end])
            templates = int(np.count_nonzero(found.segments != Segment.LAST))
            yield Chunk("bam", first, reads, templates, found)
        if end == 0 and not ended and size > MAX_BYTES:
            raise InputError(path, "its template is longer than 1 GiB", first)
        size = limit if end else 2 * size
        rest, first = data[end:].copy(), first + seen


def parse(raw: RawBatch) -> ReadBatch:
    """Parse records of whole templates. Raises InputError."""
    templates: Templates = raw.chunk.data
    bad, reason = find_bad(templates.data, templates.places)
    if bad >= 0:
        raise InputError(raw.input.paths[0], reason, name_of(templates.data, templates.places[bad]))
    sizes = np.empty((3, templates.places.size), np.int64)
    groups = np.full(templates.places.size, raw.input.read_group, np.int32)
    kernels.measure(templates, pack_names(raw.input.groups), sizes, groups)
    read_offsets, name_offsets, tag_offsets = map(offsets_of, sizes)
    reads = empty(
        ReadBatch,
        {},
        number=raw.number,
        source=raw.source,
        read_offsets=read_offsets,
        name_offsets=name_offsets,
        tag_offsets=tag_offsets,
        segment=templates.segments,
        read_group=groups,
    )
    kernels.fill(templates, reads)
    return reads
