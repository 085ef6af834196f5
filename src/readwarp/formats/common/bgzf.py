"""BGZF, BAM's blocked gzip: blocks of one size, compressed by isal in threads.

Every block but the last holds BLOCK bytes, so the file depends only on the data, not on batches or threads.

ISA-L hashes the third position of a stream with an uninitialised register (igzip_icf_body_h1_gr_bt.asm, at
.write_first_byte, version 2.32). If that happens to be one of the buckets of the first three positions, it misses a
match: one block in 2,700 is a byte or two longer, at other places in each process. Its code for the last bytes of a
stream has no such fault, so each block begins with a few bytes that are compressed separately.
"""

import ctypes
import os
import stat
import struct
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, BinaryIO, NamedTuple, Protocol, cast

import isal
import numpy as np
from isal import igzip, isal_zlib
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.compiler.simd import call

BLOCK = 65280  # bytes of data, as in htslib
MAX_SIZE = 1 << 16  # bytes of any program's block, and of the data in it (SAM specification, 4.1)
ALONE = 8  # first bytes of a block, compressed separately: 4 to 16, which ISA-L takes for the last ones
HEADER, TRAILER = 18, 8  # bytes before and after the data
SIZE_AT = 16  # offset of the block size in the header
GROUP = 32 * BLOCK  # bytes compressed per task
EOF_BLOCK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
GZIP_HEADER = struct.Struct("<4BI2BH2B2H")  # with the BC extra field: size of the whole block less one
HEAD = np.frombuffer(EOF_BLOCK, np.uint8)[:HEADER]
ISAL_VERSION = 2  # has the isal_zstream below; its fields are part of the library's interface
ISAL_FUNCTIONS = ("isal_deflate_init", "isal_deflate", "crc32_gzip_refl")
NO_FLUSH, SYNC_FLUSH, FULL_FLUSH = range(3)  # from igzip_lib.h, like the offsets below
LEVEL, LEVEL_BYTES = 1, 282_624  # ISAL_DEF_LVL1_DEFAULT
STREAM_BYTES = 82_384  # isal_zstream
NEXT_IN, NEXT_OUT = 0, 2  # fields of 64 bits
LEVEL_BUFFER = 6
AVAILABLE_IN, AVAILABLE_OUT = 2, 6  # fields of 32 bits
TOTAL_OUT = 7
LEVEL_AT, LEVEL_SIZE = 10, 11
END_OF_STREAM, FLUSH = 28, 29  # fields of 16 bits


class Functions(NamedTuple):
    """Addresses of ISA-L's functions."""

    init: int  # isal_deflate_init
    deflate: int  # isal_deflate
    checksum: int  # crc32_gzip_refl


class CompressedBlocks(NamedTuple):
    """Blocks of BGZF, end to end."""

    data: ndarray  # uint8
    sizes: ndarray  # bytes of each


class Compressor(Protocol):
    """Compressor of data to blocks elsewhere than in this process's threads."""

    group: int  # bytes of data per call, whole blocks
    threads: int  # calls at once

    def __call__(self, parts: Sequence[ndarray], /) -> CompressedBlocks:
        """Compress all parts (uint8) to blocks, one after another."""


class DeflateStream(NamedTuple):
    """ISA-L's isal_zstream by fields of each width, and its working memory."""

    longs: ndarray  # uint64
    ints: ndarray  # uint32
    shorts: ndarray  # uint16
    level_buffer: ndarray  # uint8


def blocks_of(data: bytes | memoryview) -> tuple[list[int], list[int]]:
    """Find the whole blocks at the start of `data`: where each begins and the last ends, and decompressed sizes."""
    places, sizes = [0], []
    place = 0
    while data[place : place + 4] == b"\x1f\x8b\x08\x04" and len(data) >= place + 18:
        stop = place + int.from_bytes(data[place + 16 : place + 18], "little") + 1
        if data[place + 12 : place + 14] != b"BC" or stop > len(data):
            break
        size = int.from_bytes(data[stop - 4 : stop], "little")
        if size > MAX_SIZE:  # damaged: this much memory would be allocated
            break
        sizes.append(size)
        places.append(stop)
        place = stop
    return places, sizes


def decompress_into(compressed: memoryview | bytes, view: memoryview) -> None:
    """Decompress members of gzip, such as blocks, that hold as many bytes as the view, into the view.

    Raises EOFError if a member is cut off, and errors of igzip. igzip's reader takes the bytes as they are and releases
    the interpreter once for all of them; its other interfaces return for each piece.
    """
    reader, filled = isal_zlib._GzipReader(cast(Any, compressed)), 0
    while filled < len(view):
        got = reader.readinto(view[filled:])
        if got == 0:
            raise igzip.BadGzipFile("a block has fewer bytes than it says")
        filled += got
    if reader.read(1):
        raise igzip.BadGzipFile("a block has more bytes than it says")


