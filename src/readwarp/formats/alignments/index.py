"""Where in a BAM file the reads of a region begin, from the parts of BAI and CSI indexes that tell."""

import gzip
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from readwarp.errors import InputError

CSI_LENGTH = 1 << 29  # contigs longer than this need a .csi index
BAI_WINDOW = 14  # bits: the linear index of BAI has one entry for 16 kb
BAI_COUNTS = 37450  # number of the bin that holds counts, and where the reads of a contig end


class BamIndex:
    """Virtual file offsets (compressed offset << 16 | offset in the block) by contig and position."""

    def __init__(self, shift: int, starts: Sequence[np.ndarray], stop: int | None = None, path: Path | None = None):
        """`starts`: of each contig, one per 2^shift bases; `stop`: after the last read that has a position."""
        self._shift, self._starts = shift, starts
        self.contigs, self.stop, self.path = len(starts), stop, path

    def start_of(self, contig: int, position: int) -> int | None:
        """Virtual offset at or before the first read that reaches `position` or lies after it; None: no such read."""
        starts = self._starts[contig] if contig < self.contigs else ()
        window = position >> self._shift
        return int(starts[window]) if window < len(starts) and starts[window] else None

    def has_reads(self, contig: int) -> bool:
        return contig < self.contigs and self._starts[contig].size > 0


def load_index(bam: Path) -> BamIndex:
    """The index beside a BAM file (.bam.bai, .bai, .bam.csi). Raises InputError if there is none or it is damaged."""
    for path in (bam.with_name(bam.name + ".bai"), bam.with_suffix(".bai"), bam.with_name(bam.name + ".csi")):
        if path.exists():
            try:
                return _parse(path)
            except (struct.error, ValueError, EOFError, OSError, IndexError, zlib.error) as error:
                raise InputError(path, f"not a whole BAM index ({error})") from error
    raise InputError(bam, "has no index (make one with `samtools index`)")


def contigs_of_cram(cram: Path) -> set[int]:
    """Numbers of the contigs on which a CRAM file has reads, by the .crai index beside it. Raises InputError."""
    for path in (cram.with_name(cram.name + ".crai"), cram.with_suffix(".crai")):
        if path.exists():
            try:
                data = path.read_bytes()
                text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
                return {int(line.split(b"\t")[0]) for line in text.splitlines() if line} - {-1}
            except (ValueError, EOFError, OSError, zlib.error) as error:
                raise InputError(path, f"not a whole CRAM index ({error})") from error
    raise InputError(cram, "has no index (make one with `samtools index`)")


def _parse(path: Path) -> BamIndex:
    data = path.read_bytes()
    if data[:4] == b"BAI\x01":
        return BamIndex(BAI_WINDOW, *_parse_bai(data), path)
    data = gzip.decompress(data)
    if data[:4] != b"CSI\x01":
        raise ValueError("neither BAI nor CSI")
    shift, depth, extra = struct.unpack_from("<iii", data, 4)
    return BamIndex(shift, *parse_csi(data, 16 + extra, depth), path)


def _parse_bai(data: bytes) -> tuple[list[np.ndarray], int | None]:
    (contigs,), place = struct.unpack_from("<i", data, 4), 8
    starts, stops = [], list[int]()
    for _ in range(contigs):
        (bins,) = struct.unpack_from("<i", data, place)
        place += 4
        for _ in range(bins):
            number, chunks = struct.unpack_from("<Ii", data, place)
            if number == BAI_COUNTS:
                stops.append(struct.unpack_from("<Q", data, place + 16)[0])
            place += 8 + 16 * chunks
        (windows,) = struct.unpack_from("<i", data, place)
        linear = np.frombuffer(data, "<u8", windows, place + 4)
        place += 4 + 8 * windows
        starts.append(fill_in(linear))
    return starts, max(stops, default=None)


def parse_csi(data: bytes, place: int, depth: int) -> tuple[list[np.ndarray], int | None]:
    """CSI has no linear index: each bin holds the offset of the first read that reaches it."""
    after_last_bin = ((1 << 3 * (depth + 1)) - 1) // 7
    (contigs,), place = struct.unpack_from("<i", data, place), place + 4
    starts, stops = [], list[int]()
    for _ in range(contigs):
        (bins,) = struct.unpack_from("<i", data, place)
        place, offsets = place + 4, dict[int, int]()
        for _ in range(bins):
            number, offset, chunks = struct.unpack_from("<IQi", data, place)
            if number < after_last_bin:
                offsets[number] = offset
            else:  # the one after them holds counts
                stops.append(struct.unpack_from("<Q", data, place + 24)[0])
            place += 16 + 16 * chunks
        starts.append(fill_in(_leaves(offsets, depth)))
    return starts, max(stops, default=None)


def _leaves(offsets: dict[int, int], depth: int) -> np.ndarray:
    """An entry for each smallest window up to the last bin; a bin has that of its first window."""
    starts = np.zeros(1 << 3 * depth, np.uint64)
    windows = 0
    for number, offset in offsets.items():
        level, level_start = 0, 0
        while number >= level_start + (1 << 3 * level):
            level, level_start = level + 1, level_start + (1 << 3 * level)
        first = (number - level_start) << 3 * (depth - level)
        starts[first] = max(offset, int(starts[first]))
        windows = max(windows, first + (1 << 3 * (depth - level)))
    return starts[:windows]


def fill_in(starts: np.ndarray) -> np.ndarray:
    """A window without an entry takes the one before it, and the first windows take the first entry: never too late."""
    used = starts[starts > 0]
    return np.maximum.accumulate(np.maximum(starts, used[0])) if used.size else starts[:0]
