"""CompressedBlocks of BGZF: others read them, and their bytes depend on the data alone."""

import errno
import gzip
import io
import os
import random
import threading
import zlib

import numpy as np
import pysam
import pytest

from helpers.blocks import compress_block
from readwarp.formats.common import bgzf
from readwarp.formats.common.bgzf import (
    BLOCK,
    EOF_BLOCK,
    GROUP,
    BgzfWriter,
    CompressedBlocks,
    block_of,
    compress,
    write_all,
)

THREADS, ROUNDS = 50, 20


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 25, 1000, BLOCK])
@pytest.mark.parametrize("kind", ["repeats", "chance"])
def test_blocks_hold_the_data(size, kind):
    data = os.urandom(size) if kind == "chance" else (b"ACGT" * BLOCK)[:size]
    block = compress_block(data)
    assert gzip.decompress(block) == data
    assert int.from_bytes(block[16:18], "little") + 1 == len(block) <= 1 << 16


@pytest.mark.parametrize("size", [1, 7, 8, 9, 25, 1000, BLOCK, 3 * BLOCK + 5])
@pytest.mark.parametrize("kind", ["repeats", "chance", "bases"])
def test_python_isal_makes_the_same_blocks(size, kind, monkeypatch):
    chance = random.Random(size)
    made = {"repeats": lambda: (b"ACGT" * size)[:size], "chance": lambda: chance.randbytes(size)}
    data = made.get(kind, lambda: bytes(chance.choices(b"ACGT", k=size)))()
    blocks = compress(data)
    assert blocks == b"".join(block_of(data[at : at + BLOCK]) for at in range(0, size, BLOCK))
    monkeypatch.setattr(bgzf, "isal_functions", lambda: None)
    assert compress(data) == blocks


def test_where_python_isal_hides_the_library(monkeypatch):
    assert bgzf.isal_functions.__wrapped__() is not None
    for name, value in (("ISAL_VERSION", 3), ("ISAL_FUNCTIONS", ("isal_deflate", "is_absent"))):
        with monkeypatch.context() as patched:
            patched.setattr(bgzf, name, value)
            assert bgzf.isal_functions.__wrapped__() is None


@pytest.mark.parametrize("compress_block", [compress_block, block_of])
def test_a_thousand_compressions(compress_block):
    """The same bytes in threads whose stacks lie elsewhere, in memory that others have used.

    In short blocks ISA-L has few buckets, which is why its fault shows in them (see `bgzf`): in a tenth of these.
    """
    chance = random.Random(5)
    units = [bytes(chance.choices(b"ACGTxyz01", k=20)) for _ in range(60)]
    blocks = [unit * count for unit in units[:20] for count in (2, 3, 5)] + [unit * 300 for unit in units]
    seen: list[set[bytes]] = [set() for _ in blocks]

    def compress(gate, used):
        gate.wait()
        for block, found in zip(blocks, seen, strict=True):
            del used[: len(block)]
            found.add(compress_block(block))

    for _ in range(ROUNDS):
        gate = threading.Barrier(THREADS)
        used = [bytearray(os.urandom(chance.randrange(1 << 17))) for _ in range(THREADS)]
        threads = [threading.Thread(target=compress, args=(gate, part)) for part in used]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [len(found) for found in seen] == [1] * len(blocks)


@pytest.mark.parametrize("threads", [1, 3])
def test_bytes_do_not_depend_on_threads_or_pieces(threads):
    data, files = random.Random(3).choices(range(90), k=3_000_000), []
    for sizes in ((3_000_000,), (1, 70_000, 2_500_000, 429_999)):
        out, rest = io.BytesIO(), bytes(data)
        writer = BgzfWriter(out, threads)
        for size in sizes:
            writer.write(rest[:size])
            rest = rest[size:]
        writer.close()
        files.append(out.getvalue())
    assert files[0] == files[1] and files[0].endswith(EOF_BLOCK)
    assert zlib.crc32(gzip.decompress(files[0])) == zlib.crc32(bytes(data))


