"""Files that are given twice, outputs that are inputs, and records without end: refused before anything is lost."""

import gzip
import os
from pathlib import Path

import pytest

from helpers.command_samples import record, run_main
from readwarp.formats.common import fasta, files, intervals, limited
from readwarp.formats.reads import fastx_chunks


@pytest.fixture
def refused(capsys):
    def refused(code: int, *arguments: object) -> str:
        assert run_main(arguments) == code
        said = capsys.readouterr().err
        assert said.startswith("readwarp: error: ") and said.count("\n") == 1, said
        return said.removeprefix("readwarp: error: ").strip()

    return refused


@pytest.fixture(params=["symlink", "link", "dot"])
def other_name(request, mates, tmp_path):
    """Another name of the first mates' file."""
    path = tmp_path / "other.sam"
    if request.param == "dot":
        return f"{mates[0].parent}/./{mates[0].name}"
    getattr(os, request.param)(mates[0], path)
    return path


@pytest.mark.parametrize("command", ["align", "run"])
def test_mates_of_one_file(command, other_name, reference, mates, tmp_path, refused):
    output = tmp_path / ("o.bam" if command == "align" else "out")
    said = refused(2, command, reference, mates[0], other_name, "-o", output)
    assert said == f"{other_name}: is given as both files of a pair (it is {mates[0]})" and not output.exists()


def test_a_lane_given_twice(reference, mates, refused):
    assert refused(2, "align", reference, *mates, *mates) == f"{mates[0]}: is given twice"


def test_an_output_that_is_an_input_by_a_link(reference, mates, tmp_path, refused):
    path = tmp_path / "o.sam"
    os.link(mates[0], path)
    assert refused(2, "align", reference, *mates, "-o", path, "-f") == f"{path}: is an input too ({mates[0]})"


@pytest.mark.parametrize(
    "command", [["call", "@{}"], ["genotype", "@{}"], ["genotype", "--list", "{}"], ["call", "s.bam", "-L", "{}"]]
)
def test_an_output_that_is_a_list(command, reference, write, refused):
    path = write("l.vcf", "one\t1\t2\n")
    words = [word.format(path) for word in command]
    assert refused(2, words[0], reference, *words[1:], "-o", path, "-f") == f"{path}: is an input too"
    assert Path(path).read_text() == "one\t1\t2\n"


@pytest.mark.parametrize("option", ["--log", "--metrics"])
@pytest.mark.parametrize("which", ["reads", "link", "output", "reference"])
def test_a_log_that_is_an_input_or_output(option, which, reference, mates, tmp_path, refused):
    link, output = tmp_path / "link", tmp_path / "o.bam"
    link.symlink_to(mates[0])
    path = {"reads": mates[0], "link": link, "output": output, "reference": reference}[which]
    before = mates[0].read_bytes(), reference.read_bytes()
    said = refused(2, "align", reference, *mates, "-o", output, option, path)
    assert said.startswith(f"{option} {path}: the command itself reads or writes this file")
    assert (mates[0].read_bytes(), reference.read_bytes()) == before and not output.exists()


@pytest.mark.parametrize(
    ("third", "is_right"), [("", True), ("a x", True), ("b", False), ("a", False), ("a xy", False)]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_name_on_the_third_line(third, is_right, end, reference, write, tmp_path, refused):
    path = write("r.fq", record("first", "ACGT") + f"@a x{end}ACGT{end}+{third}{end}IIII{end}")
    command = ("align", reference, path, "-q", "-o", tmp_path / "o.sam")
    if is_right:
        assert run_main(command) == 0
    else:
        assert refused(3, *command) == f"{path}: record 2: its third line has another name than its first"


def test_a_record_without_end(reference, write, tmp_path, monkeypatch, refused):
    monkeypatch.setattr(fastx_chunks, "MAX_BYTES", 1 << 20)
    path = write("r.fq.gz", gzip.compress(b"@r\n" + b"A" * (5 << 20)))
    options = ("-q", "-o", tmp_path / "o.sam", "--batch-bases", "1000")
    assert refused(3, "align", reference, path, *options) == f"{path}: record 1: longer than 1 MiB, or not FASTQ"


def test_a_contig_and_a_header_without_end(write, tmp_path, monkeypatch, refused):
    monkeypatch.setattr(fasta, "MAX_CONTIG", 1000)
    path = write("r.fa.gz", gzip.compress(b">r\n" + b"A" * 2000))
    said = refused(3, "index", path, "-q", "-o", tmp_path / "r.rwx")
    assert said == f"{path}: record r: longer than 1,000 bases, the limit of BAM"
    monkeypatch.setattr(fasta, "MAX_HEADER", 1 << 20)
    path = write("h.fa.gz", gzip.compress(b">" + b"A" * (2 << 20)))
    said = refused(3, "index", path, "-q", "-o", tmp_path / "r.rwx")
    assert said == f"{path}: a header is longer than 1 MiB"


def test_texts_without_end(reference, mates, write, tmp_path, monkeypatch, refused):
    bam, output = tmp_path / "s.bam", ("-q", "-o", tmp_path / "o.vcf")
    assert run_main(["align", reference, *mates, "-o", bam, "--write-index", "-q"]) == 0
    for module, name in ((intervals, "MAX_TEXT"), (limited, "MAX_RECORD"), (files, "MAX_LIST")):
        monkeypatch.setattr(module, name, 1 << 20)
    bed = write("t.bed.gz", gzip.compress(b"one\t1\t2\n" * (1 << 18)))
    assert refused(3, "call", reference, bam, "-L", bed, *output) == f"{bed}: more than 1 MiB of text"
    vcf = write("a.vcf.gz", gzip.compress(b"##fileformat=VCFv4.2\n##" + b"A" * (4 << 20)))
    assert refused(3, "call", reference, bam, "--alleles", vcf, *output) == f"{vcf}: a line is longer than 1 MiB"
    listing = write("list.txt", b"\n" * (2 << 20))
    said = refused(3, "genotype", reference, f"@{listing}", *output)
    assert said == f"{listing}: longer than 1 MiB: is not a list of file names (is it a gVCF?)"
    said = refused(3, "pairwise", write("q.fa.gz", gzip.compress(b">q\n" + b"A" * (4 << 20))), mates[0])
    assert said.endswith("q.fa.gz: a record is longer than 1 MiB")
