"""Regions and BED files, with and without ploidies: as people write them, and as nobody should."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.call.ploidies import read_ploidies
from readwarp.call.targets import parse_region, read_bed
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
    assert parse_region(text, NAMES, LENGTHS) == target


@pytest.mark.parametrize(
    "text", ["c1:", "c1:-", "c1:5--6", "c1:5-6-7", "c1:\u0665", "c1:1 -2", "c1:10001", "c1:+5", ":5"]
)
def test_broken_regions(text):
    with pytest.raises(InputError) as refused:
        parse_region(text, NAMES, LENGTHS)
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
        (gzip.compress(b"c1\t5\t10\n" * 99)[:30], "truncated or corrupt gzip"),
        (b"\xff\xfe\x00", "is not text"),
    ],
)
def test_broken_bed(data, says, tmp_path):
    path = tmp_path / "x.bed"
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"x\.bed: {says}"):
        read_bed(path, NAMES, LENGTHS)


def test_ploidies(tmp_path):
    path = tmp_path / "x.bed"
    path.write_text("c1\t50\t60\t3\nc1\t10\t20\t1\tname\nc1\t15\t30\t1\nc1\t40\t40\t5\na,b\t0\t99\t4\n")
    found = read_ploidies(path, NAMES, LENGTHS, 2)
    places = np.array([0, 9, 10, 19, 20, 29, 30, 40, 49, 50, 59, 60, 9999])
    assert found.at(0, places).tolist() == [2, 2, 1, 1, 1, 1, 2, 2, 2, 3, 3, 2, 2]
    assert found.at(3, np.array([0, 89])).tolist() == [4, 4]
    assert found.at(1, np.array([3])).tolist() == [2] and found.at(1, np.array([3])).dtype == np.int8
    assert read_ploidies(None, NAMES, LENGTHS, 6).at(0, places).tolist() == [6] * places.size


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("c1\t5\t9", "its fourth column is no ploidy from 1 to 8"),
        ("c1\t5\t9\t0", "its fourth column is no ploidy from 1 to 8"),
        ("c1\t5\t9\t9", "its fourth column is no ploidy from 1 to 8"),
        ("c1\t5\t9\tX", "its fourth column is no ploidy from 1 to 8"),
        ("c9\t5\t9\t1", "no contig 'c9' in the reference"),
        ("c1\t4\t6\t2", "overlaps an interval with a ploidy of 1"),
    ],
)
def test_broken_ploidies(line, says, tmp_path):
    path = tmp_path / "x.bed"
    path.write_text(f"c1\t1\t5\t1\n{line}\n")
    with pytest.raises(InputError, match=rf"x\.bed: record 2: {says}"):
        read_ploidies(path, NAMES, LENGTHS, 2)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 8)), max_size=6))
def test_ploidies_are_what_the_lines_say(tmp_path_factory, rows):
    path, expected, clash = tmp_path_factory.mktemp("p") / "x.bed", np.full(90, 2), False
    seen = np.zeros(90, bool)
    for start, stop, ploidy in rows:
        here = slice(start, max(start, stop))
        clash |= bool((seen[here] & (expected[here] != ploidy)).any())
        expected[here], seen[here] = ploidy, True
    path.write_text("".join(f"a,b\t{a}\t{max(a, b)}\t{p}\n" for a, b, p in rows))
    if clash:
        with pytest.raises(InputError, match="overlaps"):
            read_ploidies(path, NAMES, LENGTHS, 2)
    else:
        assert read_ploidies(path, NAMES, LENGTHS, 2).at(3, np.arange(90)).tolist() == expected.tolist()
