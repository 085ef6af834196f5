"""Regions and BED files: as people write them, and as nobody should."""

import gzip

import pytest

from readwarp.call.targets import locate_region, read_bed
from readwarp.errors import InputError

NAMES, LENGTHS = ["c1", "HLA-A*01", "HLA-A*01:01", "a,b"], [10_000, 500, 700, 90]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("c1:1,000-2,000", (0, 999, 2000)),
        ("c1:5-", (0, 4, 10_000)),
        ("c1:5", (0, 4, 10_000)),
        ("c1:5-5", (0, 4, 5)),
        ("c1:10,000", (0, 9999, 10_000)),
        ("HLA-A*01:01", (2, 0, 700)),
        ("HLA-A*01:01:20-30", (2, 19, 30)),
        ("HLA-A*01:20-30", (1, 19, 30)),
        ("HLA-A*01:01-5", (1, 0, 5)),
        ("a,b", (3, 0, 90)),
        ("a,b:8-9", (3, 7, 9)),
    ],
)
def test_regions(text, target):
    assert locate_region(text, NAMES, LENGTHS) == target


@pytest.mark.parametrize(
    "text", ["c1:", "c1:-", "c1:5--6", "c1:5-6-7", "c1:\u0665", "c1:1 -2", "c1:10001", "c1:+5", ":5"]
)
def test_broken_regions(text):
    with pytest.raises(InputError) as refused:
        locate_region(text, NAMES, LENGTHS)
    assert str(refused.value).startswith(f"{text}: ")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_bed_of_any_line_end_and_packing(pack, tmp_path):
    path = tmp_path / "x.bed"
    path.write_bytes(pack(b"track name=x\r\nc1\t5\t10\r\n\r\na,b\t0\t9000\tname\t0\t+"))
    assert read_bed(path, NAMES, LENGTHS) == [(0, 5, 10), (3, 0, 90)]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"c1\t5\t10\nc1\t\xd9\xa5\t10\n", "record 2: not contig, start and end"),
        (b"c1\t5\t\n", "record 1: not contig, start and end"),
        (b"c1,5,10\n", "record 1: not contig, start and end"),
        (gzip.compress(b"c1\t5\t10\n" * 99, mtime=0)[:30], "truncated or corrupt gzip"),
        (b"\xff\xfe\x00", "is not text"),
    ],
)
def test_broken_bed(data, says, tmp_path):
    path = tmp_path / "x.bed"
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"x\.bed: {says}"):
        read_bed(path, NAMES, LENGTHS)
