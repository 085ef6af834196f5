"""What a command cannot do it refuses before its work, in a line that names the cause; messages and small formats."""

import argparse
import io
import os
import subprocess
import sys

import pytest

import readwarp
from helpers.command_samples import CONTIGS, fasta, pairs, record, run_main
from readwarp.cli import reporting, summary
from readwarp.errors import UsageError
from readwarp.formats.common import files
from readwarp.metrics import Metrics


@pytest.fixture
def refused(capsys):
    """Run a command that must end with `code` and one line; the line."""

    def refused(code: int, *arguments: object) -> str:
        assert run_main(arguments) == code
        said = capsys.readouterr()
        assert said.err.startswith("readwarp: error: ") and said.err.count("\n") == 1, said.err
        return said.err.removeprefix("readwarp: error: ").strip()

    return refused


@pytest.mark.parametrize("wrong", [("--ploidy", "0"), ("--max-depth", "0"), ("--min-base-quality", "-1")])
def test_run_checks_calling_before_it_aligns(wrong, reference, mates, tmp_path, refused):
    folder = tmp_path / "out"
    assert "--" in refused(2, "run", reference, *mates, "-o", folder, *wrong)
    assert not folder.exists()


@pytest.mark.parametrize("option", ["--metrics", "--log"])
def test_reports_that_cannot_be_written(option, reference, mates, tmp_path, refused):
    folder = tmp_path / "no"
    said = refused(2, "align", reference, *mates, "-o", tmp_path / "o.bam", option, folder / "x")
    assert said == f"{folder / 'x'}: there is no folder {folder}"
    assert not (tmp_path / "o.bam").exists()


@pytest.mark.parametrize("name", ["elsewhere", "absent"])
@pytest.mark.parametrize("planted", ["o.bam.lock", "o.log"])
def test_links_under_names_of_ours_are_not_followed(planted, name, reference, mates, tmp_path, refused):
    """Before any work; a link to a device is one that the user wants, such as /dev/stderr."""
    link, elsewhere = tmp_path / planted, tmp_path / name
    (tmp_path / "elsewhere").write_text("kept")
    link.symlink_to(elsewhere)
    command = ("align", reference, *mates, "-o", tmp_path / "o.bam", "--log", tmp_path / "o.log", "-q")
    said = refused(2, *command)
    assert said == (
        f"--log {link}: is a link: name the file itself"
        if planted == "o.log"
        else f"{link}: is a link where readwarp puts its lock: remove it"
    )
    assert not (tmp_path / "o.bam").exists() and not (tmp_path / "absent").exists()
    assert (tmp_path / "elsewhere").read_text() == "kept"
    if planted == "o.log":
        link.unlink()
        link.symlink_to("/dev/null")
        assert run_main(command) == 0


def test_folder_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(UsageError, match=r"o\.bam: cannot be written \(permission denied\)"):
        files.check_output(tmp_path / "o.bam", False)


def test_one_file_as_both_mates(reference, mates, refused):
    assert refused(2, "align", reference, mates[0], mates[0]) == f"{mates[0]}: is given as both files of a pair"


def test_sam_is_no_input(reference, write, refused):
    path = write("reads.sam", "@HD\tVN:1.6\nr\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n")
    assert refused(3, "align", reference, path).startswith(f"{path}: is SAM")


@pytest.mark.parametrize("value", ["-1", "x", "1.5", ""])
def test_lowest_score_is_a_natural_number(value, reference, mates, refused):
    assert "whole number" in refused(2, "align", reference, *mates, f"--min-score={value}")


def test_no_seed_of_no_bases(reference, refused):
    assert "1 or more" in refused(2, "index", reference, "-f", "-k", "0")


def test_call_says_what_it_is_not(reference, mates, refused):
    said = refused(3, "call", reference, mates[0], "--device", "cpu")
    assert said == f"{mates[0]}: is neither BAM nor CRAM (SAM is read from stdin only: `-`)"


def test_pairwise_reads_sequences_only(reference, write, refused):
    for name, content in (("x.rwx", b"\0\1\2\3" * 9), ("x.bam", b"BAM\1" + bytes(60))):
        path = write(name, content)
        assert refused(3, "pairwise", path, reference) == f"{path}: neither FASTA nor FASTQ"


def test_index_says_its_size(tmp_path, capsys):
    path = tmp_path / "r.fa"
    path.write_text(fasta(CONTIGS))
    assert run_main(["index", path]) == 0
    assert ": 2 contigs, 9,000 bases, " in capsys.readouterr().err


def test_command_line_can_be_pasted(reference, tmp_path, capsys):
    path = tmp_path / "two words.fq"
    path.write_text(record("a", pairs(1)[0][1]))
    assert run_main(["align", reference, path, "-R", r"@RG\tID:x", "-q"]) == 0
    (program,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("@PG"))
    assert program.split("CL:")[1] == rf"readwarp align {reference} '{path}' -R '@RG\tID:x' -q"


def test_run_and_call_say_what_they_found(reference, mates, tmp_path, capfd):
    folder = tmp_path / "out"
    assert run_main(["run", reference, *mates, "-o", folder, "-q"]) == 0
    assert run_main(["run", reference, *mates, "-o", folder, "-f"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "sample s" and str(folder / "s.bam") in lines
    assert all(line == line.rstrip() for line in lines)
    assert run_main(["call", reference, folder / "s.bam", "-o", tmp_path / "s.vcf"]) == 0
    assert "readwarp: 0 variants, 0 pass all filters" in capfd.readouterr().err


def test_insert_sizes_of_many_inputs_fit_a_line():
    metrics = Metrics()
    models = [{"pairs": 9, "mean": 400.0 + 10 * i, "deviation": 50.0 + i} for i in range(4)]
    metrics.note(insert_sizes=models)
    assert summary.describe_insert_size(metrics) == "400-430 ± 50-53"
    metrics.note(insert_sizes=models[:2])
    assert summary.describe_insert_size(metrics) == "400 ± 50, 410 ± 51"


def test_log_lines_go_where_stderr_is_at_the_time(monkeypatch):
    """A progress bar takes stderr's place while it is shown; what goes around it breaks the bar."""
    asked = argparse.Namespace(command_line="", metrics=None, log=None, quiet=False, verbose=False, no_progress=True)
    with reporting.CommandReporter(asked):
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        reporting.logger.info("seen")
        assert sys.stderr.getvalue() == "readwarp: seen\n"


def test_public_names_are_listed():
    """And nothing else, for tab completion; each is there as soon as readwarp is imported."""
    code = "import readwarp; print(*(name for name in dir(readwarp) if getattr(readwarp, name) and name[0] != '_'))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"Aligner", "Index", "MatrixScoring", "Records", "Scoring", "Variant", "errors", "pairwise"} <= set(found)
    assert {*found, "__version__"} == {*readwarp.__all__, "config", "errors"}
