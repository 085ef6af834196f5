"""The index beside a BAM file, BAI or CSI, and checks that it belongs to the file.

A wrong index silently hides reads, so it is checked against the file: on opening, by where the records of each contig
begin and end, and while regions are read, by the positions of the reads found (`Watch`). `BamIndexer` makes an index
while a file is written: BAI, or CSI for contigs too long for BAI.
"""

import gzip
import struct
import zlib
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.device.jit import kernel, scalar
from readwarp.errors import InputError
from readwarp.formats.alignments.bam_file import BamFile, BamPiece, NoBlockError
from readwarp.formats.alignments.header import binary_header, field, lines_of
from readwarp.formats.alignments.layout import (
    CONTIG,
    FLAG,
    LONGEST_NAME,
    MAX_RECORD,
    NAME,
    POSITION,
    int32_at,
    span_of,
    uint16_at,
)
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.common.binning import Binned, ItemSpans, bin_items, depth_for
from readwarp.formats.common.compressed import GZIP_MAGIC
from readwarp.formats.common.index import CSI_LENGTH, DEPTH, LINEAR_WINDOW, BgzfIndex
from readwarp.formats.common.indexer import Indexer, Virtual, bai_of, csi_of, join_file
from readwarp.ragged import empty
from readwarp.rules.flags import UNMAPPED

FIXED = struct.Struct("<iiiBBHHHiii")  # fields of a record up to its mate's position
COUNTS_BIN = 37450  # of BAI: holds the extent of a contig's records, and counts
MAX_DEPTH = 9  # levels of bins below the largest
FAR = (1 << 63) - 1  # begin of a contig without records


class OtherFileError(Exception):
    """An index that cannot belong to this file."""


class Extents(NamedTuple):
    """Extents of the records of each contig, and its linear index."""

    begins: Annotated[ndarray, "int64 [contigs]"]  # virtual offset of the first record; FAR if there is none
    ends: Annotated[ndarray, "int64 [contigs]"]  # after the last record; 0 if there is none
    places: Annotated[ndarray, "int64 [contigs] of words"]
    windows: Annotated[ndarray, "int64 [contigs]"]

    @classmethod
    def none(cls, contigs: int) -> "Extents":
        return cls(np.full(contigs, FAR), *np.zeros((3, contigs), np.int64))


def bam_indexes(bam: Path) -> tuple[Path, ...]:
    """Return the possible paths of a BAM file's index."""
    return bam.with_name(bam.name + ".bai"), bam.with_suffix(".bai"), bam.with_name(bam.name + ".csi")


def load_bam_index(bam: Path, file: BamFile) -> BgzfIndex:
    """Load the index beside a BAM file. Raises InputError if it is missing, damaged or of another file."""
    path = next((path for path in bam_indexes(bam) if path.exists()), None)
    if path is None:
        raise InputError(bam, "has no index (make one with `samtools index`)")
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == GZIP_MAGIC else data
        parse = _parse_csi if data[:4] == b"CSI\x01" else _parse_bai
        shift, extents, starts = parse(data, file.header.lengths)
        starts = [_fill(own, int(begin)) for own, begin in zip(starts, extents.begins, strict=True)]
    except OtherFileError as error:
        raise other_file(path, file) from error
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror or error})") from error
    except (struct.error, ValueError, EOFError, zlib.error) as error:
        raise InputError(path, f"damaged index ({error}): make it again (`samtools index {bam}`)") from error
    index = BgzfIndex(shift, starts, int(extents.ends.max(initial=0)) or None, (), path)
    _check_extents(index, extents, file)
    return index


