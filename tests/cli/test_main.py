"""Exceptions become exit codes and one line each, in one place."""

import subprocess
import sys

import pytest

from readwarp import __version__
from readwarp.cli import explain, main
from readwarp.errors import DeviceError, InputError, MemoryBudgetError, UsageError
from readwarp.system.stopping import Terminated


def readwarp(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "readwarp", *arguments], capture_output=True, text=True, **options)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UsageError("no"), 2, "no"),
        (InputError("r.fq", "too short", 7), 3, "r.fq: record 7: too short"),
        (DeviceError("no GPU"), 4, "no GPU"),
        (MemoryBudgetError("too small"), 5, "too small"),
        (MemoryError(), 5, "out of memory: try a smaller --memory or fewer --threads"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Terminated(), 143, "terminated"),
        (OSError(28, "No space left on device", "o.bam"), 1, "o.bam: No space left on device"),
        (
            ValueError("two\nlines"),
            1,
            "internal error: ValueError: two lines (please report this; -v shows the traceback)",
        ),
    ],
)
def test_explain(error, code, line, capsys):
    assert explain(error) == code
    assert capsys.readouterr() == ("", f"readwarp: error: {line}\n")


def test_verbose_shows_the_traceback(capsys):
    try:
        raise UsageError("no")
    except UsageError as error:
        explain(error, verbose=True)
    text = capsys.readouterr().err
    assert "Traceback" in text and "test_main.py" in text and text.endswith("readwarp: error: no\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["align"], "the following arguments are required: REF, READS (see `readwarp align --help`)"),
        (["align", "r", "q", "--frobnicate"], "unrecognized arguments: --frobnicate (see `readwarp align --help`)"),
        (
            ["align", "r", "q", "--thread", "2"],
            "unrecognized arguments: --thread 2; --thread: did you mean --threads? (see `readwarp align --help`)",
        ),
        (
            ["run", "r", "q", "--outpt", "o"],
            "the following arguments are required: -o/--output; --outpt: did you mean --output? "
            "(see `readwarp run --help`)",
        ),
        (
            ["align", "r", "q", "-t", "0"],
            "argument -t/--threads: '0' is not a whole number of 1 or more (see `readwarp align --help`)",
        ),
        (
            ["align", "r", "q", "--memory", "lots"],
            "argument --memory: 'lots' is not a size such as 500M or 4G (see `readwarp align --help`)",
        ),
    ],
)
def test_usage_errors(arguments, line, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr() == ("", f"readwarp: error: {line}\n")


def test_without_arguments_the_help_is_shown(capsys):
    assert main([]) == 2
    out, said = capsys.readouterr()
    assert out == "" and said.startswith("usage: readwarp") and "pairwise" in said


def test_unknown_command(capsys):
    assert main(["fold"]) == 2
    assert "unknown command 'fold': there are run, index, align," in capsys.readouterr().err


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"readwarp {__version__}\n"


def test_the_process_ends_with_the_code():
    done = readwarp("align")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_help_shows_groups_and_an_example():
    text = readwarp("align", "--help-all").stdout
    for part in ("resources", "scores (as in bwa mem)", "messages", "reads:", "examples:", "--mark-duplicates"):
        assert part in text
