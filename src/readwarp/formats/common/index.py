"""Offsets at which the records of a region begin in a file, from the relevant parts of BAI, TBI, CSI and CRAI indexes.

An index may be damaged, older than its file, or another file's, and wrong in every value. `check_chunks` checks that
its chunks are all of the file's records; `BgzfIndex` relies on as little of the rest as it can.
"""

import gzip
import re
import struct
import zlib
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple, TypeVar

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel
from readwarp.errors import InputError
from readwarp.formats.common.bgzf import EOF_BLOCK, block_at
from readwarp.formats.common.compressed import GZIP_MAGIC

T = TypeVar("T")
CSI_LENGTH = 1 << 29  # contigs longer than this need a .csi index
LINEAR_WINDOW, DEPTH = 14, 5  # of BAI and TBI: bits of a smallest window (16 kb), levels of windows above it
NAMES_SIZE = 28  # bytes of numbers before the contig names, in TBI from byte 8, in CSI's extra part
BIN, CSI_BIN = 2, 4  # words of a bin before its chunks: its number, in CSI an offset, the number of chunks
CRAI_LINE = re.compile(rb"-?[0-9]{1,10}(\t-?[0-9]{1,15}){5}")
MAX_WINDOWS = 1 << 24  # per contig


class IndexChunks(NamedTuple):
    """Places of the records of each bin, in order of contigs and bins."""

    contig: Annotated[ndarray, "int64 [chunks]"]
    begin: Annotated[ndarray, "int64 [chunks]"]  # virtual offsets
    end: Annotated[ndarray, "int64 [chunks]"]


@dataclass(frozen=True, slots=True)
class BgzfIndex:
    """Virtual file offsets (compressed offset << 16 | offset in the block) by contig and position."""

    shift: int
    starts: Sequence[np.ndarray]  # for each contig, one per 2^shift bases
    stop: int | None = None  # after the last record with a position
    names: tuple[str, ...] = ()  # of the contigs, if the index has them
    path: Path | None = None
    chunks: IndexChunks | None = None

    def start_of(self, contig: int, position: int) -> int | None:
        """Return the virtual offset at or before the first record that reaches `position` or begins after it; None: no
        such record.

        Beyond the last window it is that window's: the index may have been cut off.
        """
        starts = self.starts[contig] if 0 <= contig < len(self.starts) else np.empty(0, np.uint64)
        return int(starts[min(position >> self.shift, starts.size - 1)]) if starts.size else None

    def before(self, contig: int, offset: int) -> int | None:
        """Return the last of the contig's offsets below this one, or None."""
        row = int(np.searchsorted(self.starts[contig], offset)) - 1
        return int(self.starts[contig][row]) if row >= 0 else None

    def only(self, names: Container[str]) -> "BgzfIndex":
        """Drop the contigs of other names, and chunks: the index of a genome takes memory."""
        starts = [own if name in names else own[:0] for name, own in zip(self.names, self.starts, strict=True)]
        return replace(self, starts=[own.copy() for own in starts], chunks=None)

    def has_records(self, contig: int) -> bool:
        return contig < len(self.starts) and self.starts[contig].size > 0


def load_vcf_index(vcf: Path, is_bcf: bool = False) -> BgzfIndex:
    """Load the index beside a VCF.gz or BCF file. Raises InputError if it is missing or damaged.

    The index of VCF.gz has the names of its contigs, that of BCF their numbers in the header.
    """
    paths = vcf.with_name(vcf.name + ".tbi"), vcf.with_name(vcf.name + ".csi")
    if vcf.suffix == ".vcf" and not is_bcf:
        raise InputError(vcf, "has no index, since it is not compressed (use `bgzip`, then `tabix -p vcf`)")
    if is_bcf:
        return _load(vcf, paths[1:], _parse, "`bcftools index`")
    return _load(vcf, paths, _parse, "`tabix -p vcf` or `bcftools index -t`")


