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
from typing import Annotated, BinaryIO, NamedTuple, cast

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.errors import InputError
from readwarp.formats.alignments import layout, samtools
from readwarp.formats.alignments.checks import HeaderLimits, check_size, find_bad, name_of
from readwarp.formats.alignments.cram import header_of
from readwarp.formats.alignments.cram_reference import find_reference
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.fields import count_values, is_left_out, kind_of, put_turned
from readwarp.formats.alignments.header import field, lines_of, read_binary_header
from readwarp.formats.alignments.stored import read_templates
from readwarp.formats.common.bgzf import EOF_BLOCK, tail_of
from readwarp.formats.common.compressed import is_bgzf
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.formats.common.source import Source
from readwarp.formats.common.text import find_name, pack_names, put_copy, same_bytes
from readwarp.formats.reads.raw import Chunk, RawBatch, ReadInput
from readwarp.ragged import empty, offsets_of, replace, take
from readwarp.rules.bases import complement
from readwarp.rules.flags import FAILED, MATE_UNMAPPED, NOT_PRIMARY, PAIRED, REVERSE, UNMAPPED
from readwarp.rules.flags import FIRST as FIRST_MATE
from readwarp.rules.flags import LAST as LAST_MATE
from readwarp.system.scratch import ScratchFolder

MAX_BYTES = 1 << 30  # per template
UNPAIRED, FIRST, LAST = map(int, Segment)
MATES = FIRST_MATE | LAST_MATE


class Templates(NamedTuple):
    """Primary records, mates side by side."""

    data: Annotated[ndarray, "uint8 [bytes]"]
    places: Annotated[ndarray, "int64 [reads]"]  # start of each record
    segments: Annotated[ndarray, "uint8 [reads]"]  # Segment


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
        read_into = _open_stream(stack, source, read_input.references, collate)
        read_binary_header(read_into, source.path)
        yield read_into


def read_records(path: Path, references: Sequence[str] = (), threads: int = 1) -> Generator[Encoded, None, None]:
    """Yield the records of a BAM or CRAM file in order, in pieces of whole templates. Raises InputError.

    references: possible sources of a CRAM file's sequences. threads: decompress BAM.
    """
    with closing(Source(str(path), threads=threads)) as source, ExitStack() as stack:
        if source.kind not in ("bam", "cram"):
            raise InputError(path, "is neither BAM nor CRAM")
        read_into = _open_stream(stack, source, references, collate=False)
        header = read_binary_header(read_into, path)
        yield from read_templates(str(path), read_into, HeaderLimits.of(header.text, header.lengths))


