"""The index as one memory-mapped file.

    bytes 0-7      magic "readwarp"
    8-11           version of the layout, uint32 (all numbers little-endian): 3, or 4 if some arrays are wide;
                   1 and 2 had N for R, Y and other letters
    12-15          length of the description, uint32
    16-47          SHA-256 of the description
    48-            description, JSON: parameters, contigs (name, length, MD5), source, arrays, CRC-32 of data blocks;
                   in version 4, which arrays are wide: of uint64 instead of uint32
    then           packed, bucket_starts, tags, positions, each from a multiple of 4096

Opening the file checks its description and length. Before an array is used, all of its blocks of 1 MiB are checked, in
threads: their checksums, and that their values are valid indices, since kernels have no bounds checks. That is 10 GB a
second of one core: 0.7 s for a human genome, divided among all cores.
"""

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from isal import isal_zlib
from numpy import ndarray

from readwarp.errors import InputError

MAGIC = b"readwarp"
VERSION, WIDE_VERSION = 3, 4
PREFIX = struct.Struct("<8sII32s")
ALIGNMENT = 4096
BLOCK = 1 << 20
HUGE_PAGE = 1 << 21  # bytes, of x86-64 and most ARM systems
ALONE = 64  # blocks that one thread checks faster than several
NARROW = 1 << 32  # smaller numbers fit 32 bits
MAX_BASES = (1 << 37) - 1  # of a reference; the bucket of a k-mer then has 32 bits
MAX_CONTIG = (1 << 31) - 1  # bases, the limit of SAM and BAM
MAX_K = 31  # bases of a seed
MIN_BUCKETS = 1 << 8
DTYPES: dict[str, type] = {
    "packed": np.uint8,
    "bucket_starts": np.uint32,
    "tags": np.uint16,
    "positions": np.uint32,
}  # in this order
WIDENED = {"bucket_starts", "positions"}


def dtypes_of(bases: int, entries: int) -> dict[str, type]:
    """Return array dtypes for this many bases and entries: DTYPES, with uint64 where these are too narrow."""
    return DTYPES | dict.fromkeys(_too_narrow(bases, entries), np.uint64)


def _too_narrow(bases: int, entries: int) -> set[str]:
    return {name for name, most in (("bucket_starts", entries), ("positions", bases)) if most >= NARROW}


def describe_source(path: str | Path) -> dict[str, int]:
    """Return size and time of a source file, to detect changes cheaply."""
    state = Path(path).stat()
    return {"size": state.st_size, "mtime_ns": state.st_mtime_ns}


class IndexFile:
    """A mapped index file with a checked description."""

    def __init__(self, path: Path):
        self.path = path
        try:
            with path.open("rb") as file:
                self._mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file
            raise InputError(path, f"cannot be read as an index ({error})") from error
        self.data = np.frombuffer(self._mapping, np.uint8)
        self.description = self._read_description()
        self.dtypes = described_dtypes(self.description)
        self.digest = self.data[16:48].tobytes().hex()  # of the description, which has the checksums of all blocks

    def _read_description(self) -> dict[str, Any]:
        if self.data[:8].tobytes() != MAGIC or self.data.size < PREFIX.size:
            raise InputError(self.path, "is not a readwarp index")
        _, version, length, digest = PREFIX.unpack(self.data[: PREFIX.size].tobytes())
        if version not in (VERSION, WIDE_VERSION):
            known = f"{VERSION} and {WIDE_VERSION}"
            raise InputError(self.path, f"is of version {version}, but this readwarp reads {known}; build it again")
        text = self.data[PREFIX.size : PREFIX.size + length].tobytes()
        if hashlib.sha256(text).digest() != digest:
            raise self._damaged("description")
        try:
            description = json.loads(text)
        except (ValueError, RecursionError):
            raise self._damaged("description") from None
        if fault := find_fault(description):
            raise self._damaged(fault)
        dtypes = described_dtypes(description)
        if version != version_of(dtypes):
            raise self._damaged("version")
        if self.data.size != align_up(PREFIX.size + length) + places_of(description["sizes"], dtypes)[-1]:
            raise self._damaged("length")
        return dict(description)

    def _damaged(self, what: str) -> InputError:
        return InputError(self.path, f"damaged index ({what}); build it again")

    def array(self, name: str) -> ndarray:
        sizes, dtype = self.description["sizes"], np.dtype(self.dtypes[name])
        places = places_of(sizes, self.dtypes)
        start = self.data.size + places[list(sizes).index(name)] - places[-1]
        return self.data[start : start + sizes[name] * dtype.itemsize].view(dtype)

    def advise(self, name: str) -> None:
        """Call madvise(2) on the whole mapping; not all systems know all advice.

        MADV_HUGEPAGE: use pages of 2 MB; look-ups across the file then miss the TLB less. MADV_RANDOM: read only the
        page looked up, not megabytes around it, which would evict others that are needed.
        """
        with suppress(OSError, AttributeError):
            self._mapping.madvise(getattr(mmap, name))

    def check(self, names: Iterable[str] = tuple(DTYPES)) -> None:
        """Check all blocks of these arrays. Raises InputError."""
        blocks = [(name, number) for name in names for number in range(len(self.description["checksums"][name]))]
        if len(blocks) <= ALONE:
            faults = [self._fault_of(*block) for block in blocks]
        else:
            with ThreadPoolExecutor(len(os.sched_getaffinity(0)), "readwarp-check") as pool:
                faults = list(pool.map(lambda block: self._fault_of(*block), blocks, chunksize=16))
        for fault in filter(None, faults):
            raise self._damaged(fault)

    def _fault_of(self, name: str, number: int) -> str | None:
        """Return what is wrong with a block, if anything."""
        values = self.array(name)
        per_block = BLOCK // values.itemsize
        block = values[number * per_block : (number + 1) * per_block]
        if isal_zlib.crc32(block.view(np.uint8)) != self.description["checksums"][name][number]:
            return f"{name}, block {number}"
        if name == "positions":
            last = sum(self.description["lengths"]) - self.description["parameters"]["k"]
            return "positions beyond the reference" if int(block.max()) > last else None
        if name == "bucket_starts":
            follows = values[number * per_block + 1 : (number + 1) * per_block + 1]
            is_ascending = bool(np.all(block[: follows.size] <= follows))
            begins = number > 0 or int(block[0]) == 0
            ends = (number + 1) * per_block < values.size or int(block[-1]) == self.description["sizes"]["positions"]
            return None if is_ascending and begins and ends else "bucket_starts out of order"
        return None


