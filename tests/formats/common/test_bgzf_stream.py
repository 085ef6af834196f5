"""BGZF read from the front: the bytes that gzip reads, for any sizes of reads and any number of threads."""

import gzip
import io
import random
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from isal import isal_zlib

from readwarp.formats.common.bgzf import BgzfWriter, blocks_of
from readwarp.formats.common.bgzf_stream import BgzfStream
from readwarp.formats.common.compressed import is_damage

TEXT = bytes(random.Random(1).choices(b"ACGT\n@+", k=400_000))


def bgzip(data: bytes) -> bytes:
    out = io.BytesIO()
    writer = BgzfWriter(out)
    writer.write(data)
    writer.close()
    return out.getvalue()


def read_all(data: bytes, threads: int, sizes=(1 << 20,)) -> bytes:
    stream, parts = BgzfStream(io.BytesIO(data), threads), []
    try:
        for number in range(1 << 30):
            buffer = bytearray(sizes[number % len(sizes)])
            got = stream.readinto(buffer)
            parts.append(bytes(buffer[:got]))
            if got < len(buffer):
                break
        assert stream.readinto(bytearray(10)) == 0
        return b"".join(parts)
    finally:
        stream.close()


@settings(max_examples=30)
@given(
    size=st.integers(0, len(TEXT)),
    sizes=st.lists(st.integers(1000, 300_000), min_size=1, max_size=4),
    threads=st.sampled_from([1, 2, 5]),
)
def test_any_reads_give_the_bytes(size, sizes, threads):
    assert read_all(bgzip(TEXT[:size]), threads, sizes) == TEXT[:size]


def test_more_than_is_read_at_once():
    data = TEXT * 60  # 24 MB
    assert read_all(bgzip(data), 3, (9_000_000,)) == data


@pytest.mark.parametrize("threads", [1, 3])
def test_gzip_behind_the_blocks_is_read_too(threads):
    data = bgzip(TEXT) + gzip.compress(b"more") + gzip.compress(b"and more")
    assert read_all(data, threads) == TEXT + b"moreand more"
    assert read_all(bgzip(TEXT) + bgzip(TEXT[:70_000]), threads) == TEXT + TEXT[:70_000]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cut", [1, 5, 27, 28, 40, 100_000])
def test_a_file_that_is_cut_off(cut, threads):
    """Without its last block it is whole, as for gzip; with a part of a block it is not."""
    data = bgzip(TEXT)[:-cut]
    if cut == 28:
        assert read_all(data, threads) == TEXT
        return
    with pytest.raises((zlib.error, isal_zlib.error, OSError, EOFError)) as caught:
        read_all(data, threads)
    assert is_damage(caught.value)


@pytest.mark.parametrize("threads", [1, 3])
def test_damage_is_an_error(threads):
    data = bytearray(bgzip(TEXT))
    data[len(data) // 2] ^= 0x55
    with pytest.raises((zlib.error, isal_zlib.error, OSError, EOFError)) as caught:
        read_all(bytes(data), threads)
    assert is_damage(caught.value)
    wrong_size = bytearray(bgzip(b"ACGT"))
    wrong_size[-32:-28] = (3).to_bytes(4, "little")
    with pytest.raises((zlib.error, isal_zlib.error, OSError, EOFError)):
        read_all(bytes(wrong_size), threads)


def test_a_size_that_no_block_has():
    """Of a damaged block: no memory is taken for it."""
    data = bytearray(bgzip(bytes(1000)))
    stop = int.from_bytes(data[16:18], "little") + 1
    data[stop - 4 : stop] = (1 << 31).to_bytes(4, "little")
    assert blocks_of(bytes(data)) == ([0], [])
    tracemalloc.start()
    with pytest.raises(Exception) as error:
        read_all(bytes(data), 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert is_damage(error.value) and peak < 10 << 20
