"""BAI, TBI and CSI taken apart, by the SAM and CSI specifications."""

import gzip
import struct
from pathlib import Path
from typing import NamedTuple


class Contig(NamedTuple):
    bins: dict[int, tuple[tuple[int, int], ...]]  # chunks; those of the bin of counts too
    offsets: tuple[tuple[int, int], ...]  # of CSI, by bin
    windows: tuple[int, ...]  # of BAI and TBI


class BinningIndex(NamedTuple):
    head: bytes  # all before the first contig
    contigs: list[Contig]
    unplaced: int


def read_index(path: Path) -> BinningIndex:
    """Raises AssertionError unless the file is of the format's form to its last byte."""
    data = path.read_bytes()
    data = data if data[:4] == b"BAI\x01" else gzip.decompress(data)
    is_csi = data[:4] == b"CSI\x01"
    at = {
        b"BAI\x01": lambda: 8,
        b"TBI\x01": lambda: 36 + number_at(data, 32),
        b"CSI\x01": lambda: 20 + number_at(data, 12),
    }
    start = at[data[:4]]()
    contigs, place = [], start
    for _ in range(number_at(data, start - 4 if is_csi else 4)):
        contig, place = read_contig(data, place, is_csi)
        contigs.append(contig)
    assert len(data) == place + 8
    return BinningIndex(data[:start], contigs, struct.unpack_from("<Q", data, place)[0])


def number_at(data: bytes, at: int) -> int:
    return struct.unpack_from("<i", data, at)[0]


def read_contig(data: bytes, at: int, is_csi: bool) -> tuple[Contig, int]:
    bins, offsets, windows = {}, [], ()
    number, at = number_at(data, at), at + 4
    for _ in range(number):
        (own,), at = struct.unpack_from("<I", data, at), at + 4
        if is_csi:
            offsets.append((own, *struct.unpack_from("<Q", data, at)))
            at += 8
        chunks, at = number_at(data, at), at + 4
        words = struct.unpack_from(f"<{2 * chunks}Q", data, at)
        assert own not in bins
        bins[own], at = tuple(zip(words[::2], words[1::2], strict=True)), at + 16 * chunks
    if not is_csi:
        number, at = number_at(data, at), at + 4
        windows, at = struct.unpack_from(f"<{number}Q", data, at), at + 8 * number
    return Contig(bins, tuple(sorted(offsets)), windows), at
