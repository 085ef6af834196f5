"""Runs that are stopped and resumed give the bytes of an undisturbed run; two processes never share an output."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.command_samples import CONTIGS, pairs, record, run_main
from readwarp.finish import segments
from readwarp.formats.common.files import locked

SLOWED = """
import sys, time
from readwarp.finish import segments
segments.SEGMENT_BYTES = 20_000
checkpoint = segments.ResumableWriter.checkpoint
def slowly(self, *arguments):
    checkpoint(self, *arguments)
    time.sleep(0.1)
segments.ResumableWriter.checkpoint = slowly
from readwarp.cli import main
sys.exit(main())
"""
OPTIONS = ("--batch-bases", "10000", "--no-pg")
SORTED = ("--sort", "coordinate", "--mark-duplicates")


@pytest.fixture(scope="module")
def reads(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    made = pairs(2000)
    for mate in (1, 2):
        (folder / f"m_{mate}.fq").write_text("".join(record(pair[0], pair[mate]) for pair in made))
    return [folder / "m_1.fq", folder / "m_2.fq"]


def stopped(number, arguments, wait_for_segments=1, again=None):
    """Start a slowed run, stop it with this signal when so many segments are complete, and return its exit code.

    again: another signal right after it.
    """
    folder = Path(f"{arguments[arguments.index('-o') + 1]}.unfinished")
    command = [sys.executable, "-c", SLOWED, *map(str, arguments)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        started = time.monotonic()
        while sum(path.suffix[1:].isdecimal() for path in folder.glob("*")) < wait_for_segments:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() - started < 120
            time.sleep(0.02)
        process.send_signal(number)
        if again:
            time.sleep(0.005)
            process.send_signal(again)
        code = process.wait(60)
        said = process.stderr.read()
        assert b"Traceback" not in said
        assert code < 0 or said.endswith(b"; the same command continues (--resume)\n")
        return code


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGUSR1, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
@pytest.mark.parametrize("ending", ["bam", "sam"])
def test_stopped_and_resumed(number, code, ending, reads, reference, tmp_path):
    whole, out = tmp_path / f"whole.{ending}", tmp_path / f"out.{ending}"
    sorting = SORTED if ending == "bam" else ()
    assert run_main(["align", reference, *reads, "-o", whole, *sorting, *OPTIONS, "-q"]) == 0
    arguments = [
        "align",
        reference,
        *reads,
        "-o",
        out,
        *sorting,
        *OPTIONS,
        "--resume",
        "--metrics",
        tmp_path / "m.json",
    ]
    assert stopped(number, arguments) == code
    kept = segments.Segments(str(out), json.loads((tmp_path / f"out.{ending}.unfinished" / "job.json").read_text()))
    assert 0 < kept.done < 2000 and not out.exists()
    assert run_main([*arguments, "-q"]) == 0
    assert out.read_bytes() == whole.read_bytes()
    counts = json.loads((tmp_path / "m.json").read_text())["counts"]
    assert counts["reads"] == 4000  # those of the first run among them
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json", f"out.{ending}", f"whole.{ending}"]


def test_stopped_twice_with_other_batches(reads, reference, tmp_path):
    arguments = ["align", reference, *reads, "-o", tmp_path / "out.bam", *OPTIONS, "--resume"]
    assert stopped(signal.SIGKILL, arguments) == -9
    other = ["13000" if argument == "10000" else argument for argument in arguments]
    assert stopped(signal.SIGTERM, other, wait_for_segments=3) == 143
    assert run_main([*arguments, "-q"]) == 0
    assert run_main(["align", reference, *reads, "-o", tmp_path / "whole.bam", *OPTIONS, "-q"]) == 0
    assert (tmp_path / "out.bam").read_bytes() == (tmp_path / "whole.bam").read_bytes()


@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGUSR1])
def test_told_twice(again, reads, reference, tmp_path):
    """As with timeout(1) and SLURM: the second signal does not disturb what the first one has started."""
    arguments = ["align", reference, *reads, "-o", tmp_path / "out.bam", *OPTIONS, "--resume"]
    assert stopped(signal.SIGTERM, arguments, again=again) == 143
    assert not list((tmp_path / "out.bam.unfinished").glob("*.partial"))


def test_counts_are_those_of_an_undisturbed_run(reads, reference, tmp_path):
    options = [*OPTIONS, "--trim", "--adapter", CONTIGS["one"][1000:1030]]
    arguments = ["align", reference, *reads, "-o", tmp_path / "out.bam", *options, "--resume"]
    assert stopped(signal.SIGKILL, arguments) == -9
    assert stopped(signal.SIGKILL, arguments, wait_for_segments=3) == -9
    assert run_main([*arguments, "--metrics", tmp_path / "out.json", "-q"]) == 0
    whole = ["align", reference, *reads, "-o", tmp_path / "whole.bam", *options]
    assert run_main([*whole, "--metrics", tmp_path / "whole.json", "-q"]) == 0
    resumed, undisturbed = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("out", "whole"))
    for name in ("reads", "mapped", "proper", "batches", "records_all", "bases_trimmed"):
        assert resumed["counts"][name] == undisturbed["counts"][name], name
    assert resumed["counts"].keys() == undisturbed["counts"].keys()
    assert resumed["flagstat"] == undisturbed["flagstat"]
    assert resumed["insert_sizes"] == undisturbed["insert_sizes"]
    earlier = resumed["reads_of_earlier_runs"]
    assert 0 < earlier < 4000 and "reads_of_earlier_runs" not in undisturbed
    assert resumed["reads_per_second"] == pytest.approx((4000 - earlier) / resumed["align_seconds"], rel=0.05, abs=2)


def test_a_part_that_was_stopped(reads, reference, tmp_path):
    options = ["--part", "1/2", *OPTIONS]
    arguments = ["align", reference, *reads, "-o", tmp_path / "out.bam", *options, "--resume"]
    assert stopped(signal.SIGTERM, arguments, wait_for_segments=2) == 143
    assert run_main([*arguments, "-q"]) == 0
    assert run_main(["align", reference, *reads, "-o", tmp_path / "whole.bam", *options, "-q"]) == 0
    assert (tmp_path / "out.bam").read_bytes() == (tmp_path / "whole.bam").read_bytes()


def test_a_full_disk(reads, reference, tmp_path, monkeypatch, capsys):
    """A write fails within a segment. Complete segments stay, and the next run goes on from there."""
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 20_000)
    add, calls = segments.Segments.add, []

    def full(self, *arguments):
        calls.append(self)
        if len(calls) > 2:
            raise OSError(28, "No space left on device")
        add(self, *arguments)

    arguments = ["align", reference, *reads, "-o", tmp_path / "out.bam", *SORTED, *OPTIONS, "--resume", "-q"]
    with monkeypatch.context() as patch:
        patch.setattr(segments.Segments, "add", full)
        assert run_main(arguments) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert not (tmp_path / "out.bam").exists() and (tmp_path / "out.bam.unfinished").is_dir()
    assert run_main(arguments) == 0
    assert run_main(["align", reference, *reads, "-o", tmp_path / "whole.bam", *SORTED, *OPTIONS, "-q"]) == 0
    assert (tmp_path / "out.bam").read_bytes() == (tmp_path / "whole.bam").read_bytes()


def test_another_job_is_refused(reads, reference, tmp_path, capsys):
    arguments = ["align", reference, *reads, "-o", tmp_path / "out.bam", *OPTIONS, "--resume"]
    assert stopped(signal.SIGKILL, arguments) == -9
    capsys.readouterr()
    assert run_main([*arguments, "-B", "5", "-q"]) == 2
    assert "out.bam.unfinished: was made with other options or inputs (parameters differ)" in capsys.readouterr().err


@pytest.mark.parametrize("resumes", [True, False])
def test_killed_before_the_folder_was_removed(resumes, reads, reference, tmp_path, monkeypatch):
    """The output is complete: the next run removes the folder, and writes the same bytes."""
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 20_000)
    arguments = ["align", reference, *reads, "-o", tmp_path / "out.bam", *SORTED, "--write-index", *OPTIONS, "-q"]
    with monkeypatch.context() as patch:
        patch.setattr(segments, "remove", lambda output: None)
        assert run_main([*arguments, "--resume"]) == 0
    written = (tmp_path / "out.bam").read_bytes()
    assert list((tmp_path / "out.bam.unfinished").iterdir())
    assert run_main([*arguments, "--resume" if resumes else "--force"]) == 0
    assert (tmp_path / "out.bam").read_bytes() == written
    assert {path.name for path in tmp_path.iterdir()} == {"out.bam", "out.bam.bai"}


def test_run_goes_on_with_calling(reads, reference, tmp_path, monkeypatch, capsys):
    """It is stopped after the alignments are complete."""
    from readwarp.caller import job

    arguments = ["run", reference, *reads, "-o", tmp_path / "out", "--resume", *OPTIONS, "-q"]
    with monkeypatch.context() as patch:
        patch.setattr(job, "call_variants", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "No space left")))
        assert run_main(arguments) == 1
    bam = tmp_path / "out" / "m.bam"
    written = bam.stat().st_mtime_ns
    assert run_main(arguments) == 0
    assert bam.stat().st_mtime_ns == written
    assert json.loads((tmp_path / "out" / "metrics.json").read_text())["counts"]["reads"] == 4000
    assert not list((tmp_path / "out").glob("*.aligned.json"))


def test_run_calls_from_its_own_alignments_only(reads, reference, tmp_path, monkeypatch):
    """Another run has replaced the alignments in the meantime."""
    from readwarp.caller import job

    out = tmp_path / "out"
    arguments = ["run", reference, *reads, "-o", out, *OPTIONS, "--no-report", "-q"]

    def fails(*given, **named):
        raise OSError(28, "No space left")

    with monkeypatch.context() as patch:
        patch.setattr(job, "call_variants", fails)
        assert run_main([*arguments, "--resume"]) == 1
        assert (out / "m.bam.aligned.json").exists()
        assert run_main([*arguments, "--min-score", "60", "--force"]) == 1
    assert not (out / "m.bam.aligned.json").exists()
    assert run_main([*arguments, "--resume"]) == 0
    assert run_main(["run", reference, *reads, "-o", tmp_path / "other", *OPTIONS, "--no-report", "-q"]) == 0
    assert (out / "m.bam").read_bytes() == (tmp_path / "other" / "m.bam").read_bytes()


@pytest.mark.parametrize("command", ["align", "run"])
def test_a_finished_run_is_repeated(command, reads, reference, tmp_path, capsys):
    """As schedulers repeat jobs: the same command has nothing to do; another one, or one on new input, is refused."""
    copy = tmp_path / "m_1.fq"
    copy.write_bytes(reads[0].read_bytes())
    os.utime(copy, (1, 1))
    output, more = ("out.bam", ()) if command == "align" else ("out", ("--no-report",))
    bam = tmp_path / ("out.bam" if command == "align" else "out/m.bam")
    arguments = [command, reference, copy, reads[1], "-o", tmp_path / output, "--resume", *more]
    arguments += ["--metrics", tmp_path / "m.json"]
    assert run_main(arguments) == 0
    kept = [(path, path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(tmp_path.rglob("*.*"))]
    capsys.readouterr()
    assert run_main(arguments) == 0
    assert capsys.readouterr().err == f"readwarp: {bam}: is complete, made by the same command (--force replaces it)\n"
    for another in ([*arguments, "-t", "1"], [each for each in arguments if each != "--resume"]):
        assert run_main(another) == 2
        assert f"{bam}: already exists" in capsys.readouterr().err
    assert [(path, path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(tmp_path.rglob("*.*"))] == kept
    os.utime(copy)
    assert run_main(arguments) == 2
    assert "already exists" in capsys.readouterr().err


def test_kept_work_is_not_lost(reads, reference, tmp_path, capsys):
    """Whoever forgets --resume is told, whoever gives --force means it."""
    arguments = ["align", reference, *reads, "-o", tmp_path / "out.bam", *OPTIONS]
    assert stopped(signal.SIGKILL, [*arguments, "--resume"]) == -9
    kept = tmp_path / "out.bam.unfinished"
    segments_kept = sorted(kept.glob("*"))
    capsys.readouterr()
    assert run_main([*arguments, "-q"]) == 2
    text = f"{kept}: holds the work of an interrupted run: --resume continues it, --force starts over\n"
    assert capsys.readouterr().err.endswith(text)
    assert sorted(kept.glob("*")) == segments_kept
    assert run_main([*arguments, "-q", "--force"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.bam"]


@pytest.mark.parametrize("arguments", [("-",), ("x.fq",)])
def test_what_cannot_be_resumed(arguments, reference, tmp_path, capsys):
    (tmp_path / "x.fq").write_text("")
    given = [tmp_path / "x.fq" if argument == "x.fq" else argument for argument in arguments]
    output = ("-o", tmp_path / "o.bam") if arguments == ("-",) else ()
    assert run_main(["align", reference, *given, *output, "--resume", "-q"]) == 2
    assert "--resume" in capsys.readouterr().err


def test_one_process_an_output(reads, reference, tmp_path, capsys):
    out = tmp_path / "out.bam"
    with locked(out):
        assert run_main(["align", reference, *reads, "-o", out, "-q"]) == 2
        assert "is being written by another process" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    (tmp_path / "out.bam.lock").write_text("")  # of a process that was killed
    with locked(out):
        pass
    assert not list(tmp_path.iterdir())


def test_stdout_needs_no_lock(tmp_path, monkeypatch):
    """It does not need a writable folder either."""
    monkeypatch.chdir(tmp_path)
    with locked(Path("-")), locked(None), locked(Path("/dev/stdout")):
        assert not list(tmp_path.iterdir())


def test_a_file_system_without_locks(tmp_path, monkeypatch, caplog):
    from readwarp.formats.common import files

    def unknown(*arguments):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(files.fcntl, "flock", unknown)
    with caplog.at_level("WARNING"), locked(tmp_path / "out.bam"):
        pass
    assert "has no locks (Function not implemented)" in caplog.text
    assert not list(tmp_path.iterdir())
