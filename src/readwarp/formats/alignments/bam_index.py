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

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.errors import InputError
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.bam_file import BamFile, BamPiece, NoBlockError, next_bytes
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.header import binary_header, field, lines_of
from readwarp.formats.common.binning import Binned, ItemSpans, bin_items, depth_for
from readwarp.formats.common.compressed import GZIP_MAGIC
from readwarp.formats.common.index import CSI_LENGTH, DEPTH, BgzfIndex, OtherFileError, parse_parts
from readwarp.formats.common.indexer import Indexer, Virtual, bai_of, csi_of, join_file
from readwarp.ragged import empty
from readwarp.rules.flags import UNMAPPED

FIXED = struct.Struct("<iiiBBHHHiii")  # fields of a record up to its mate's position
FAR = (1 << 63) - 1  # begin of a contig without records


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
        shift, starts, _, *chunks = parse_parts(data, file.header.lengths)
        contig, begin, end = np.concatenate(chunks, axis=1)
        begins, ends = np.full(len(starts), FAR), np.zeros(len(starts), np.int64)
        np.minimum.at(begins, contig, begin)
        np.maximum.at(ends, contig, end)
        starts = [_fill(own, first) for own, first in zip(starts, begins.tolist(), strict=True)]
    except OtherFileError as error:
        raise other_file(path, file) from error
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror or error})") from error
    except (struct.error, ValueError, EOFError, zlib.error) as error:
        raise InputError(path, f"damaged index ({error}): make it again (`samtools index {bam}`)") from error
    index = BgzfIndex(shift, starts, int(ends.max(initial=0)) or None, (), path)
    _check_extents(index, begins, ends, file)
    return index


def _fill(starts: ndarray, begin: int) -> ndarray:
    """Fill in offsets by window, never too late: windows without one take the previous, the first ones the contig's.

    Some programs omit unaligned reads from the windows, so the first one begins with the contig.
    """
    used = np.flatnonzero(starts)
    if (np.diff(starts[used]) < 0).any():
        raise ValueError("its offsets are out of order")
    if begin == FAR:
        if used.size:
            raise ValueError("a contig has windows but no bins")
        return starts[:0]
    if used.size and starts[used[0]] < begin:
        raise ValueError("its offsets are out of order")
    filled = np.maximum.accumulate(starts) if starts.size else np.zeros(1, np.int64)
    filled[: used[0] + 1 if used.size else filled.size] = begin
    return filled


def _check_extents(index: BgzfIndex, begins: ndarray, ends: ndarray, file: BamFile) -> None:
    """Raise InputError unless the records of each contig begin where the previous contig's end."""
    before = file.first
    for contig in np.flatnonzero(begins < FAR).tolist():
        begin = int(begins[contig])
        if begin < before:
            raise other_file(index.path, file)
        if begin > before:
            _check_record(index, file, before, contig)
        before = int(ends[contig])
    _check_record(index, file, before, -1)


def _check_record(index: BgzfIndex, file: BamFile, offset: int, contig: int) -> None:
    """Raise InputError unless a record of this contig begins at the offset; for -1, also accept the end of the file."""
    try:
        data = next_bytes(file.pieces(offset), layout.NAME - 1)
    except NoBlockError as error:
        raise other_file(index.path, file) from error
    is_end = not data and contig < 0 and offset >> 16 <= file.size
    if not is_end and (len(data) < layout.NAME or not is_record(data, file.header.lengths, contig)):
        raise other_file(index.path, file)


def is_record(data: bytes, lengths: list[int], contig: int) -> bool:
    """Return whether the bytes may begin with a record of this contig, or without a contig for -1."""
    if len(data) < layout.NAME:
        return True
    size, own, position, name, _, _, runs, _, bases, mate, mate_position = FIXED.unpack_from(data)
    length = lengths[contig] if contig >= 0 else 0
    is_sound = own == contig and (contig < 0 or -1 <= position < length) and -1 <= mate < len(lengths)
    is_sound &= mate_position >= -1 and name > 0 and bases >= 0 and size <= layout.MAX_RECORD
    is_sound &= layout.NAME + name + 4 * runs + (bases + 1) // 2 + bases <= size + 4
    letters = data[layout.NAME : layout.NAME + name]
    return bool(is_sound and (len(letters) < name or letters.find(0) == name - 1))


def other_file(index: Path | None, file: BamFile) -> InputError:
    remedy = f"make it again (`samtools index {file.path}`)"
    return InputError(index, f"does not belong to {file.path}, or is outdated or damaged: {remedy}")


class Watch:
    """A check of the index against the records of some contigs as they are read in order."""

    def __init__(self, index: BgzfIndex, file: BamFile, contigs: range):
        self._index, self._file = index, file
        self._contigs = contigs
        rows = [index.starts[contig] if contig < len(index.starts) else np.zeros(0, np.int64) for contig in contigs]
        self._sizes = np.array([row.size for row in rows])
        self._first = np.cumsum(self._sizes) - self._sizes
        self._starts = np.concatenate(rows)

    def absent(self) -> None:
        """Check what the index, without records of these contigs, has beside them. Raises InputError."""
        index = self._index
        before, after = self._contigs.start - 1, self._contigs.stop
        while before >= 0 and not index.has_records(before):
            before -= 1
        while after < len(index.starts) and not index.has_records(after):
            after += 1
        for contig in (before, after):
            if index.has_records(contig) and contig >= 0:
                _check_record(index, self._file, int(index.starts[contig][0]), contig)

    def begin(self, piece: BamPiece, contig: int) -> None:
        """Check the first bytes, which must be a record of this contig. Raises InputError."""
        if not is_record(piece.data[: layout.NAME + layout.LONGEST_NAME].tobytes(), self._file.header.lengths, contig):
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
    data, offsets = records
    for row in range(spans.contig.size):
        at = offsets[row]
        begin = layout.int32_at(data, at + layout.POSITION)
        is_mapped = layout.uint16_at(data, at + layout.FLAG) & UNMAPPED == 0
        spans.contig[row], spans.begin[row] = layout.int32_at(data, at + layout.CONTIG), begin
        spans.is_mapped[row] = is_mapped
        spans.end[row] = max(begin + 1, layout.span_of(data, at)[0] if is_mapped else 0)
