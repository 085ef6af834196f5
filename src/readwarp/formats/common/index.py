"""Where in a file the records of a region begin, from the parts of BAI, TBI, CSI and CRAI indexes that tell."""

import gzip
import struct
import zlib
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from readwarp.device.jit import kernel
from readwarp.errors import InputError
from readwarp.formats.common.compressed import GZIP_MAGIC

T = TypeVar("T")
CSI_LENGTH = 1 << 29  # contigs longer than this need a .csi index
LINEAR_WINDOW = 14  # bits: the linear index of BAI and TBI has an entry for 16 kb
COUNTS_BIN = 37450  # the bin of BAI and TBI that holds counts, and where the records of a contig end
NAMES_SIZE = 28  # bytes of numbers before the names of contigs, in TBI from byte 8, in CSI's extra part


@dataclass(frozen=True, slots=True)
class BgzfIndex:
    """Virtual file offsets (compressed offset << 16 | offset in the block) by contig and position."""

    shift: int
    starts: Sequence[np.ndarray]  # of each contig, one per 2^shift bases
    stop: int | None = None  # after the last record that has a position
    names: tuple[str, ...] = ()  # of the contigs, where the index tells
    path: Path | None = None

    def start_of(self, contig: int, position: int) -> int | None:
        """Virtual offset at or before the first record that reaches `position` or begins after it, if there is any."""
        starts = self.starts[contig] if 0 <= contig < len(self.starts) else ()
        window = position >> self.shift
        return int(starts[window]) if window < len(starts) and starts[window] else None

    def only(self, names: Container[str]) -> "BgzfIndex":
        """Without the contigs of other names: the index of a genome takes memory."""
        if len(self.names) != len(self.starts):
            return self
        starts = [own if name in names else own[:0] for name, own in zip(self.names, self.starts, strict=True)]
        return replace(self, starts=[own.copy() for own in starts])

    def has_records(self, contig: int) -> bool:
        return contig < len(self.starts) and self.starts[contig].size > 0


def load_vcf_index(vcf: Path) -> BgzfIndex:
    """The index beside a VCF.gz file, with the names of its contigs. Raises InputError as `load_bam_index`."""
    paths = vcf.with_name(vcf.name + ".tbi"), vcf.with_name(vcf.name + ".csi")
    if vcf.suffix == ".vcf":
        raise InputError(vcf, "has no index, since it is not compressed (use `bgzip`, then `tabix -p vcf`)")
    return _load(vcf, paths, _parse, "`tabix -p vcf` or `bcftools index -t`")


def contigs_of_cram(cram: Path) -> set[int]:
    """Numbers of the contigs on which a CRAM file has reads, by the index beside it. Raises InputError."""
    paths = cram.with_name(cram.name + ".crai"), cram.with_suffix(".crai")
    return _load(cram, paths, _parse_crai, "`samtools index`")


def _parse_crai(data: bytes, _: Path) -> set[int]:
    return {int(line.split(b"\t")[0]) for line in data.splitlines() if line} - {-1}


def _load(path: Path, indexes: Sequence[Path], parse: Callable[[bytes, Path], T], maker: str) -> T:
    for index in indexes:
        if index.exists():
            try:
                data = index.read_bytes()
                return parse(gzip.decompress(data) if data[:2] == GZIP_MAGIC else data, index)
            except (struct.error, ValueError, EOFError, OSError, IndexError, zlib.error) as error:
                raise InputError(index, f"not a whole index ({error})") from error
    raise InputError(path, f"has no index (make one with {maker})")


def _parse(data: bytes, path: Path) -> BgzfIndex:
    if data[:4] == b"CSI\x01":
        shift, depth, extra = struct.unpack_from("<iii", data, 4)
        names, _ = _parse_names(data, 16) if extra >= NAMES_SIZE else ((), 0)
        return BgzfIndex(shift, *_parse_csi(data, 16 + extra, depth), names, path)
    if data[:4] not in (b"BAI\x01", b"TBI\x01"):
        raise ValueError("neither BAI, TBI nor CSI")
    (contigs,) = struct.unpack_from("<i", data, 4)
    names, place = _parse_names(data, 8) if data[:1] == b"T" else ((), 8)
    words = np.frombuffer(data[place : len(data) - (len(data) - place) % 4], "<u4")
    places, windows = np.zeros((2, contigs), np.int64)
    stop = find_linear(words, places, windows)
    if stop < 0:
        raise ValueError("it ends too early")
    spans = zip(places.tolist(), (places + 2 * windows).tolist(), strict=True)
    return BgzfIndex(LINEAR_WINDOW, [fill_in(words[a:b].view("<u8")) for a, b in spans], stop or None, names, path)


def _parse_names(data: bytes, place: int) -> tuple[tuple[str, ...], int]:
    """The names whose numbers begin at `place`, and where they end."""
    (size,) = struct.unpack_from("<i", data, place + NAMES_SIZE - 4)
    stop = place + NAMES_SIZE + size
    return tuple(data[place + NAMES_SIZE : stop].decode().split("\0")[:-1]), stop


@kernel
def find_linear(words, places, windows):
    """Where in the words (uint32) the linear index of each contig begins, and its number of entries.

    -> virtual offset after the last record, 0 if the index does not tell; -1 if the words end too early
    """
    at = stop = np.int64(0)
    for contig in range(places.size):
        if at >= words.size:
            return -1
        bins, at = np.int64(words[at]), at + 1
        for _ in range(bins):
            if at + 2 > words.size:
                return -1
            chunks = np.int64(words[at + 1])
            if words[at] == COUNTS_BIN and at + 6 <= words.size:
                stop = max(stop, np.int64(words[at + 5]) << 32 | np.int64(words[at + 4]))
            at += 2 + 4 * chunks
        if at >= words.size:
            return -1
        places[contig], windows[contig] = at + 1, words[at]
        at += 1 + 2 * windows[contig]
    return stop if at <= words.size else -1


def _parse_csi(data: bytes, place: int, depth: int) -> tuple[list[np.ndarray], int | None]:
    """CSI has no linear index, but each bin holds the offset of the first record that reaches it."""
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
            else:  # the bin of counts
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