@pytest.mark.parametrize("size", [1, BLOCK, 40 * BLOCK, 70 * BLOCK + 5])
def test_virtual_offsets(size, tmp_path):
    """htslib finds the bytes there; the end of the data is where the block begins that ends the file."""
    data = random.Random(size).randbytes(size)
    path = tmp_path / "a.gz"
    with path.open("wb") as file:
        writer = BgzfWriter(file, 2)
        for at in range(0, size, 100_001):
            writer.write(data[at : at + 100_001])
        writer.close()
    places = np.unique(np.minimum(size, np.r_[0 : 5 * BLOCK : 999, 0 : size + 1 : BLOCK, size - 1, size]))
    offsets = writer.virtual_offsets(places)
    assert offsets[-1] == path.stat().st_size - len(EOF_BLOCK) << 16
    with pysam.BGZFile(str(path)) as file:
        for place, offset in zip(places.tolist(), offsets.tolist(), strict=True):
            file.seek(offset)
            assert file.read(10) == data[place : place + 10]


def test_blocks_begin_where_they_are_told_to(tmp_path):
    """With bytes, or with blocks made elsewhere, which are written between what came before and after them."""
    rng = random.Random(1)
    parts = [rng.randbytes(size) for size in (5, GROUP + 9, BLOCK, 0, 3 * BLOCK + 1, 70)]
    file = io.BytesIO()
    writer = BgzfWriter(file, 2)
    writer.write(parts[0])
    for number, part in enumerate(parts[1:]):
        made = np.frombuffer(compress(part), np.uint8)
        writer.begin(np.frombuffer(part, np.uint8) if number % 2 else CompressedBlocks(made, np.array([made.size])))
        writer.write(b"end")
    writer.close()
    assert gzip.decompress(file.getvalue()) == parts[0] + b"".join(part + b"end" for part in parts[1:])
    expected = [compress(parts[0])]
    for number, part in enumerate(parts[1:]):
        expected += [compress(part + b"end")] if number % 2 else [compress(part), compress(b"end")]
    assert file.getvalue() == b"".join(expected) + EOF_BLOCK


class Slow:
    """A file that takes a few bytes of what it is given."""

    def __init__(self, monkeypatch) -> None:
        self.data, self.flushed = b"", 0
        monkeypatch.setattr(os, "write", self.write)

    def fileno(self) -> int:
        return 77

    def flush(self) -> None:
        self.flushed += 1

    def write(self, descriptor: int, data: memoryview) -> int:
        assert descriptor == 77 and self.flushed and data
        given = bytes(data[:13])
        self.data += given
        return len(given)


@pytest.mark.parametrize("sizes", [[], [0], [1, 13], [3000, 0, 70]])
def test_all_is_written(sizes, monkeypatch):
    parts = [np.arange(size).astype(np.uint8) for size in sizes]
    slow, memory = Slow(monkeypatch), io.BytesIO()
    write_all(slow, parts)
    write_all(memory, parts)
    assert slow.data == memory.getvalue() == b"".join(part.tobytes() for part in parts)


@pytest.mark.parametrize("groups", [1, 20])
def test_a_full_disk(groups, tmp_path, monkeypatch):
    """What the thread that writes is told is raised where data are given or the file is closed."""

    def refuse(descriptor, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with (tmp_path / "a.gz").open("wb") as file:
        writer = BgzfWriter(file, 2)
        monkeypatch.setattr(os, "write", refuse)
        with pytest.raises(OSError, match="No space left"):
            for _ in range(groups):
                writer.write(bytes(GROUP))
            writer.close()
        monkeypatch.undo()
        writer.abort()
        assert file.tell() == 0


def test_a_pipe_that_takes_nothing_can_be_left(monkeypatch):
    """As when a signal stops the command: the thread that has to end is not the one that waits for the pipe."""
    read, write = os.pipe()
    with open(read, "rb"), open(write, "wb") as file:
        writer = BgzfWriter(file, 2)

        def stop(descriptor, data):
            assert threading.current_thread() is threading.main_thread()
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "write", stop)
        with pytest.raises(KeyboardInterrupt):
            for _ in range(20):
                writer.write(bytes(GROUP))
        writer.abort()