def _open_stream(
    stack: ExitStack, source: Source, references: Sequence[str], collate: bool
) -> Callable[[ndarray], int]:
    """Return a function that fills a buffer with BAM: the source's own, or what samtools makes of it."""
    if source.kind == "bam" and not collate:
        return source.read_into
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
    rest, size = np.empty(0, np.uint8), limit
    first, ended = 1, False
    while not ended or rest.size:
        data = np.empty(max(size, rest.size), np.uint8)
        data[: rest.size] = rest
        got = rest.size + read_into(data[rest.size :])
        ended, data = got < data.size, data[:got]
        found = empty(Templates, {"reads": got // layout.NAME + 1}, data=data)
        reads, seen, end, orphans, damaged = pair_records(found, ended)
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
    measure_reads(templates, pack_names(raw.input.groups), sizes, groups)
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
    fill_reads(templates, reads)
    return reads


@scalar
def is_sound(data, at, stop):
    """Return whether the parts of the record fit into it, and its name ends in 0."""
    return layout.is_whole(data, at, stop) and data[at + layout.NAME + np.int64(data[at + layout.NAME_LENGTH]) - 1] == 0


@scalar
def same_name(data, a, b):
    length = data[a + layout.NAME_LENGTH]
    is_as_long = data[b + layout.NAME_LENGTH] == length
    return is_as_long and same_bytes(data, a + layout.NAME, data, b + layout.NAME, np.int64(length))


@kernel
def pair_records(out, ended):
    """Find the primary records in the data of `out` (Templates) and fill in the rest.

    A paired record waits for its mate, which must be the next primary one; if that has another name or is no mate, the
    record is taken alone, as an orphan. Unless the data have `ended`, a waiting record comes again in the next data.
    Returns (reads, records, where the next begins, orphans, whether the last record is damaged).
    """
    data = out.data
    places, segments = out.places, out.segments
    at = reads = records = orphans = waiting_records = 0
    waiting = -1
    while at + layout.NAME <= data.size:
        stop = layout.stop_of(data, at)
        if stop > data.size and stop - at <= layout.MAX_RECORD:
            break
        if stop > data.size or not is_sound(data, at, stop):
            return reads, records, at, orphans, True
        flag = layout.uint16_at(data, at + layout.FLAG)
        mate = flag & MATES if flag & PAIRED else 0
        if flag & NOT_PRIMARY == 0:
            if (
                waiting >= 0
                and mate == layout.uint16_at(data, waiting + layout.FLAG) & MATES ^ MATES
                and same_name(data, waiting, at)
            ):
                places[reads], places[reads + 1] = (waiting, at) if mate == LAST_MATE else (at, waiting)
                segments[reads], segments[reads + 1] = FIRST, LAST
                reads, waiting = reads + 2, -1
            else:
                if waiting >= 0:
                    places[reads], segments[reads] = waiting, UNPAIRED
                    reads, orphans = reads + 1, orphans + 1
                    waiting = -1
                if mate in (FIRST_MATE, LAST_MATE):
                    waiting, waiting_records = at, records
                else:
                    places[reads], segments[reads] = at, UNPAIRED
                    reads += 1
        at, records = stop, records + 1
    if waiting >= 0 and not ended:
        return reads, waiting_records, waiting, orphans, False
    if waiting >= 0:
        places[reads], segments[reads] = waiting, UNPAIRED
        reads, orphans = reads + 1, orphans + 1
    return reads, records, at, orphans, False


@scalar
def was_aligned(flag):
    """Return whether the record or its mate was aligned."""
    return flag & UNMAPPED == 0 or (flag & PAIRED != 0 and flag & MATE_UNMAPPED == 0)


@kernel
def measure_reads(templates, groups, sizes, read_group):
    """Write bases, name letters and tag bytes of each read to sizes (int64 [3, reads]); its group to read_group."""
    data, places = templates.data, templates.places
    letters, offsets = groups
    for i in range(places.size):
        at = places[i]
        sizes[0, i] = layout.int32_at(data, at + layout.LENGTH)
        sizes[1, i] = np.int64(data[at + layout.NAME_LENGTH]) - 1
        sizes[2, i] = 0
        tag, stop = layout.qualities_of(data, at)[1], layout.stop_of(data, at)
        aligned = was_aligned(layout.uint16_at(data, at + layout.FLAG))
        while tag < stop:
            end = layout.field_stop(data, tag, stop)
            if not is_left_out(kind_of(data, tag), aligned):
                sizes[2, i] += end - tag
            elif data[tag] == layout.R and data[tag + 1] == layout.G:
                group = find_name(data, tag + 3, end - 1, letters, offsets)
                read_group[i] = group if group >= 0 else read_group[i]
            tag = end


@kernel
def fill_reads(templates, out):
    """Fill out (ReadBatch, offsets known) with reads as sequenced: those on the reverse strand are turned back."""
    data, places = templates.data, templates.places
    bases, qualities = out.bases, out.qualities
    read_offsets, name_offsets = out.read_offsets, out.name_offsets
    for i in range(places.size):
        at = places[i]
        first, last = read_offsets[i], read_offsets[i + 1] - 1
        for j in range(name_offsets[i + 1] - name_offsets[i]):
            out.names[name_offsets[i] + j] = data[at + layout.NAME + j]
        sequence, length = layout.bases_of(data, at)
        quality, tag = layout.qualities_of(data, at)
        flag = layout.uint16_at(data, at + layout.FLAG)
        reverse, out.failed[i] = flag & REVERSE, 1 if flag & FAILED else 0
        for j in range(length):
            base = layout.BASES[(data[sequence + (j >> 1)] >> (0 if j & 1 else 4)) & 15]
            to = last - j if reverse else first + j
            bases[to] = complement(base) if reverse else base
            qualities[to] = data[quality + j]
        to, stop = out.tag_offsets[i], layout.stop_of(data, at)
        shown = np.int64(0), length, length
        while tag < stop:
            end = layout.field_stop(data, tag, stop)
            if not is_left_out(kind_of(data, tag), was_aligned(flag)):
                if reverse and count_values(data, tag, end) == length:
                    to = put_turned(data, tag, end, shown, True, out.tags, to)
                else:
                    to = put_copy(data, tag, end, out.tags, to)
            tag = end