def _parse_bai(data: bytes, lengths: list[int]) -> tuple[int, Extents, list[ndarray]]:
    if data[:4] != b"BAI\x01" or len(data) % 4:
        raise ValueError("not of BAI's form")
    (contigs,) = struct.unpack_from("<I", data, 4)
    words = np.frombuffer(data, "<u4", offset=8)
    if contigs > len(lengths):
        raise OtherFileError
    extents = Extents.none(contigs)
    stop = find_extents(words, extents)
    if stop < 0 or words.size - stop not in (0, 2):
        raise ValueError("its parts do not fit")
    spans = zip(extents.places.tolist(), extents.windows.tolist(), strict=True)
    starts = [words[place : place + 2 * windows].view("<u8").astype(np.int64) for place, windows in spans]
    for own in starts:
        used = own[own != 0]
        if (np.diff(used) < 0).any():
            raise ValueError("its offsets are not in order")
    return LINEAR_WINDOW, extents, starts


@scalar
def offset_at(words, at):
    return np.int64(words[at + 1]) << 32 | np.int64(words[at])


@kernel
def find_extents(words, out):
    """Read the bins of BAI from the first contig on (words: uint32) into out (Extents).

    Returns where the last contig ends in the words, or -1 if something does not fit.
    """
    begins, ends, places, windows = out.begins, out.ends, out.places, out.windows
    at, size = np.int64(0), words.size
    for contig in range(places.size):
        bins, at = np.int64(words[at]) if at < size else size, at + 1
        for _ in range(bins):
            if at + 2 > size:
                return -1
            number, stop = np.int64(words[at]), at + 2 + 4 * np.int64(words[at + 1])
            if stop > size or number > COUNTS_BIN or number == COUNTS_BIN - 1:
                return -1
            last = at + 6 if number == COUNTS_BIN else stop  # the counts are not a chunk
            if number == COUNTS_BIN and stop != at + 10:
                return -1
            for chunk in range(at + 2, last, 4):
                begin, end = offset_at(words, chunk), offset_at(words, chunk + 2)
                if begin > end or begin <= 0:
                    return -1
                begins[contig], ends[contig] = min(begins[contig], begin), max(ends[contig], end)
            at = stop
        if at >= size:
            return -1
        places[contig], windows[contig] = at + 1, words[at]
        at += 1 + 2 * windows[contig]
    return at if at <= size else -1


def _parse_csi(data: bytes, lengths: list[int]) -> tuple[int, Extents, list[ndarray]]:
    """Parse CSI, which has no linear index, but an offset in each bin: of the first record that reaches it."""
    shift, depth, extra = struct.unpack_from("<iii", data, 4)
    (contigs,), place = struct.unpack_from("<I", data, 16 + max(0, extra)), 20 + max(0, extra)
    if not (0 < shift < 32 and 0 <= depth <= MAX_DEPTH) or max(lengths) > 1 << (shift + 3 * depth):
        raise ValueError("its bins do not cover the contigs")
    if contigs > len(lengths):
        raise OtherFileError
    extents, starts = Extents.none(contigs), []
    counts = ((1 << 3 * (depth + 1)) - 1) // 7 + 1
    for contig in range(contigs):
        (bins,), place = struct.unpack_from("<I", data, place), place + 4
        own = np.zeros((lengths[contig] >> shift) + 1, np.int64)
        for _ in range(bins):
            number, offset, chunks = struct.unpack_from("<IQI", data, place)
            place += 16
            stop = place + 16 * chunks
            if number > counts or number == counts - 1 or stop > len(data) or (number == counts and chunks != 2):
                raise ValueError("its parts do not fit")
            if number < counts:
                first = _first_window(number, depth)
                if first >= own.size:
                    raise ValueError("a bin lies beyond its contig")
                own[first] = max(offset & FAR, int(own[first]))
            chunks = np.frombuffer(data, "<i8", 2 * (chunks if number < counts else 1), place)
            if (chunks <= 0).any() or (chunks[::2] > chunks[1::2]).any():
                raise ValueError("a chunk ends before it begins")
            extents.begins[contig] = min(extents.begins[contig], chunks[::2].min(initial=FAR))
            extents.ends[contig] = max(extents.ends[contig], chunks[1::2].max(initial=0))
            place = stop
        starts.append(own)
    if len(data) - place not in (0, 8):
        raise ValueError("its parts do not fit")
    return shift, extents, starts


