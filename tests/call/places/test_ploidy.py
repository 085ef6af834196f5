"""BED files of ploidies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.call.places.ploidy import read_ploidies
from readwarp.errors import InputError
from readwarp.index.reference import Reference
from readwarp.ragged import offsets_of

LENGTHS = (100, 50, 70)
SAMPLES = ("a",)
REFERENCE = Reference(("c1", "bare", "X y"), offsets_of(LENGTHS), ("",) * 3, np.empty(0, np.uint8))


def test_positions(tmp_path):
    path = tmp_path / "a.bed"
    path.write_text(
        "# sex\ntrack name=x\nX y\t10\t20\t1\t.\r\n\nc1 5 10 4\nc1\t8\t12\t4\nX y\t60\t999\t3\nc1\t3\t3\t7\n"
    )
    ploidies = read_ploidies(path, REFERENCE, 2, SAMPLES)
    everywhere = [ploidies.at(contig, np.arange(length)).ravel().tolist() for contig, length in enumerate(LENGTHS)]
    assert everywhere[0] == [2] * 5 + [4] * 7 + [2] * 88
    assert everywhere[1] == [2] * 50
    assert everywhere[2] == [2] * 10 + [1] * 10 + [2] * 40 + [3] * 10
    assert (
        ploidies.at(0, np.array([11, 4, 5])).tolist() == [[4], [2], [4]]
        and ploidies.at(0, np.empty(0, int)).dtype == np.int8
    )


def test_an_empty_file_changes_nothing(tmp_path):
    path = tmp_path / "a.bed"
    path.write_text("")
    assert read_ploidies(path, REFERENCE, 1, SAMPLES).at(2, np.arange(3)).tolist() == [[1]] * 3


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 30)), max_size=8))
def test_any_order_of_lines(tmp_path_factory, spans):
    path = tmp_path_factory.mktemp("bed") / "a.bed"
    path.write_text("".join(f"c1\t{start}\t{start + length}\t5\n" for start, length in spans))
    inside = {p for start, length in spans for p in range(start, start + length)}
    found = read_ploidies(path, REFERENCE, 2, SAMPLES).at(0, np.arange(100))[:, 0]
    assert found.tolist() == [5 if p in inside else 2 for p in range(100)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("c1\t1\t2", "expected columns contig, start, end and ploidy"),
        ("c1\t1\t2\tx", "expected columns contig, start, end and ploidy"),
        ("c1\t-1\t2\t1", "expected columns contig, start and end"),
        ("c9\t1\t2\t1", "no contig 'c9'"),
        ("c1\t5\t3\t1", "ends before it starts"),
        ("c1\t900\t999\t1", "lies outside 'c1'"),
        ("c1\t1\t2\t1.5", "expected columns contig, start, end and ploidy"),
        ("c1\t1\t2\t101", "ploidy 101 is not 0 to 100"),
        ("c1\t15\t25\t1", "ploidy 1, but 3 in record 1, which overlaps it"),
        ("c1\t15\t25\t1\tx", "no sample 'x' in the alignments"),
        ("c1\t15\t25\ta\ta", "expected columns contig, start, end and ploidy"),
        ("c1\t15\t25\ta\t101", "ploidy 101 is not 0 to 100"),
    ],
)
def test_broken_lines(tmp_path, line, reason):
    path = tmp_path / "a.bed"
    path.write_text(f"c1\t10\t20\t3\n{line}\n")
    with pytest.raises(InputError, match=rf"a\.bed: record 2: .*{reason}"):
        read_ploidies(path, REFERENCE, 2, SAMPLES)


def test_files_that_are_none(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_ploidies(tmp_path / "none.bed", REFERENCE, 2, SAMPLES)
    (tmp_path / "binary.bed").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not text"):
        read_ploidies(tmp_path / "binary.bed", REFERENCE, 2, SAMPLES)


def test_highest_within_spans_that_cross_borders(tmp_path):
    path = tmp_path / "a.bed"
    path.write_text("one\t100\t200\t1\none\t300\t400\t4\n")
    reference = Reference(("one",), offsets_of([1000]), ("",), np.empty(0, np.uint8))
    ploidies = read_ploidies(path, reference, 2, SAMPLES)
    spans = np.array([(0, 50), (110, 150), (150, 250), (250, 310), (90, 410), (320, 390)]).T
    assert ploidies.max_within(0, *spans).ravel().tolist() == [2, 1, 2, 4, 4, 4]
    assert read_ploidies(None, reference, 3, SAMPLES).max_within(0, *spans).ravel().tolist() == [3] * 6


def test_a_sample_of_its_own_ploidy(tmp_path):
    """Its rows go before those of all, in any order of lines; rows of samples that are not called are no error."""
    lines = [
        "c1\t20\t40\t1\tm",
        "c1\t10\t50\t3",
        "c1\t60\t100\t4\tm",
        "c1\t90\t95\t4\tm",
        "bare\t0\t50\tm\t0",  # freebayes' order
        "c1\t20\t40\t1\ttwin",
        "c1\t60\t100\t4\ttwin",
        "bare\t0\t50\t0\ttwin",
        "c1\t0\t100\t7\tother",
    ]
    for order in (lines, lines[::-1]):
        path = tmp_path / "a.bed"
        path.write_text("\n".join(order) + "\n")
        ploidies = read_ploidies(path, REFERENCE, 2, ("f", "m", "twin"), {"other"})
        assert len(ploidies.tables) == 2
        found = ploidies.at(0, np.arange(100))
        assert found[:, 0].tolist() == [2] * 10 + [3] * 40 + [2] * 50
        assert found[:, 1].tolist() == [2] * 10 + [3] * 10 + [1] * 20 + [3] * 10 + [2] * 10 + [4] * 40
        assert found.flags.c_contiguous and (found[:, 1] == found[:, 2]).all()
        assert ploidies.at(1, np.arange(3)).tolist() == [[2, 0, 0]] * 3
        assert ploidies.max_within(0, np.array([0, 20, 30]), np.array([100, 40, 41])).tolist() == [
            [3, 4, 4],
            [3, 1, 1],
            [3, 3, 3],
        ]


@settings(max_examples=60)
@given(st.data())
def test_ploidies_position_by_position(tmp_path_factory, data):
    """Any intervals of all samples and of two of three; the most copies of any spans."""
    size, contigs = 30, st.sampled_from([0, 2])
    expected = {name: np.full((3, size), -1) for name in ("", "x", "y")}
    lines = []
    for name, copies in expected.items():
        for _ in range(data.draw(st.integers(0, 4))):
            contig, start = data.draw(contigs), data.draw(st.integers(0, size - 1))
            stop = data.draw(st.integers(start + 1, size))
            if (copies[contig, start:stop] == -1).all():
                copies[contig, start:stop] = number = data.draw(st.integers(0, 4))
                lines.append("\t".join([REFERENCE.names[contig], str(start), str(stop), str(number), name]).rstrip())
    path = tmp_path_factory.mktemp("bed") / "a.bed"
    path.write_text("".join(f"{line}\n" for line in data.draw(st.permutations(lines))))
    ploidies = read_ploidies(path, REFERENCE, 2, ("x", "y", "z"))
    common = np.where(expected[""] < 0, 2, expected[""])
    own = [np.where(expected[name] < 0, common, expected[name]) for name in ("x", "y")] + [common]
    start = np.repeat(np.arange(size), size - np.arange(size))
    stop = np.concatenate([np.arange(first + 1, size + 1) for first in range(size)])
    for contig in range(3):
        assert ploidies.at(contig, np.arange(size)).T.tolist() == [copies[contig].tolist() for copies in own]
        most = [[copies[contig, low:high].max() for copies in own] for low, high in zip(start, stop, strict=True)]
        assert ploidies.max_within(contig, start, stop).tolist() == most
