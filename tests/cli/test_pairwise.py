"""The command `readwarp pairwise`."""

import gzip
import os

import pysam
import pytest

from readwarp.cli import main


@pytest.fixture
def files(tmp_path):
    queries, targets = tmp_path / "q.fa", tmp_path / "t.fa.gz"
    queries.write_text(">a first\nACGTTGCAACGT\n>b\nACGTACGTTT\n>c\nGGGG\n")
    with gzip.open(targets, "wt") as out:
        out.write(">x\nTTACGTTGCACGTTT\n>y\nACGTACGTTT\n>z\nAAAA\n")
    return str(queries), str(targets)


def test_tsv(files, capsys):
    assert main(["pairwise", *files, "--device", "cpu", "-A", "2", "-B", "4", "-O", "2", "-E", "1"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["a", "x", "19", "0", "12", "2", "13", "7=1I4="]
    assert rows[1] == ["b", "y", "20", "0", "10", "0", "10", "10="]
    assert rows[2] == ["c", "z", "0", "0", "0", "0", "0", "*"]


def test_scores_alone_and_one_query_for_all(files, tmp_path, capsys):
    one = tmp_path / "one.fa"
    one.write_text(">o\nACGT\n")
    for order in ((str(one), files[1]), (files[0], str(one))):
        assert main(["pairwise", *order, "--no-traceback", "--device", "cpu", "--mode", "local"]) == 0
        assert [line.split("\t")[2] for line in capsys.readouterr().out.splitlines()] in (
            ["4", "4", "1"],
            ["4", "4", "1"],
        )


def test_sam_is_sam(files, tmp_path):
    out = tmp_path / "out.sam"
    assert main(["pairwise", *files, "--format", "sam", "-o", str(out), "--device", "cpu"]) == 0
    with pysam.AlignmentFile(str(out)) as sam:
        records = list(sam)
        assert sam.references == ("x", "y", "z")
    assert [r.is_unmapped for r in records] == [False, False, True]
    assert (records[1].cigarstring, records[1].get_tag("AS"), records[1].get_tag("NM")) == ("10=", 10, 0)
    assert main(["pairwise", *files, "-o", str(out), "--device", "cpu"]) == 2  # exists


def test_unequal_numbers_are_an_error_and_leave_no_file(files, tmp_path, capsys):
    more, out = tmp_path / "more.fa", tmp_path / "out.tsv"
    more.write_text(">x\nA\n>y\nC\n>z\nG\n>w\nT\n")
    assert main(["pairwise", files[0], str(more), "-o", str(out), "--device", "cpu"]) == 3
    assert "ends after 3 records" in capsys.readouterr().err and not out.exists()
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("arguments", [["--format", "sam", "--no-traceback"], ["-A", "0"], ["--mode", "half"]])
def test_usage(files, arguments):
    assert main(["pairwise", *files, *arguments]) == 2


def test_damaged_input(files, tmp_path):
    broken = tmp_path / "broken.fq"
    broken.write_text("@a\nACGT\n+\nII\n")
    assert main(["pairwise", str(broken), files[1], "--device", "cpu"]) == 3
    assert main(["pairwise", str(tmp_path / "none.fa"), files[1], "--device", "cpu"]) == 3


def test_a_pipe_is_written_to_and_not_replaced(files, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert main(["pairwise", *files, "-o", str(pipe), "--device", "cpu"]) == 0
    assert os.read(reader, 1 << 16).count(b"\n") == 3 and pipe.is_fifo()
    os.close(reader)


def test_proteins_are_refused(write, capsys):
    queries, targets = write("q.fa", ">a\nACGT\n>b\nMKVE\n"), write("t.fa", ">t\nACGTT\n")
    assert main(["pairwise", queries, targets]) == 3
    said = capsys.readouterr().err
    assert said == f"readwarp: error: {queries}: record b: has 'E' at position 4, which is not a nucleotide\n"
