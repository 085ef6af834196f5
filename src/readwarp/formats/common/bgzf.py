"""BGZF, the blocked gzip of BAM: blocks of one size, compressed by isal in threads.

Every block but the last holds BLOCK bytes, so the file depends on the data alone, not on batches or threads.

ISA-L hashes the third position of a stream by a register that it has not set (igzip_icf_body_h1_gr_bt.asm, at
.write_first_byte, version 2.32). Where that happens to be one of the buckets of the first three positions,
it overlooks a match: one block in 2,700 is a byte or two longer, at other places in each process. Its code for the last
bytes of a stream has no such fault, so each block begins with a few bytes that are compressed for themselves.
"""

import os
import struct
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any, BinaryIO, cast

import numpy as np
from isal import igzip, isal_zlib
from numpy import ndarray

BLOCK = 65280  # bytes of data, as in htslib
MAX_SIZE = 1 << 16  # bytes of data in a block of any program (SAM specification, 4.1)
GROUP = 32 * BLOCK  # bytes compressed by one task
LEVEL = 1
MOST_PARTS = 1024  # that are written at once (IOV_MAX)
ALONE = 8  # first bytes of a block, compressed for themselves: 4 to 16, which ISA-L takes for the last ones
EOF_BLOCK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
HEADER = struct.Struct("<4BI2BH2B2H")  # gzip header with the BC extra field: size of the whole block less one


def blocks_of(data: bytes | memoryview) -> tuple[list[int], list[int]]:
    """The whole blocks at the beginning of `data`: where each begins and the last ends, their decompressed sizes."""
    places, sizes, place = [0], [], 0
    while data[place : place + 4] == b"\x1f\x8b\x08\x04" and len(data) >= place + 18:
        stop = place + int.from_bytes(data[place + 16 : place + 18], "little") + 1
        if data[place + 12 : place + 14] != b"BC" or stop > len(data):
            break
        size = int.from_bytes(data[stop - 4 : stop], "little")
        if size > MAX_SIZE:  # damaged: memory is taken for as much
            break
        sizes.append(size)
        places.append(stop)
        place = stop
    return places, sizes


def decompress_into(compressed: memoryview | bytes, view: memoryview) -> None:
    """Members of gzip, such as blocks, that have as many bytes as the view -> the view.

    Raises EOFError where a member is cut off, and errors of igzip. igzip's reader takes the bytes as they are, and lets
    go of the interpreter for all; what igzip offers beside it comes back for each piece.
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
    """Bytes of the block that begins there, compressed and not; 0 and 0 if none does."""
    head = os.pread(file.fileno(), HEADER.size, place)
    if len(head) < HEADER.size or head[:4] != b"\x1f\x8b\x08\x04" or head[12:14] != b"BC":
        return 0, 0
    size = int.from_bytes(head[16:18], "little") + 1
    return size, int.from_bytes(os.pread(file.fileno(), 4, place + size - 4), "little")


def tail_of(file: BinaryIO, size: int = len(EOF_BLOCK)) -> bytes:
    """The last bytes of a file. Without the EOF_BLOCK, a BGZF file was cut off."""
    file.seek(max(0, file.seek(0, 2) - size))
    return file.read()


def parts_of_block(data: memoryview | bytes) -> list[bytes]:
    """One BGZF block of at most BLOCK bytes. To join its parts would be a copy while the interpreter is held."""
    stream = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
    body = [stream.compress(data[:ALONE]), stream.flush(isal_zlib.Z_SYNC_FLUSH)]
    body += [stream.compress(data[ALONE:]), stream.flush()]
    size = HEADER.size + sum(map(len, body)) + 8
    header = HEADER.pack(31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, size - 1)
    return [header, *body, struct.pack("<II", isal_zlib.crc32(data), len(data))]


def compress(data: memoryview | bytes) -> bytes:
    """Blocks of data, without the one that ends a file."""
    return b"".join(chain.from_iterable(_blocks([data])))


def _blocks(parts: Sequence[memoryview | bytes]) -> list[list[bytes]]:
    data = parts[0] if len(parts) == 1 else b"".join(parts)
    return [parts_of_block(data[i : i + BLOCK]) for i in range(0, len(data), BLOCK)]


def write_parts(file: BinaryIO, parts: Iterable[bytes]) -> None:
    """Write all of them, by the system alone if the file is one of its own."""
    left: list[bytes | memoryview] = list(parts)
    try:
        descriptor = file.fileno()
    except OSError:
        file.writelines(left)
        return
    file.flush()
    while left:
        written, whole = os.writev(descriptor, left[:MOST_PARTS]), 0
        while whole < len(left) and written >= len(left[whole]):
            written, whole = written - len(left[whole]), whole + 1
        del left[:whole]
        if written:
            left[0] = memoryview(left[0])[written:]


class BgzfWriter:
    """Writes to a binary file, and compresses a few groups of blocks ahead. `close` leaves the file itself open."""

    def __init__(self, file: BinaryIO, threads: int = 1):
        self._file = file
        self._pending, self._size = list[memoryview](), 0  # what is not a group yet, and its bytes
        self._pool = ThreadPoolExecutor(threads, "bgzf")
        self._ahead: deque[Future[list[list[bytes]]]] = deque()
        self._max_ahead = threads + 2
        self._sizes, self._written = array("I"), 0  # of the blocks in the file, and the data in them

    def write(self, data: bytes | memoryview | ndarray) -> None:
        """Take bytes or a uint8 array, which must not change afterwards."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        while self._size + len(view) >= GROUP:
            missing = GROUP - self._size
            self._take(view[:missing])
            self._submit()
            view = view[missing:]
        self._take(view if len(data) < GROUP else memoryview(bytes(view)))  # a view keeps all of the data

    def _take(self, view: memoryview) -> None:
        self._pending.append(view)
        self._size += len(view)

    def _submit(self) -> None:
        self._written += self._size
        self._ahead.append(self._pool.submit(_blocks, self._pending))
        self._pending, self._size = [], 0
        self._drain(self._max_ahead)

    def _drain(self, ahead: int) -> None:
        while len(self._ahead) > ahead:
            blocks = self._ahead.popleft().result()
            self._sizes.extend(sum(map(len, block)) for block in blocks)
            write_parts(self._file, chain.from_iterable(blocks))

    def virtual_offsets(self, at: ndarray) -> ndarray:
        """Of bytes of the data (int64), once all is written: where the block begins << 16 | the byte in it.

        Of the end of the data it is the block that ends the file.
        """
        places = np.append(0, np.cumsum(self._sizes, dtype=np.int64))
        offsets: ndarray = places[at // BLOCK] << 16 | at % BLOCK
        return np.where(at == self._written, places[-1] << 16, offsets)

    def close(self) -> None:
        """Write the rest, and the empty block that ends the file."""
        self._submit()
        self._drain(0)
        self._pool.shutdown()
        self._file.write(EOF_BLOCK)

    def abort(self) -> None:
        self._ahead.clear()
        self._pool.shutdown(cancel_futures=True)
