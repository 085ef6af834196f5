"""Numbers beyond their types, on the command line and in files of intervals: one line, no internal error."""

from pathlib import Path

import pytest

from helpers.command_samples import CONTIGS, fasta, record, run_main
from helpers.making import write_bam

HUGE = ("4294967297", "9" * 5000)  # more digits than Python reads
OF_ALIGN = (
    *("match", "mismatch", "gap-open", "gap-extend", "clip"),
    *("min-score", "insert-size", "batch-bases", "secondary", "trim-min-length"),
)
OF_CALL = ("min-base-quality", "min-mapping-quality", "max-depth", "min-alternate-count", "ploidy", "max-mnp-distance")


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("numbers")
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    (folder / "x.fq").write_text(record("r", CONTIGS["one"][:100]))
    write_bam(folder / "x.bam", {name: len(text) for name, text in CONTIGS.items()}, [])
    return folder


def refused(capsys, *arguments) -> str:
    code, said = run_main(arguments), capsys.readouterr()
    assert code in (2, 3) and said.err.count("\n") == 1 and "internal" not in said.err, said.err[:300]
    return said.err


@pytest.mark.parametrize("number", HUGE, ids=len)
def test_options(files, capsys, monkeypatch, number):
    monkeypatch.chdir(files)
    for option in OF_ALIGN:
        refused(capsys, "align", "ref.fa", "x.fq", "-o", "o.bam", "-q", "--trim", f"--{option}={number}")
    for option in OF_CALL:
        refused(capsys, "call", "ref.fa", "x.bam", "-o", "o.vcf", "-q", f"--{option}={number}")
    assert sorted(path.name for path in files.iterdir() if path.suffix != ".rwx") == [
        *("ref.fa", "x.bam", "x.bam.bai", "x.fq")
    ]


@pytest.mark.parametrize("number", HUGE, ids=len)
def test_places(files, capsys, monkeypatch, tmp_path, number):
    monkeypatch.chdir(files)
    refused(capsys, "call", "ref.fa", "x.bam", "-o", tmp_path / "o.vcf", "-q", "-r", f"one:{number}-{number}")
    for name, line in (("y.bed", f"one\t{number}\t{number}\n"), ("x.list", f"one:{number}\n")):
        (tmp_path / name).write_text(line)
        refused(capsys, "call", "ref.fa", "x.bam", "-o", tmp_path / "o.vcf", "-q", "-L", tmp_path / name)
    assert not (tmp_path / "o.vcf").exists()
