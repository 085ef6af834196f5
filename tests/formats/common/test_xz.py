"""xz files of several streams, with padding; and those that ask for too much memory."""

import io
import lzma
import struct
import zlib

import pytest

from readwarp.formats.common.compressed import decompress, explain_damage
from readwarp.formats.common.xz import XzFile

DATA = b"ACGT" * 100_000


@pytest.mark.parametrize("padding", [b"", b"\0" * 4, b"\0" * (1 << 17)])
def test_streams_and_padding(padding):
    whole = lzma.compress(DATA) + padding + lzma.compress(b"") + lzma.compress(DATA[:5]) + padding
    assert decompress(io.BufferedReader(io.BytesIO(whole))).read() == DATA + DATA[:5]


@pytest.mark.parametrize("keep", [20, 60, -1])
def test_truncated(keep):
    with pytest.raises(EOFError):
        XzFile(io.BytesIO(lzma.compress(DATA)[:keep])).read()


def test_a_window_of_gigabytes():
    """The byte that tells the size of the dictionary says 3 GiB; the block's header is 12 bytes after the beginning."""
    data = bytearray(lzma.compress(b"@r\nA\n+\nI\n"))
    size = 4 * (data[12] + 1)
    assert data[14] == lzma.FILTER_LZMA2
    data[16] = 39
    data[8 + size : 12 + size] = struct.pack("<I", zlib.crc32(data[12 : 8 + size]))
    with pytest.raises(lzma.LZMAError) as caught:
        XzFile(io.BytesIO(bytes(data))).read()
    assert explain_damage(caught.value).startswith("needs too much memory to be decompressed")
