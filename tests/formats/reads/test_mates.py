"""Where mates are, by the names of the first reads and of the files."""

import pytest

from helpers.batch_samples import read_all
from readwarp.errors import InputError
from readwarp.formats.reads.mates import (
    Name,
    check_files,
    explain_names,
    find_other_file,
    is_interleaved,
    mates_of_files,
    parse_header,
)
from readwarp.formats.reads.raw import ReadInput


def fastq(*headers: str) -> str:
    return "".join(f"@{header}\nACGT\n+\nIIII\n" for header in headers)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("r7/1", Name("r7", 1)),
        ("r7/2 x", Name("r7", 2)),
        ("r7", Name("r7", 0)),
        ("M01:5:FC:1:2:3:4 1:N:0:ACGT", Name("M01:5:FC:1:2:3:4", 1)),
        ("M01:5:FC:1:2:3:4 2:Y:18:1\r", Name("M01:5:FC:1:2:3:4", 2)),
        ("M01:5:FC:1:2:3:4 2:N:0\r", Name("M01:5:FC:1:2:3:4", 2)),
        ("SRR1.1 1 length=100", Name("SRR1.1", 0)),
        ("r 1:2:3", Name("r", 0)),
        ("", Name("", 0)),
    ],
)
def test_headers(line, name):
    assert parse_header(line) == name


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (["a/1", "a/2"], True),
        (["a 1:N:0:A", "a 2:N:0:A", "b 1:N:0:A", "b 2:N:0:A"], True),
        (["a", "a", "b", "b"], True),
        (["a", "a", "b", "b", "c"], True),  # the mate of the last one lies beyond the sample
        (["a", "a"], False),  # reads may have one name
        (["a", "a", "a", "a"], False),
        (["a/1", "a/1"], False),
        (["a/1", "b/1"], False),
        (["a", "a", "b", "c"], False),
        (["a"], False),
        ([], False),
    ],
)
def test_interleaved(headers, expected):
    assert is_interleaved([parse_header(header) for header in headers]) == expected


@pytest.mark.parametrize(
    ("one", "other", "mates"),
    [
        ("S_R1_001.fq.gz", "S_R2_001.fq.gz", (1, 2)),
        ("S_R2_001.fq.gz", "S_R1_001.fq.gz", (2, 1)),
        ("SRR1_2.fastq", "SRR1_1.fastq", (2, 1)),
        ("x.R2.fq", "x.R1.fq", (2, 1)),
        ("S_L002_R1.fq", "S_L001_R1.fq", None),  # lanes
        ("sample2.fq", "sample1.fq", None),
        ("b_2.fq", "a_1.fq", None),
        ("x_3.fq", "x_1.fq", None),
    ],
)
def test_names_of_files(one, other, mates):
    assert mates_of_files((f"/data/{one}", f"/other/{other}")) == mates


@pytest.mark.parametrize(
    ("files", "options", "said"),
    [
        ({"x.fq": fastq("a/1", "a/2")}, {}, r"x\.fq: looks interleaved \(a occurs twice\): give .* --single"),
        ({"x.fq": fastq("a/1", "a/2")}, {"single": True}, None),
        ({"x.fq": fastq("a/1", "a/2")}, {"interleaved": True}, None),
        ({"x.fq": ">a/1\nAC\nGT\n>a/2\nAC\n"}, {}, "looks interleaved"),
        ({"1.fq": fastq("a/1", "a/2"), "2.fq": fastq("b/1", "b/2")}, {}, r"1\.fq: looks .* give --interleaved \(-p\)$"),
        ({"b.fq": fastq("a/2"), "a.fq": fastq("a/1")}, {}, r"b\.fq: contains R2 reads, .*a\.fq R1 reads"),
        ({"b": fastq("a 2:N:0:A"), "a": fastq("a 1:N:0:A")}, {}, "swap the two files"),
        ({"x_R2.fq": fastq("a"), "x_R1.fq": fastq("a")}, {}, r"x_R2\.fq: contains R2 reads"),
        ({"x_R2.fq": fastq("a/1"), "x_R1.fq": fastq("a/2")}, {}, None),  # the reads know better
        ({"x": fastq("a/1"), "y": fastq("b/1")}, {}, r"y: contains R1 reads, as .*x does: give files as R1 R2"),
        ({"x": fastq("a/2"), "y": fastq("b/2")}, {}, r"y: contains R2 reads, as"),
        ({"x": fastq("a/1"), "y": fastq("a/2")}, {}, None),
        ({"x": "", "y": ""}, {}, None),
    ],
)  # fmt: skip
def test_what_is_refused(files, options, said, tmp_path):
    """Before the job begins, and again where reads are read, as those of a pipe are."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    read_input = ReadInput(tuple(str(tmp_path / name) for name in files), **options)
    if said is None:
        check_files(read_input)
        return
    with pytest.raises(InputError, match=said):
        check_files(read_input)
    with pytest.raises(InputError, match=said):
        read_all(*read_input.paths)


@pytest.mark.parametrize(
    ("headers", "options", "said"),
    [
        (["a", "a", "b", "c", "c"], {}, "neighbours have the same name (a), but are aligned as single reads: add"),
        (["a", "b", "c/1", "c/2"], {}, "neighbours have the same name (c), but are aligned"),
        (["a", "a", "b"], {"single": True}, None),
        (["a", "a", "b"], {"interleaved": True}, None),
        (["a", "b", "a", "b"], {}, None),
        (["a", "b", "c"], {"interleaved": True}, "no two neighbours among the first reads have the same name"),
        (["a"], {"interleaved": True}, None),
        ([], {"interleaved": True}, None),
    ],
)
def test_neighbours_that_contradict_the_options(headers, options, said, tmp_path, caplog):
    (tmp_path / "x.fq").write_text(fastq(*headers))
    read_all(tmp_path / "x.fq", batch_bases=8, **options)
    assert [record.getMessage().partition(".fq: ")[2][: len(said)] for record in caplog.records] == [said] * bool(said)


def test_neighbours_in_two_files_of_mates_are_no_concern(tmp_path, caplog):
    for name in "xy":
        (tmp_path / name).write_text(fastq("a", "a", "b"))
    read_all(tmp_path / "x", tmp_path / "y")
    assert not caplog.records


def test_reads_of_a_pipe_are_not_taken_for_the_check():
    check_files(ReadInput(("-",)))


def test_names_that_differ():
    files = ReadInput(("a", "b"))
    assert "write them as /1 and /2" in explain_names(files, "r5_1", "r5_2")
    assert "filtered or sorted alone" in explain_names(files, "a", "b")


def test_the_file_of_the_mates(tmp_path):
    for name in ("S_L001_R1_001.fq.gz", "S_L001_R2_001.fq.gz", "t_1.fq", "u_2.fq"):
        (tmp_path / name).touch()
    assert find_other_file(str(tmp_path / "S_L001_R1_001.fq.gz")) == tmp_path / "S_L001_R2_001.fq.gz"
    assert find_other_file(str(tmp_path / "S_L001_R2_001.fq.gz")) is None
    assert find_other_file(str(tmp_path / "t_1.fq")) is None
    assert find_other_file(str(tmp_path / "u_2.fq")) is None
