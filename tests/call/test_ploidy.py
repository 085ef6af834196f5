"""BED files of ploidies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.call.ploidy import read_ploidies
from readwarp.errors import InputError
from readwarp.index.reference import Reference
from readwarp.ragged import offsets_of

LENGTHS = (100, 50, 70)
REFERENCE = Reference(("c1", "bare", "X y"), offsets_of(LENGTHS), ("",) * 3, np.empty(0, np.uint8))


def test_positions(tmp_path):
    path = tmp_path / "a.bed"
    path.write_text(
        "# sex\ntrack name=x\nX y\t10\t20\t1\tname\r\n\nc1 5 10 4\nc1\t8\t12\t4\nX y\t60\t999\t3\nc1\t3\t3\t7\n"
    )
    ploidies = read_ploidies(path, REFERENCE, 2)
    everywhere = [ploidies.at(contig, np.arange(length)).tolist() for contig, length in enumerate(LENGTHS)]
    assert everywhere[0] == [2] * 5 + [4] * 7 + [2] * 88
    assert everywhere[1] == [2] * 50
    assert everywhere[2] == [2] * 10 + [1] * 10 + [2] * 40 + [3] * 10
    assert (
        ploidies.at(0, np.array([11, 4, 5])).tolist() == [4, 2, 4] and ploidies.at(0, np.empty(0, int)).dtype == np.int8
    )


def test_an_empty_file_changes_nothing(tmp_path):
    path = tmp_path / "a.bed"
    path.write_text("")
    assert read_ploidies(path, REFERENCE, 1).at(2, np.arange(3)).tolist() == [1, 1, 1]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 30)), max_size=8))
def test_any_order_of_lines(tmp_path_factory, spans):
    path = tmp_path_factory.mktemp("bed") / "a.bed"
    path.write_text("".join(f"c1\t{start}\t{start + length}\t5\n" for start, length in spans))
    inside = {p for start, length in spans for p in range(start, start + length)}
    found = read_ploidies(path, REFERENCE, 2).at(0, np.arange(100))
    assert found.tolist() == [5 if p in inside else 2 for p in range(100)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("c1\t1\t2", "not contig, start, end and ploidy"),
        ("c1\t1\t2\tx", "not contig, start, end and ploidy"),
        ("c1\t-1\t2\t1", "not contig, start and end"),
        ("c9\t1\t2\t1", "no contig 'c9'"),
        ("c1\t5\t3\t1", "ends before it starts"),
        ("c1\t900\t999\t1", "lies outside 'c1'"),
        ("c1\t1\t2\t1.5", "not contig, start, end and ploidy"),
        ("c1\t1\t2\t101", "ploidy 101 is not 0 to 100"),
        ("c1\t15\t25\t1", "ploidy 1, and 3 in record 1 that overlaps it"),
    ],
)
def test_broken_lines(tmp_path, line, reason):
    path = tmp_path / "a.bed"
    path.write_text(f"c1\t10\t20\t3\n{line}\n")
    with pytest.raises(InputError, match=rf"a\.bed: record 2: .*{reason}"):
        read_ploidies(path, REFERENCE, 2)


def test_files_that_are_none(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_ploidies(tmp_path / "none.bed", REFERENCE, 2)
    (tmp_path / "binary.bed").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not text"):
        read_ploidies(tmp_path / "binary.bed", REFERENCE, 2)


def test_highest_within_spans_that_cross_borders(tmp_path):
    path = tmp_path / "a.bed"
    path.write_text("one\t100\t200\t1\none\t300\t400\t4\n")
    reference = Reference(("one",), offsets_of([1000]), ("",), np.empty(0, np.uint8))
    ploidies = read_ploidies(path, reference, 2)
    spans = np.array([(0, 50), (110, 150), (150, 250), (250, 310), (90, 410), (320, 390)]).T
    assert ploidies.max_within(0, *spans).tolist() == [2, 1, 2, 4, 4, 4]
    assert read_ploidies(None, reference, 3).max_within(0, *spans).tolist() == [3] * 6
