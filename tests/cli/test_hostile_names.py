"""Commands with names that steer shells, terminals and file systems: held as they are, or refused in one line."""

import json
from pathlib import Path

import pysam
import pytest

from helpers.command_samples import CONTIGS, fasta, letters, pairs, record, run_main
from helpers.making import write_bam

SAMPLE = "$(touch x) `id` <b>'\";é日😀 {} %s [red]y[bold]"


@pytest.fixture
def reads(tmp_path, monkeypatch):
    """In a folder of its own: ref.fa, x_1.fq and x_2.fq."""
    monkeypatch.chdir(tmp_path)
    Path("ref.fa").write_text(fasta(CONTIGS))
    for mate in (1, 2):
        Path(f"x_{mate}.fq").write_text("".join(record(name, both[mate - 1]) for name, *both in pairs(60)))
    return ["ref.fa", "x_1.fq", "x_2.fq"]


def refused(capsys, *arguments):
    """The one line of an error after which nothing new is there; and the exit code."""
    before = set(Path().rglob("*"))
    code = run_main(arguments)
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and said.err[:-1].isprintable(), said
    assert {path for path in set(Path().rglob("*")) - before if path.suffix != ".rwx"} == set()
    return said.err.removeprefix("readwarp: error: ").rstrip(), code


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        *[("a/b", "has a slash"), ("../a", "has a slash"), ("..", "begins with '.'"), ("-a", "begins with '-'")],
        *[("s3:a", "begins like an address"), ("é" * 100, "has more than 191 bytes")],
    ],
)
def test_results_are_not_named_after_it(reads, capsys, sample, said):
    text, code = refused(capsys, "run", *reads, "-o", "out", "-q", f"--sample={sample}")
    assert code == 2
    assert text == f"read group x: its sample {sample} {said}, so no file can be named after it: give --sample NAME"


def test_the_sample_of_a_file_is_looked_at_too(reads, capsys):
    write_bam(Path("u.bam"), {"one": 6000}, [], {"RG": [{"ID": "g", "SM": "../../etc/x"}]})
    text, code = refused(capsys, "run", "ref.fa", "u.bam", "-o", "out", "-q")
    assert code == 2 and text.startswith("read group g: its sample ../../etc/x has a slash")


@pytest.mark.parametrize("command", ["align", "call"])
def test_a_sample_that_steers_the_terminal(reads, capsys, command):
    write_bam(
        Path("u.bam"), {name: len(text) for name, text in CONTIGS.items()}, [], {"RG": [{"ID": "g", "SM": "a\x1b[2J"}]}
    )
    text, code = refused(capsys, command, "ref.fa", "u.bam", "-q", "-o", "o.bam" if command == "align" else "o.vcf")
    assert code == 3 and text.startswith("u.bam: ") and text.endswith("has '\\x1b', which a header cannot hold")


def test_a_traceback_does_not_steer_the_terminal(reads, capsys):
    """Nor do the lines of the log file: names of a list of contigs, of a file in a list, and of a sample."""
    write_bam(Path("u.bam"), {"one": 6000}, [], {"RG": [{"ID": "g", "SM": "a\x1b[2J"}]})
    Path("list.txt").write_text("b\x1b[31m.bam\n")
    Path("alt.txt").write_text("c\x1b]0;x\x07\t0\n")
    commands = (
        ("align", *reads, "--alt", "alt.txt", "-o", "o.bam"),
        ("call", "ref.fa", "@list.txt", "-o", "o.vcf"),
        ("call", "ref.fa", "u.bam", "-o", "o.vcf"),
    )
    for command in commands:
        assert run_main([*command, "-v", "--log", "log.txt"]) in (2, 3)
        said = capsys.readouterr().err
        assert "Traceback" in said and all(map(str.isprintable, said.splitlines())) and "\\x1b" in said
        assert all(map(str.isprintable, Path("log.txt").read_text().splitlines()))


@pytest.mark.parametrize("option", ["--sample", "--library", "--read-group"])
def test_options_with_names_that_no_header_holds(reads, capsys, option):
    value = "@RG\\tID:a\\tSM:a\u2028b" if option == "--read-group" else "a\u2028b"
    text, code = refused(capsys, "align", *reads, "-o", "o.bam", "-q", option, value)
    assert code == 2 and "has '\\u2028', which a header cannot hold" in text


def test_a_file_name_that_names_no_read_group(reads, capsys):
    Path("a\nb\x1b[31m.fq").write_text(record("r", letters(80, 3)))
    text, code = refused(capsys, "align", "ref.fa", "a\nb\x1b[31m.fq", "-o", "o.bam", "-q")
    assert code == 3
    assert text == (
        "a b\\x1b[31m.fq: its name, by which its reads are called, has '\\n', which a header cannot hold: "
        "give --read-group"
    )


