"""Regions, BED files and interval lists: as people write them, and as nobody should. Windows that hold many targets."""

import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.call.places.targets import CallTargets, join_targets, places_of, subtract
from readwarp.errors import InputError, UsageError
from readwarp.formats.common.regions import (
    Contigs,
    Target,
    locate_region,
    locate_regions,
    merge_targets,
    read_targets,
)
from readwarp.index.reference import Reference

CONTIGS = Contigs(["c1", "HLA-A*01", "HLA-A*01:01", "a,b"], [10_000, 500, 700, 90])
REFERENCE = Reference(
    tuple(CONTIGS.numbers), np.cumsum([0, *CONTIGS.lengths]), ("",) * 4, np.empty(0, np.uint8)
)  # without its bases
HEADER = b"@HD\tVN:1.6\n@SQ\tSN:c1\tLN:10000\n@SQ\tSN:a,b\tLN:90\n"


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
    assert locate_region(text, CONTIGS) == target


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("c1,a,b", [(0, 0, 10_000), (3, 0, 90)]),
        ("c1:5-1,000,a,b:8-9", [(0, 4, 1000), (3, 7, 9)]),
        ("a,b,a,b", [(3, 0, 90), (3, 0, 90)]),
        ("c1:1-5, HLA-A*01:01:2", [(0, 0, 5), (2, 1, 700)]),
        ("c1:5-1,000", [(0, 4, 1000)]),
        (("c1", 4, 9), [(0, 4, 9)]),
    ],
)
def test_several_regions_in_one_text(text, targets):
    assert locate_regions(text, CONTIGS) == targets


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("1:1-2,000,2", [(0, 0, 2000), (1, 0, 50)]),
        ("1:10-20,2:1-5", [(0, 9, 20), (1, 0, 5)]),
        ("1,2", [(0, 0, 3000), (1, 0, 50)]),
    ],
)
def test_several_regions_of_contigs_whose_names_are_numbers(text, targets):
    assert locate_regions(text, Contigs(["1", "2"], [3000, 50])) == targets


@pytest.mark.parametrize("text", ["c1,c9", "c1:5,,a,b", "c1,"])
def test_broken_lists_of_regions(text):
    with pytest.raises(InputError, match=r"no contig|a region is NAME"):
        locate_regions(text, CONTIGS)


@pytest.mark.parametrize(
    "header",
    [
        "#chrom\tstart\tend\n",
        "chrom\tstart\tend\n",
        "Chr\tchromStart\tchromEnd\tname\n",
        "browser position c1:1-100\nbrowser hide all\ntrack name=x description='a b'\n",
        "\ufeff",
        "\n\n",
    ],
)
def test_headers_of_bed(header, tmp_path):
    path = tmp_path / "x.bed"
    path.write_text(f"{header}c1\t5\t10\n")
    assert read_targets(str(path), CONTIGS) == [(0, 5, 10)]


@pytest.mark.parametrize(
    "text", ["c1:", "c1:-", "c1:5--6", "c1:5-6-7", "c1:\u0665", "c1:1 -2", "c1:10001", "c1:+5", ":5"]
)
def test_broken_regions(text):
    with pytest.raises(InputError) as refused:
        locate_region(text, CONTIGS)
    assert str(refused.value).startswith(f"{text}: ")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_bed_of_any_line_end_and_packing(pack, tmp_path):
    path = tmp_path / "x.bed"
    path.write_bytes(pack(b"track name=x\r\nc1\t5\t10\r\n\r\na,b\t0\t9000\tname\t0\t+"))
    assert read_targets(str(path), CONTIGS) == [(0, 5, 10), (3, 0, 90)]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"c1\t5\t10\nc1\t\xd9\xa5\t10\n", "record 2: expected columns contig, start and end"),
        (b"c1\t5\t\n", "record 1: expected columns contig, start and end"),
        (b"c1,5,10\n", r"record 1: expected columns contig, start and end \(columns are separated by tabs\)"),
        (gzip.compress(b"c1\t5\t10\n" * 99, mtime=0)[:30], "truncated: the compressed data end"),
        (b"\xff\xfe\x00", "is not text"),
    ],
)
def test_broken_bed(data, says, tmp_path):
    path = tmp_path / "x.bed"
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"x\.bed: {says}"):
        read_targets(str(path), CONTIGS)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("header", [HEADER, b""])