def _first_window(number: int, depth: int) -> int:
    """Return the first of the smallest windows that a bin covers."""
    level, level_start = 0, 0
    while number >= level_start + (1 << 3 * level):
        level, level_start = level + 1, level_start + (1 << 3 * level)
    return (number - level_start) << 3 * (depth - level)


def _fill(starts: ndarray, begin: int) -> ndarray:
    """Fill in offsets by window, never too late: windows without one take the previous, the first ones the contig's.

    Some programs omit unaligned reads from the windows, so the first one begins with the contig.
    """
    used = np.flatnonzero(starts)
    if begin == FAR:
        if used.size:
            raise ValueError("a contig has windows but no bins")
        return starts[:0]
    if used.size and starts[used[0]] < begin:
        raise ValueError("its offsets are not in order")
    filled = np.maximum.accumulate(starts) if starts.size else np.zeros(1, np.int64)
    filled[: used[0] + 1 if used.size else filled.size] = begin
    return filled


def _check_extents(index: BgzfIndex, extents: Extents, file: BamFile) -> None:
    """Raise InputError unless the records of each contig begin where the previous contig's end."""
    before = file.first
    for contig in np.flatnonzero(extents.begins < FAR).tolist():
        begin = int(extents.begins[contig])
        if begin < before:
            raise other_file(index.path, file)
        if begin > before:
            _check_record(index, file, before, contig)
        before = int(extents.ends[contig])
    _check_record(index, file, before, -1)


def _check_record(index: BgzfIndex, file: BamFile, offset: int, contig: int) -> None:
    """Raise InputError unless a record of this contig begins at the offset; for -1, also accept the end of the file."""
    data = b""
    try:
        for piece in file.pieces(offset):
            data += piece
            if len(data) >= NAME:
                break
        else:
            if data or contig >= 0 or offset >> 16 > file.size:
                raise other_file(index.path, file)
            return
    except NoBlockError as error:
        raise other_file(index.path, file) from error
    if not is_record(data, file.header.lengths, contig):
        raise other_file(index.path, file)


def is_record(data: bytes, lengths: list[int], contig: int) -> bool:
    """Return whether the bytes may begin with a record of this contig, or without a contig for -1."""
    if len(data) < NAME:
        return True
    size, own, position, name, _, _, runs, _, bases, mate, mate_position = FIXED.unpack_from(data)
    length = lengths[contig] if contig >= 0 else 0
    is_sound = own == contig and (contig < 0 or -1 <= position < length) and -1 <= mate < len(lengths)
    is_sound &= mate_position >= -1 and name > 0 and bases >= 0 and size <= MAX_RECORD
    is_sound &= NAME + name + 4 * runs + (bases + 1) // 2 + bases <= size + 4
    letters = data[NAME : NAME + name]
    return bool(is_sound and (len(letters) < name or letters.find(0) == name - 1))


def other_file(index: Path | None, file: BamFile) -> InputError:
    remedy = f"make it again (`samtools index {file.path}`)"
    return InputError(index, f"belongs to another file than {file.path}, or is older or damaged: {remedy}")