def test_odd_file_names_in_headers(reads, capsys):
    """The command line is in the header, and the reference's path in that of the VCF: neither ends its line."""
    odd = "a\nb\x1b[31m\u2028\udcff"
    Path(f"{odd}.fq").write_text(Path("x_1.fq").read_text())
    Path(f"{odd}.fa").write_text(Path("ref.fa").read_text())
    group = "@RG\\tID:g\\tSM:s"
    assert run_main(["align", f"{odd}.fa", f"{odd}.fq", "-R", group, "-o", "o.bam", "--write-index", "-q"]) == 0
    assert run_main(["call", f"{odd}.fa", "o.bam", "-o", "o.vcf.gz", "-q"]) == 0
    assert capsys.readouterr().err == ""
    with pysam.AlignmentFile("o.bam") as file:
        lines = str(file.header).rstrip("\n").split("\n")
    assert [line[:3] for line in lines] == ["@HD", "@SQ", "@SQ", "@RG", "@PG"]
    with pysam.VariantFile("o.vcf.gz") as file:
        assert list(file.header.samples) == ["s"]
        text = str(file.header)
    assert "##reference=a\\nb\\x1b[31m\\u2028\\udcff.fa\n" in text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a<b", "record 2: the name of a contig cannot have '<' in SAM and VCF: rename it"),
        ("*", "record 2: the name of a contig cannot begin with '*' in SAM and VCF: rename it"),
        ("a`id`", "record 2: the name of a contig cannot have '`' in SAM and VCF: rename it"),
    ],
)
def test_contigs_that_sam_cannot_hold(reads, capsys, name, said):
    Path("odd.fa").write_text(fasta({"one": CONTIGS["one"], name: "ACGT" * 50}))
    for command in (["align", "odd.fa", "x_1.fq", "-o", "o.bam"], ["run", "odd.fa", "x_1.fq", "-o", "out"]):
        assert refused(capsys, *command, "-q") == (f"odd.fa: {said}", 3)


def test_contigs_that_vcf_cannot_hold(reads, capsys):
    """Commas: alignments may have them, and so may what is not called; `run` says so before it aligns."""
    Path("odd.fa").write_text(fasta({"a,b": CONTIGS["one"], "two": CONTIGS["two"]}))
    assert run_main(["align", "odd.fa", "x_1.fq", "-o", "o.bam", "--write-index", "-q"]) == 0
    assert "SA and XA cannot hold the comma in the name of contig 'a,b': " in capsys.readouterr().err
    said = "odd.fa: record a,b: the name of a contig cannot have ',' in VCF: rename it, or leave it out "
    said = f"{said}(--exclude-regions)", 3
    assert refused(capsys, "call", "odd.fa", "o.bam", "-o", "o.vcf", "-q") == said
    assert refused(capsys, "run", "odd.fa", "x_1.fq", "-o", "out", "-q") == said
    assert run_main(["call", "odd.fa", "o.bam", "-r", "two", "-o", "o.bcf", "-q"]) == 0
    assert capsys.readouterr().err == ""
    with pysam.VariantFile("o.bcf") as file:
        assert list(file.header.contigs) == ["two"]


def test_an_odd_sample_comes_through(reads, capsys):
    assert run_main(["run", *reads, "-o", "out", "--sample", SAMPLE]) == 0
    out = capsys.readouterr().out
    assert SAMPLE in out
    files = {path.name for path in Path("out").iterdir()}
    assert {f"{SAMPLE}.bam", f"{SAMPLE}.vcf.gz", f"{SAMPLE}.stats.txt", "report.html"} <= files and not Path(
        "x"
    ).exists()
    with pysam.AlignmentFile(f"out/{SAMPLE}.bam") as file:
        assert file.header.to_dict()["RG"][0]["SM"] == SAMPLE
    with pysam.VariantFile(f"out/{SAMPLE}.vcf.gz") as file:
        assert list(file.header.samples) == [SAMPLE]
    assert list(json.loads(Path(f"out/{SAMPLE}.readwarp_mqc.json").read_text())["data"]) == [SAMPLE]


def test_files_that_look_like_options(reads):
    """samtools and bcftools are given their names, and run in their folder."""
    assert run_main(["align", *reads, "-o", "./-o.bam", "--write-index", "-q"]) == 0
    assert run_main(["call", "ref.fa", "./-o.bam", "-o", "./-o.vcf.gz", "-q"]) == 0
    Path("again").mkdir()
    assert run_main(["align", "ref.fa", "./-o.bam", "-o", "again/x.bam", "-q"]) == 0
    assert run_main(["report", ".", "-o", "report.html", "-q"]) == 0
    assert Path("-o.bam.bai").exists() and "in total" in Path("-o.flagstat.txt").read_text()