def block_at(file: BinaryIO, place: int) -> tuple[int, int]:
    """Return the compressed and decompressed bytes of the block that begins there; 0 and 0 if none does."""
    head = os.pread(file.fileno(), HEADER, place)
    if len(head) < HEADER or head[:4] != b"\x1f\x8b\x08\x04" or head[12:14] != b"BC":
        return 0, 0
    size = int.from_bytes(head[16:18], "little") + 1
    return size, int.from_bytes(os.pread(file.fileno(), 4, place + size - 4), "little")


def tail_of(file: BinaryIO, size: int = len(EOF_BLOCK)) -> bytes:
    """Return the last bytes of a file. A BGZF file without the EOF_BLOCK was cut off."""
    file.seek(max(0, file.seek(0, 2) - size))
    return file.read()


@cache
def isal_functions() -> Functions | None:
    """Return addresses in python-isal's extension or linked library, for calls from compiled code.

    None: they are hidden or of another version.
    """
    library = ctypes.CDLL(isal_zlib.__file__)
    if isal.ISAL_MAJOR_VERSION != ISAL_VERSION or not all(hasattr(library, name) for name in ISAL_FUNCTIONS):
        return None
    return Functions(*(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in ISAL_FUNCTIONS))


def compress(data: memoryview | bytes | ndarray) -> bytes:
    """Compress data to blocks, without the one that ends a file."""
    return _blocks([np.frombuffer(data, np.uint8)]).data.tobytes() if len(data) else b""