class Watch:
    """A check of the index against the records of some contigs as they are read in order."""

    def __init__(self, index: BgzfIndex, file: BamFile, contigs: range):
        self._index, self._file, self._contigs = index, file, contigs
        rows = [index.starts[contig] if contig < len(index.starts) else np.zeros(0, np.int64) for contig in contigs]
        self._sizes = np.array([row.size for row in rows])
        self._first = np.cumsum(self._sizes) - self._sizes
        self._starts = np.concatenate(rows)

    def absent(self) -> None:
        """Check what the index, without records of these contigs, has beside them. Raises InputError."""
        index, before, after = self._index, self._contigs.start - 1, self._contigs.stop
        while before >= 0 and not index.has_records(before):
            before -= 1
        while after < len(index.starts) and not index.has_records(after):
            after += 1
        for contig in (before, after):
            if index.has_records(contig) and contig >= 0:
                _check_record(index, self._file, int(index.starts[contig][0]), contig)

    def begin(self, piece: BamPiece, contig: int) -> None:
        """Check the first bytes, which must be a record of this contig. Raises InputError."""
        if not is_record(piece.data[: NAME + LONGEST_NAME].tobytes(), self._file.header.lengths, contig):
            raise other_file(self._index.path, self._file)

    def check(self, piece: BamPiece, places: ndarray, stops: ndarray, contigs: ndarray) -> None:
        """Raise InputError if an aligned record precedes the index's first record that reaches its end.

        places (int64): of records in the piece; stops (int64): ends of their alignments; contigs (int32).
        """
        rows, windows = contigs - self._contigs.start, (stops - 1) >> self._index.shift
        if (windows >= self._sizes[rows]).any():
            raise other_file(self._index.path, self._file)
        reached = np.maximum.accumulate(self._first[rows] + windows)
        new = np.flatnonzero(np.diff(reached, prepend=-1))
        if (self._starts[reached[new]] > piece.offset_of(places[new])).any():
            raise other_file(self._index.path, self._file)

    def end(self, piece: BamPiece, at: int) -> None:
        """Check the first unwanted record. Raises InputError if the index has it further on, or if it is no record."""
        _, contig, position, *_, flag, _, _, _ = FIXED.unpack_from(piece.data, at)
        offset, index = int(piece.offset_of(at)), self._index
        if contig < 0:
            expected = index.stop or 0
        elif not index.has_records(contig):
            raise other_file(index.path, self._file)
        else:
            starts = index.starts[contig]
            window = 0 if contig not in self._contigs or flag & UNMAPPED else position >> index.shift
            expected = int(starts[max(0, min(window, starts.size - 1))])
        if expected > offset:
            raise other_file(index.path, self._file)


class BamIndexer:
    """An indexer that takes the records of a file in order; threads examine them."""

    def __init__(self, header: str, threads: int) -> None:
        """Start an index. header: SAM header text."""
        lengths = [int(field(line, "LN") or 0) for line in lines_of(header, "SQ")]
        longest = max(lengths, default=0)
        self.ending = ".csi" if longest > CSI_LENGTH else ".bai"
        self._contigs, self._depth = len(lengths), depth_for(longest) if longest > CSI_LENGTH else DEPTH
        look = partial(bin_records, depth=self._depth)
        self._indexer = Indexer[Encoded, Binned](look, len(binary_header(header)), threads)

    def add(self, records: Encoded) -> None:
        self._indexer.add(records, records.data.size)

    def finish(self, virtual: Virtual) -> bytes:
        """Return the index."""
        whole = join_file(self._indexer.finish(), self._depth, virtual)
        return csi_of(whole, self._contigs, self._depth) if self.ending == ".csi" else bai_of(whole, self._contigs)

    def abort(self) -> None:
        self._indexer.abort()


def bin_records(records: Encoded, at: int, depth: int) -> Binned:
    """Bin sorted BAM records that begin at byte `at` of the file's data. Any thread may call this."""
    spans = empty(ItemSpans, {"items": len(records)}, offset=records.offsets + at)
    span_records(records, spans)
    return bin_items(spans, depth)


@kernel
def span_records(records, spans):
    """Write the span of each record to `spans`. One without an alignment or a CIGAR has one base, as in htslib."""
    data, offsets = records.data, records.offsets
    contig, begin, end, is_mapped = spans.contig, spans.begin, spans.end, spans.is_mapped
    for row in range(contig.size):
        at = offsets[row]
        contig[row], begin[row] = int32_at(data, at + CONTIG), int32_at(data, at + POSITION)
        is_mapped[row] = uint16_at(data, at + FLAG) & UNMAPPED == 0
        end[row] = max(begin[row] + 1, span_of(data, at)[0] if is_mapped[row] else 0)
