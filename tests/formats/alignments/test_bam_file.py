"""The header of an open BAM file, and where its first record is."""

import struct

import pytest

from helpers.blocks import compress_block
from readwarp.errors import InputError
from readwarp.formats.alignments.bam_file import BamFile
from readwarp.formats.alignments.header import MAGIC, binary_header
from readwarp.formats.common.bgzf import BLOCK, EOF_BLOCK

LINES = "@HD\tVN:1.6\n"


@pytest.fixture
def opened(tmp_path):
    def opened(*blocks):
        path = tmp_path / "a.bam"
        path.write_bytes(b"".join(map(compress_block, blocks)) + EOF_BLOCK)
        with path.open("rb") as file:
            return BamFile(file, path)

    return opened


@pytest.mark.parametrize("cut", [500, BLOCK])
def test_header_of_many_blocks(opened, cut):
    data = binary_header(LINES + "".join(f"@SQ\tSN:{number}\tLN:9\n" for number in range(5000)))
    blocks = [data[first : first + cut] for first in range(0, len(data), cut)]
    file = opened(*blocks)
    assert file.header.names == [str(number) for number in range(5000)]
    assert file.first == sum(len(compress_block(block)) for block in blocks) << 16


def test_first_record_begins_a_block(opened):
    data = binary_header(f"{LINES}@SQ\tSN:a\tLN:9\n")
    assert opened(data, b"record").first == opened(data).first == len(compress_block(data)) << 16


@pytest.mark.parametrize(
    ("text", "rest", "reason"),
    [
        (0xFFFFFFF0, b"", "more than 256 MiB"),
        (len(LINES), struct.pack("<2I", 1, 0x80000000), "more than 256 MiB"),
        (len(LINES), struct.pack("<I", 0xFFFFFFFF) + bytes(BLOCK // 2), "without a proper name"),
        (1 << 20, b"", "truncated"),
    ],
)
def test_sizes_that_lie(opened, text, rest, reason):
    """Is seen from the first block already, if the size cannot be: the file may be long."""
    with pytest.raises(InputError, match=reason):
        opened(MAGIC + struct.pack("<I", text) + LINES.encode() + rest, bytes(BLOCK))