def _blocks(parts: Sequence[ndarray]) -> CompressedBlocks:
    """Compress all parts (uint8) to blocks, one after another."""
    data, functions = parts[0] if len(parts) == 1 else np.concatenate(parts), isal_functions()
    if functions is None:
        blocks = [block_of(memoryview(data[i : i + BLOCK])) for i in range(0, data.size, BLOCK)]
        return CompressedBlocks(np.frombuffer(b"".join(blocks), np.uint8), np.array([len(block) for block in blocks]))
    sizes = np.empty(-(-data.size // BLOCK), np.int64)
    out = np.empty(sizes.size * MAX_SIZE, np.uint8)
    used = compress_blocks(functions, make_stream(), data, HEAD, out, sizes)
    assert used >= 0, "ISA-L has failed"
    return CompressedBlocks(out[:used], sizes)


def block_of(data: memoryview | bytes) -> bytes:
    """Compress at most BLOCK bytes to one block, like `compress_blocks`."""
    stream = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
    body = [stream.compress(data[:ALONE]), stream.flush(isal_zlib.Z_SYNC_FLUSH)]
    body += [stream.compress(data[ALONE:]), stream.flush()]
    size = HEADER + sum(map(len, body)) + TRAILER
    header = GZIP_HEADER.pack(31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, size - 1)
    return b"".join([header, *body, struct.pack("<II", isal_zlib.crc32(data), len(data))])


def write_all(file: BinaryIO, parts: Sequence[ndarray]) -> None:
    """Write bytes (uint8), directly through the system if the file is its own."""
    try:
        descriptor = file.fileno()
    except OSError:
        file.writelines(part.data for part in parts)
        return
    file.flush()
    for part in parts:
        left = memoryview(part)
        while left:
            left = left[os.write(descriptor, left) :]


def _never_blocks(file: BinaryIO) -> bool:
    """Return whether the file is on a disk."""
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except OSError:
        return False


def groups_ahead(threads: int) -> int:
    """Return how many groups may be compressed and not yet written."""
    return threads + 2


class BgzfWriter:
    """A BGZF writer to a binary file that compresses a few groups of blocks ahead. `close` leaves the file itself open.

    A thread of its own writes to a file on a disk. The caller's thread writes to a pipe, which may block for ever: so
    it can be stopped.
    """

    def __init__(self, file: BinaryIO, threads: int | Compressor = 1):
        self._file = file
        self._group, self._compress = GROUP, cast(Callable[[Sequence[ndarray]], CompressedBlocks], _blocks)
        if callable(threads):
            self._group, self._compress, threads = threads.group, threads, threads.threads
        self._pending, self._size = list[ndarray](), 0  # less than a group, and its bytes
        self._pool = ThreadPoolExecutor(threads, "bgzf")
        self._ahead: deque[Future[CompressedBlocks]] = deque()
        self._max_ahead = groups_ahead(threads)
        self._writer = ThreadPoolExecutor(1, "writer") if _never_blocks(file) else None
        self._writing: Future[None] | None = None  # some blocks
        self._sizes, self._written = [np.zeros(1, np.int64)], 0  # of the blocks in the file, and the data in them

    def write(self, data: bytes | memoryview | ndarray) -> None:
        """Take bytes or a uint8 array, which must not change afterwards."""
        left = np.frombuffer(data, np.uint8) if len(data) else np.empty(0, np.uint8)
        while self._size + left.size >= self._group:
            missing = self._group - self._size
            self._take(left[:missing])
            self._submit()
            left = left[missing:]
        self._take(left if len(data) < self._group else left.copy())  # a view keeps all of the data

    def begin(self, data: ndarray | CompressedBlocks) -> None:
        """Take bytes (uint8) with which a block begins, or blocks; `virtual_offsets` is no more to be called."""
        if self._size:
            self._submit()
        if isinstance(data, CompressedBlocks):
            self._ahead.append(Future())
            self._ahead[-1].set_result(data)
            self._drain(self._max_ahead)
        else:
            self.write(data)

    def _take(self, part: ndarray) -> None:
        self._pending.append(part)
        self._size += part.size

    def _submit(self) -> None:
        self._written += self._size
        self._ahead.append(self._pool.submit(self._compress, self._pending))
        self._pending, self._size = [], 0
        self._drain(self._max_ahead)

    def _drain(self, ahead: int) -> None:
        """Write compressed groups, unless the writer is at work and at most `ahead` groups wait."""
        if len(self._ahead) <= ahead and self._writing and not self._writing.done():
            return
        found: list[ndarray] = []
        while self._ahead and (len(self._ahead) > ahead or self._ahead[0].done()):
            blocks, sizes = self._ahead.popleft().result()
            found.append(blocks)
            self._sizes.append(sizes)
        if self._writer is None:
            write_all(self._file, found)
        elif found:
            self._wait()
            self._writing = self._writer.submit(write_all, self._file, found)

    def _wait(self) -> None:
        """Wait until nothing is being written; raise what has failed there."""
        writing, self._writing = self._writing, None
        if writing:
            writing.result()

    def virtual_offsets(self, at: ndarray) -> ndarray:
        """Return virtual offsets of bytes of the data (int64), once all is written: start of the block << 16 | byte in
        it.

        The end of the data is in the block that ends the file.
        """
        places = np.cumsum(np.concatenate(self._sizes))
        offsets: ndarray = places[at // BLOCK] << 16 | at % BLOCK
        return np.where(at == self._written, places[-1] << 16, offsets)

    def close(self) -> None:
        """Write the rest, and the empty block that ends the file."""
        if self._size:
            self._submit()
        self._drain(0)
        self._wait()
        self._end()
        self._file.write(EOF_BLOCK)

    def abort(self) -> None:
        self._ahead.clear()
        self._end()

    def _end(self) -> None:
        for pool in filter(None, (self._pool, self._writer)):
            pool.shutdown(cancel_futures=True)


def make_stream() -> DeflateStream:
    longs = np.zeros(STREAM_BYTES // 8, np.uint64)
    return DeflateStream(longs, longs.view(np.uint32), longs.view(np.uint16), np.empty(LEVEL_BYTES, np.uint8))


@kernel
def compress_blocks(functions, stream, data, head, out, sizes):
    """Compress each BLOCK bytes of data to a block in `out`, one after another, and its size to `sizes`; return the
    total.

    head: the start of each block. Returns -1 if ISA-L has failed.
    """
    place = 0
    for block in range(sizes.size):
        first = block * BLOCK
        part = data[first : first + BLOCK]
        body = out[place + HEADER : place + MAX_SIZE - TRAILER]
        size = _deflate(functions, stream, part, body)
        if size < 0:
            return -1
        sizes[block] = HEADER + size + TRAILER
        for k in range(HEADER):
            out[place + k] = head[k]
        write_number(out, place + SIZE_AT, sizes[block] - 1, 2)
        place += HEADER + size
        write_number(out, place, call(functions.checksum, (0, part.ctypes.data, part.size)), 4)
        write_number(out, place + 4, part.size, 4)
        place += TRAILER
    return place


@scalar
def _deflate(functions, stream, data, out):
    """Compress the data as a whole stream; return the bytes, or -1 if ISA-L has failed."""
    longs, ints, shorts, level_buffer = stream
    address = longs.ctypes.data
    call(functions.init, (address,))
    ints[LEVEL_AT], ints[LEVEL_SIZE] = LEVEL, level_buffer.size
    longs[LEVEL_BUFFER] = level_buffer.ctypes.data
    longs[NEXT_OUT], ints[AVAILABLE_OUT] = out.ctypes.data, out.size
    alone = min(ALONE, data.size)
    for step in range(4):
        begin, stop = (0, alone) if step == 0 else (alone, data.size) if step == 2 else (0, 0)
        longs[NEXT_IN], ints[AVAILABLE_IN] = data.ctypes.data + begin, stop - begin
        shorts[FLUSH] = NO_FLUSH if step % 2 == 0 else SYNC_FLUSH if step == 1 else FULL_FLUSH
        shorts[END_OF_STREAM] = step == 3
        if call(functions.deflate, (address,)) != 0 or ints[AVAILABLE_IN] or not ints[AVAILABLE_OUT]:
            return -1
    return np.int64(ints[TOTAL_OUT])


@scalar
def write_number(out, place, number, size):
    """Write the lowest bytes of a number, the lowest first."""
    for k in range(size):
        out[place + k] = number >> 8 * k & 255