def load_whole_index(vcf: Path, header_size: int, is_bcf: bool) -> tuple[BgzfIndex, int]:
    """Load the index beside a VCF.gz or BCF file, and find the virtual offset of the first record.

    header_size: bytes before it. Raises InputError unless the index covers all the file's records.
    """
    index = load_vcf_index(vcf, is_bcf)
    with vcf.open("rb") as file:
        first = place_after(file, header_size)
        check_chunks(index, file, first, file.seek(0, 2) - len(EOF_BLOCK) << 16)
    return index, first


def load_crai(cram: Path) -> tuple[Path, list[tuple[int, ...]]]:
    """Load the index beside a CRAM file: its path, and the numbers of its lines. Raises InputError."""
    paths = cram.with_name(cram.name + ".crai"), cram.with_suffix(".crai")
    return _load(cram, paths, _parse_crai, "`samtools index`")


def _parse_crai(data: bytes, path: Path) -> tuple[Path, list[tuple[int, ...]]]:
    lines = data.splitlines()
    if not all(map(CRAI_LINE.fullmatch, lines)):
        raise ValueError("its lines are not of numbers")
    return path, [tuple(map(int, line.split(b"\t"))) for line in lines]


def _load(path: Path, indexes: Sequence[Path], parse: Callable[[bytes, Path], T], maker: str) -> T:
    for index in indexes:
        if index.exists():
            try:
                data = index.read_bytes()
                return parse(gzip.decompress(data) if data[:2] == GZIP_MAGIC else data, index)
            except (struct.error, ValueError, EOFError, OSError, IndexError, zlib.error) as error:
                reason = str(error) if type(error) is ValueError else "damaged"
                raise InputError(index, f"not a whole index ({reason}): make it again with {maker}") from error
    raise InputError(path, f"has no index (make one with {maker})")


class OtherFileError(ValueError):
    """An index that cannot belong to its file."""


class IndexParts(NamedTuple):
    """The parts of an index, as they are in its file."""

    shift: int
    starts: list[ndarray]  # int64: for each contig, one per 2^shift bases, 0 if there is none
    names: tuple[str, ...]
    chunks: IndexChunks
    extents: IndexChunks  # from the first to the last record of each contig, if the index counts them


def _parse(data: bytes, path: Path) -> BgzfIndex:
    shift, starts, names, chunks, extents = parse_parts(data)
    firsts = np.searchsorted(chunks.contig, np.arange(len(starts) + 1)).tolist()
    begins = (chunks.begin[first:last].min(initial=1 << 62) for first, last in pairwise(firsts))
    starts = [fill_in(own, int(begin)) for own, begin in zip(starts, begins, strict=True)]
    stop = int(extents.end.max()) if extents.end.size else None
    return BgzfIndex(shift, starts, stop, names, path, chunks)