def find_fault(description: Any) -> str | None:
    """Return the key whose value is impossible for an index, if any."""
    try:
        names, lengths, sizes = (description[key] for key in ("names", "lengths", "sizes"))
        k, s, t = (description["parameters"][key] for key in ("k", "s", "t"))
        bases, buckets = sum(lengths), sizes["bucket_starts"] - 1
        is_packed = sizes["packed"] == (bases + 1) // 2
        source, checksums, wide = description["source"], description["checksums"], description.get("wide", [])
        rules = {
            "parameters": _are_whole((k, s, t)) and 0 < s < k <= MAX_K and 2 * t == k - s,
            "names": _are_words(names) and 0 < len(names) == len(set(names)) == len(lengths),
            "lengths": _are_whole(lengths) and 0 < min(lengths) <= max(lengths) <= MAX_CONTIG and bases <= MAX_BASES,
            "md5": _are_words(description["md5"]) and list(map(len, description["md5"])) == [32] * len(names),
            "source": source is None or (set(source) == {"size", "mtime_ns"} and _are_whole(source.values())),
            "sizes": list(sizes) == list(DTYPES) and _are_whole(sizes.values()) and min(sizes.values()) >= 0,
            "bucket_starts": buckets >= MIN_BUCKETS and buckets & (buckets - 1) == 0,
            "packed": is_packed and sizes["tags"] == sizes["positions"] <= bases,
            "wide": _are_words(wide) and _too_narrow(bases, sizes["positions"]) <= set(wide) <= WIDENED,
            "checksums": all(map(_are_whole, checksums.values()))
            and {name: len(checksums[name]) for name in DTYPES} == blocks_of(sizes, described_dtypes(description)),
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return "description"
    return next((key for key, is_right in rules.items() if not is_right), None)


def _are_whole(values: Iterable[Any]) -> bool:
    return all(type(value) is int for value in values)


def _are_words(values: Any) -> bool:
    """Return whether the values are names that `formats.common.fasta` accepts."""
    return isinstance(values, list) and all(
        isinstance(word, str) and word.isascii() and word.isprintable() and word and " " not in word for word in values
    )


def is_index(path: str | Path) -> bool:
    """Return whether a file is an index, by its first bytes; False if it cannot be read."""
    try:
        if not Path(path).is_file():  # opening a pipe would block
            return False
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def source_of(path: str | Path) -> Path | None:
    """Return the file that an index was made from, if it lies beside it under the name without .rwx, unchanged."""
    beside = Path(path).with_suffix("")
    if beside.is_file() and IndexFile(Path(path)).description["source"] == describe_source(beside):
        return beside
    return None


def read_index(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and letters of each contig. Raises InputError for one with U, which an index has as T."""
    from readwarp.rules.bases import letters_in

    file, start = IndexFile(path), 0
    file.check(["packed"])
    packed, facts = file.array("packed"), file.description
    for name, length, digest in zip(facts["names"], facts["lengths"], facts["md5"], strict=True):
        letters = letters_in(packed, start, start + length)
        if hashlib.md5(letters, usedforsecurity=False).hexdigest() != digest:
            raise InputError(path, "has U, which the index holds as T: give the FASTA file", name)
        yield name, letters
        start += length


def align_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def described_dtypes(description: dict[str, Any]) -> dict[str, type]:
    """Return the dtypes of the arrays of an index with this description."""
    return DTYPES | dict.fromkeys(description.get("wide", []), np.uint64)


def version_of(dtypes: dict[str, type]) -> int:
    return VERSION if dtypes == DTYPES else WIDE_VERSION


def places_of(sizes: dict[str, int], dtypes: dict[str, type]) -> list[int]:
    """Return where each array starts after the description, and where the file ends."""
    return [0, *accumulate(align_up(size * np.dtype(dtypes[name]).itemsize) for name, size in sizes.items())]


def blocks_of(sizes: dict[str, int], dtypes: dict[str, type]) -> dict[str, int]:
    """Return the number of blocks of each array."""
    return {name: -(-size * np.dtype(dtypes[name]).itemsize // BLOCK) for name, size in sizes.items()}