def test_interval_lists_are_1_based_and_inclusive(pack, header, tmp_path):
    path = tmp_path / "x.interval_list"
    path.write_bytes(pack(header + b"c1\t6\t10\t+\tname\na,b\t1\t9000\t-\tother\n"))
    assert read_targets(str(path), CONTIGS) == [(0, 5, 10), (3, 0, 90)]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (HEADER + b"c1\t0\t10\t+\tname\n", "record 4: positions of an interval list begin at 1"),
        (HEADER + b"c2\t1\t10\t+\tname\n", "record 4: no contig 'c2' in the reference"),
        (HEADER + b"c1\t20\t10\t+\tname\n", "record 4: ends before it starts"),
        (b"@SQ\tSN:c1\tLN:9\nc1\t1\t2\t+\tname\n", "record 1: its contig 'c1' has 9 bases, in the reference 10000"),
        (b"@SQ\tSN:c1\nc1\t1\t2\t+\tname\n", "record 1: @SQ without SN or LN"),
    ],
)
def test_broken_interval_lists(data, says, tmp_path):
    path = tmp_path / "x.interval_list"
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"x\.interval_list: {says}"):
        read_targets(str(path), CONTIGS)


def test_a_list_of_regions(tmp_path):
    path = tmp_path / "x.list"
    path.write_text("# mine\nc1:6-10\n\na,b\nHLA-A*01:01:1,0-20\n")
    assert read_targets(str(path), CONTIGS) == [(0, 5, 10), (3, 0, 90), (2, 9, 20)]
    path.write_text("c1:6-10\nc9\n")
    with pytest.raises(InputError, match=r"x\.list: record 2: c9: no contig 'c9' in the reference, which has 'c1'"):
        read_targets(str(path), CONTIGS)


def test_targets_may_be_regions_and_a_file_goes_before_a_region(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_targets("a,b", CONTIGS) == [(3, 0, 90)]
    (tmp_path / "a,b").write_text("c1\t5\t10\n")
    assert read_targets("a,b", CONTIGS) == [(0, 5, 10)]
    with pytest.raises(InputError, match=r"none\.bed: no such file, and no contig 'none.bed' in the reference"):
        read_targets("none.bed", CONTIGS)


def test_places_are_padded_merged_and_others_left_out(tmp_path):
    bed = tmp_path / "x.bed"
    bed.write_text("c1\t100\t200\nc1\t240\t300\n")
    places = CallTargets(regions=("c1:9,990-",), targets=(str(bed), "a,b:5-6"), excluded=("c1:150-160",), padding=20)
    assert places.find(REFERENCE) == [(0, 80, 149), (0, 160, 320), (0, 9969, 10_000), (3, 0, 26)]
    assert places.is_partial and places.files == [bed]
    whole = CallTargets(excluded=("c1", "a,b:1-50"))
    assert whole.find(REFERENCE) == [(1, 0, 500), (2, 0, 700), (3, 50, 90)] and not whole.is_partial
    with pytest.raises(UsageError, match="--interval-padding"):
        places_of({"interval_padding": -1})


def spans(most: int) -> st.SearchStrategy:
    pieces = st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(1, 30))
    return st.lists(pieces.map(lambda x: Target(x[0], x[1], x[1] + x[2])), max_size=most).map(merge_targets)


def places_in(targets) -> list[tuple[int, int]]:
    return [(contig, place) for contig, start, stop, *_ in targets for place in range(start, stop)]


@given(spans(8), spans(8))
def test_subtraction_is_that_of_sets(targets, excluded):
    left = subtract(targets, excluded)
    assert places_in(left) == sorted(set(places_in(targets)) - set(places_in(excluded)))
    assert merge_targets(left) == left


@given(spans(12), st.integers(5, 40), st.integers(0, 20))
def test_windows_hold_each_base_of_the_targets_once(targets, size, gap):
    windows = list(join_targets(targets, size, gap))
    assert places_in(target for window in windows for target in window.targets) == places_in(targets)
    for window in windows:
        assert window.stop - window.start <= size
        masked = [(window.contig, window.start + i) for i in np.flatnonzero(window.mask()).tolist()]
        assert masked == places_in(window.targets)
        if window.stop - window.start > 1:
            left, right = window.halves()
            assert left.mask().sum() + right.mask().sum() == window.mask().sum()
            assert left.start == window.start and right.stop == window.stop and left.stop <= right.start
    for one, other in itertools.pairwise(windows):  # no window could have taken the next one's first target
        first = other.targets[0]
        assert one.contig != other.contig or first.start - one.stop > gap or first.stop - one.start > size


def test_many_near_targets_are_few_windows():
    near = [Target(0, 1000 * i, 1000 * i + 100) for i in range(200_000)]
    assert len(list(join_targets(near, 1 << 17))) <= 200_000 * 1000 // (1 << 17) + 10
    assert len(list(join_targets(near, 1 << 17, 899))) == 200_000