def parse_parts(data: bytes, lengths: Sequence[int] = ()) -> IndexParts:
    """Parse an index. lengths: of the file's contigs, if they are known.

    Raises ValueError, OtherFileError and struct.error.
    """
    (shift, depth, names, place), is_csi = _parse_head(data), data[:1] == b"C"
    (contigs,) = struct.unpack_from("<i", data, place - 4 if is_csi else 4)
    words = np.frombuffer(data[place : len(data) - (len(data) - place) % 4], "<u4")
    if not 0 <= contigs <= words.size or (names and len(names) < contigs):
        raise ValueError("its number of contigs is wrong")
    if lengths and contigs > len(lengths):
        raise OtherFileError("it has more contigs")
    if lengths and is_csi and max(lengths) > 1 << (shift + 3 * depth):
        raise ValueError("its bins do not cover the contigs")
    bins, owners = np.empty((2, words.size // BIN), np.int64)
    places, windows = np.zeros((2, contigs), np.int64)
    number, stop = find_bins(words, CSI_BIN if is_csi else BIN, bins, owners, places, windows)
    if len(data) - place - 4 * stop not in (0, 8):  # perhaps with the number of reads without a place
        raise ValueError("its parts do not fit")
    bins, owners = bins[:number], owners[:number]
    chunks, extents = _chunks_of(words, bins, owners, CSI_BIN if is_csi else BIN, depth)
    if is_csi:
        sizes = [(length >> shift) + 1 for length in lengths[:contigs]] if lengths else [0] * contigs
        starts = _starts_by_window(words, bins, owners, depth, sizes)
    else:
        linear, bounds = _wide(words, rows_at(places, windows, 2)), np.append(0, np.cumsum(windows)).tolist()
        starts = [linear[first:last] for first, last in pairwise(bounds)]
    return IndexParts(shift, starts, names[:contigs], chunks, extents)


def _parse_head(data: bytes) -> tuple[int, int, tuple[str, ...], int]:
    """Return bits of a smallest window, levels above it, the contigs' names if it has them, and where bins begin."""
    if data[:4] not in (b"BAI\x01", b"TBI\x01", b"CSI\x01"):
        raise ValueError("neither BAI, TBI nor CSI")
    if data[:1] != b"C":
        return LINEAR_WINDOW, DEPTH, *(_parse_names(data, 8) if data[:1] == b"T" else ((), 8))
    shift, depth, extra = struct.unpack_from("<iii", data, 4)
    if not (0 < shift < 32 and 0 <= depth < 10 and 0 <= extra <= len(data) - 20):
        raise ValueError("its windows are impossible")
    return shift, depth, _parse_names(data, 16)[0] if extra >= NAMES_SIZE else (), 20 + extra


def _parse_names(data: bytes, place: int) -> tuple[tuple[str, ...], int]:
    """Parse the names whose numbers begin at `place`; return them and where they end."""
    (size,) = struct.unpack_from("<i", data, place + NAMES_SIZE - 4)
    stop = place + NAMES_SIZE + size
    names = data[place + NAMES_SIZE : stop]
    if not 0 <= size == len(names) or (size and not names.endswith(b"\0")):
        raise ValueError("the names of its contigs are cut off")
    return tuple(names.decode().split("\0")[:-1]), stop


@kernel
def find_bins(words, head, bins, owners, places, windows):
    """Find where the bins begin in the words (uint32), with their contigs, and where linear indexes begin, with sizes.

    head: BIN, or CSI_BIN without a linear index. Returns the number of bins and where they end; (0, words.size + 1) if
    the words end too early.
    """
    at = number = np.int64(0)
    for contig in range(places.size):
        left = np.int64(words[at]) if at < words.size else words.size
        at += 1
        while left > 0:
            if at + head > words.size:
                return 0, words.size + 1
            bins[number], owners[number] = at, contig
            at += head + 4 * np.int64(words[at + head - 1])
            number, left = number + 1, left - 1
        if head == BIN:
            if at >= words.size:
                return 0, words.size + 1
            places[contig], windows[contig] = at + 1, words[at]
            at += 1 + 2 * windows[contig]
    return number, at


def _chunks_of(
    words: ndarray, bins: ndarray, owners: ndarray, head: int, depth: int
) -> tuple[IndexChunks, IndexChunks]:
    """Return the chunks, and the extent of each contig by its bin of counts, if it has one."""
    numbers, sizes = words[bins].astype(np.int64), words[bins + head - 1].astype(np.int64)
    after_last = int(first_bins(depth)[-1])
    is_real, is_count = numbers < after_last, numbers == after_last + 1
    if not (is_real | is_count).all() or (sizes[is_count] != 2).any():
        raise ValueError("its parts do not fit")
    sizes[is_count] = 1  # an extent, then two counts
    at, is_real = rows_at(bins + head, sizes, 4), np.repeat(is_real, sizes)
    chunks = IndexChunks(np.repeat(owners, sizes), _wide(words, at), _wide(words, at + 2))
    if (chunks.begin <= 0).any() or (chunks.begin > chunks.end).any():
        raise ValueError("a chunk ends before it begins")
    return IndexChunks(*(own[is_real] for own in chunks)), IndexChunks(*(own[~is_real] for own in chunks))


def rows_at(places: ndarray, sizes: ndarray, step: int) -> ndarray:
    """Return the places of values in rows that begin at these places, `step` apart."""
    before = np.cumsum(sizes) - sizes
    at: ndarray = np.repeat(places - step * before, sizes) + step * np.arange(sizes.sum())
    return at


def _wide(words: ndarray, at: ndarray) -> ndarray:
    """Join pairs of words to virtual offsets (int64, never negative)."""
    found: ndarray = words[at].astype(np.int64) | words[at + 1].astype(np.int64) << 32
    if found.size and int(found.min()) < 0:
        raise ValueError("it has impossible offsets")
    return found


def first_bins(depth: int) -> ndarray:
    """Return the number of the first bin of each level, and the one after the last."""
    firsts: ndarray = ((1 << 3 * np.arange(depth + 2)) - 1) // 7
    return firsts


def first_windows(numbers: ndarray, depth: int) -> ndarray:
    """Return the first of the smallest windows that each bin covers."""
    firsts = first_bins(depth)
    level = np.searchsorted(firsts, numbers, side="right") - 1
    windows: ndarray = (numbers - firsts[level]) << 3 * (depth - level)
    return windows


def _starts_by_window(words: ndarray, bins: ndarray, owners: ndarray, depth: int, sizes: list[int]) -> list[ndarray]:
    """Return offsets by window from CSI's bins: a bin has that of the first record to reach its first window.

    sizes: windows of each contig; 0: as many as its bins have.
    """
    numbers = words[bins].astype(np.int64)
    is_real = numbers < first_bins(depth)[-1]
    numbers, owners, offsets = numbers[is_real], owners[is_real], _wide(words, bins[is_real] + 1)
    window = first_windows(numbers, depth)
    bounds, out = np.searchsorted(owners, np.arange(len(sizes) + 1)).tolist(), list[ndarray]()
    for size, (first, last) in zip(sizes, pairwise(bounds), strict=True):
        used = int(window[first:last].max(initial=-1)) + 1
        if max(size, used) > MAX_WINDOWS or used > (size or used):
            raise ValueError("its windows are impossible")
        own = np.zeros(size or used, np.int64)
        np.maximum.at(own, window[first:last], offsets[first:last])
        out.append(own)
    return out


def fill_in(starts: ndarray, begin: int = 0) -> ndarray:
    """Fill in windows without an entry from the one before, and the first windows from the contig's start, if known.

    Offsets are never too late. Raises ValueError if entries do not ascend.
    """
    used = starts[starts > 0]
    if not used.size:
        return np.array([begin], starts.dtype) if 0 < begin < 1 << 62 else starts[:0]
    if (used[1:] < used[:-1]).any():
        raise ValueError("its offsets are out of order")
    return np.maximum.accumulate(np.maximum(starts, min(begin, int(used[0])) if begin else used[0]))


def check_chunks(index: BgzfIndex, file: BinaryIO, first: int, last: int) -> None:
    """Raise InputError unless the chunks are the file's records from virtual offset `first` to `last`, without gaps."""
    assert index.chunks is not None
    contig, begin, end = index.chunks
    order = np.argsort(begin, kind="stable")
    reached = np.maximum.accumulate(np.append(first, end[order]))
    follows = np.append(begin[order], last)
    gaps = np.flatnonzero(follows > reached)
    is_odd = bool((begin >= end).any() or (np.diff(contig[order]) < 0).any()) or int(reached[-1]) > last
    is_early = int(follows[0]) < first and not _are_one(file, int(follows[0]), first)
    if is_odd or is_early or any(not _are_one(file, int(reached[i]), int(follows[i])) for i in gaps.tolist()):
        raise InputError(index.path, explain_other(file.name))


def explain_other(file: object) -> str:
    """Explain an index that does not match the records of its file."""
    return f"damaged, older than {file}, or not its index: make it again"


def _are_one(file: BinaryIO, end: int, begin: int) -> bool:
    """Return whether no data lies between two virtual offsets, the end of a block and the start of another."""
    while end != begin:
        size, data = block_at(file, end >> 16)
        if not size or data != end & 0xFFFF:
            return False
        end = (end >> 16) + size << 16
    return True


def place_after(file: BinaryIO, size: int) -> int:
    """Return the virtual offset after `size` bytes of a BGZF file's data, at a block's start rather than an end."""
    place = 0
    while size:
        length, data = block_at(file, place)
        if not length or size < data:
            break
        place, size = place + length, size - data
    return place << 16 | size
