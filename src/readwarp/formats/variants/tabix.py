"""Where in a bgzipped VCF file the lines of a region begin, by its .tbi or .csi index."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np

from readwarp.device.jit import kernel
from readwarp.errors import InputError
from readwarp.formats.alignments.index import BAI_WINDOW, BamIndex, fill_in, parse_csi

NAMES_AT = 28  # bytes of numbers before the names, in TBI from byte 8, in CSI's extra part


def load_tabix_index(path: Path) -> tuple[BamIndex, tuple[str, ...]]:
    """The index beside a file, and the contigs that it counts. Raises InputError: there is none, or it is broken."""
    for ending in (".tbi", ".csi"):
        index = path.with_name(path.name + ending)
        if index.exists():
            try:
                return _parse(gzip.decompress(index.read_bytes()), index)
            except (struct.error, ValueError, EOFError, OSError, IndexError, zlib.error) as error:
                raise InputError(index, f"not a whole index ({error})") from error
    raise InputError(path, "has no index (make one with `tabix -p vcf` or `bcftools index -t`)")


def _parse(data: bytes, path: Path) -> tuple[BamIndex, tuple[str, ...]]:
    if data[:4] == b"TBI\x01":
        (contigs,) = struct.unpack_from("<i", data, 4)
        names, place = _names(data, 8)
        places, windows = np.zeros((2, contigs), np.int64)
        if find_linear(np.frombuffer(data, np.uint8), place, places, windows) < 0:
            raise ValueError("it ends too early")
        starts = [
            fill_in(np.frombuffer(data, "<u8", n, at)) for at, n in zip(places.tolist(), windows.tolist(), strict=True)
        ]
        return BamIndex(BAI_WINDOW, starts, path=path), names
    if data[:4] != b"CSI\x01":
        raise ValueError("neither TBI nor CSI")
    shift, depth, extra = struct.unpack_from("<iii", data, 4)
    names, _ = _names(data, 16) if extra >= NAMES_AT else ((), 0)
    return BamIndex(shift, parse_csi(data, 16 + extra, depth)[0], path=path), names


def _names(data: bytes, place: int) -> tuple[tuple[str, ...], int]:
    """The names whose numbers begin at `place`, and where they end."""
    (size,) = struct.unpack_from("<i", data, place + NAMES_AT - 4)
    stop = place + NAMES_AT + size
    return tuple(data[place + NAMES_AT : stop].decode().split("\0")[:-1]), stop


@kernel
def find_linear(data, place, places, windows):
    """Where the linear index of each contig begins and how many entries it has; -1 where the data end before."""
    for contig in range(places.size):
        if place + 4 > data.size:
            return -1
        bins = int32_at(data, place)
        place += 4
        for _ in range(bins):
            if place + 8 > data.size:
                return -1
            place += 8 + 16 * int32_at(data, place + 4)
        if place + 4 > data.size:
            return -1
        windows[contig], places[contig] = int32_at(data, place), place + 4
        place += 4 + 8 * windows[contig]
    return place if place <= data.size else -1


@kernel
def int32_at(data, place):
    value = 0
    for i in range(4):
        value |= int(data[place + i]) << (8 * i)
    return value
