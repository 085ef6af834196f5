"""Ctrl-C, SIGTERM and closed pipes: the right code, and no file left."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from helpers.blocks import compress_block
from helpers.command_samples import pairs, record

DEADLINE = 60


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.fixture
def start():
    """Start readwarp with pipes. After the test it is stopped, and the pipes closed."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: object, **pipes: int) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "readwarp", *map(str, arguments)]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()


def wait_for(happened, process) -> None:
    """Wait until `happened()`. Fails if the process ends first or it takes too long."""
    started = time.monotonic()
    while not happened():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() - started < DEADLINE
        time.sleep(0.02)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("ending", ["bam", "sam", "cram"])
def test_a_signal_leaves_no_file(number, code, ending, reference, folder, start):
    """It is stopped while it waits for more reads, with some of them written."""
    process = start("align", reference, "-", "-o", folder / f"o.{ending}", "--batch-bases", "10000")
    process.stdin.write("".join(record(n, a) for n, a, _ in pairs(3000)).encode())
    process.stdin.flush()
    if ending != "cram":  # samtools makes the file when it gets its first block
        wait_for(lambda: any(folder.iterdir()), process)
    time.sleep(0.3)
    process.send_signal(number)
    assert process.wait(DEADLINE) == code
    assert list(folder.iterdir()) == []
    said = process.stderr.read().decode()
    assert said.endswith("readwarp: error: interrupted\n" if code == 130 else "readwarp: error: terminated\n")
    assert "Traceback" not in said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_sorting(number, code, reference, folder, monkeypatch, tmp_path, start):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    options = ("--sort", "coordinate", "--mark-duplicates", "--batch-bases", "10000")
    process = start("align", reference, "-", "-o", folder / "o.bam", *options)
    process.stdin.write("".join(record(n, a) for n, a, _ in pairs(3000)).encode())
    process.stdin.flush()
    time.sleep(3)
    process.send_signal(number)
    assert process.wait(DEADLINE) == code
    assert list(folder.iterdir()) == [] and list(scratch.iterdir()) == []


def test_a_closed_pipe_is_no_error(reference, tmp_path, start):
    reads = tmp_path / "many.fq"
    reads.write_text("".join(record(n, a) for n, a, _ in pairs(20000)))
    process = start("align", reference, reads, "-q", stdout=subprocess.PIPE)
    process.stdin.close()
    assert process.stdout.readline().startswith(b"@HD")
    process.stdout.close()
    assert process.wait(DEADLINE) == 0
    assert process.stderr.read() == b""


def test_a_stop_as_the_temporary_folder_is_found(tmp_path):
    """Python tries the folder with a file: the stop waits until this is gone."""
    program = """
import os, signal, sys
from readwarp import __main__
unlink = os.unlink
def late(path, **named):
    os.kill(os.getpid(), signal.SIGTERM)
    unlink(path, **named)
os.unlink = late
sys.exit(__main__.main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE
    )
    assert (ended.returncode, ended.stderr) == (143, b"readwarp: error: terminated\n")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_stdin_is_an_empty_input(reference, start):
    process = start("align", reference, "-", "-q", stdout=subprocess.PIPE)
    out, said = process.communicate(b"", timeout=DEADLINE)
    assert (process.returncode, said) == (0, b"readwarp: the input has no reads\n")
    assert out.startswith(b"@HD") and out.count(b"\n") == 5


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
@pytest.mark.parametrize("kind", ["bam", "sam"])
def test_a_signal_while_a_stream_is_kept(number, code, kind, reference, folder, monkeypatch, tmp_path, start):
    """Half of the alignments have come. Not a byte of them stays on disk, even if no clean-up is possible."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    process = start("call", reference, "-", "-o", folder / "o.vcf.gz")
    header = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:one\tLN:6000\n"
    lines = "".join(f"r{i}\t0\tone\t{i + 1}\t60\t4M\t*\t0\t0\tACGT\tIIII\n" for i in range(5000))
    text = (header + lines).encode()
    process.stdin.write(text if kind == "sam" else compress_block(b"BAM\1" + bytes(60_000))[:-9])
    process.stdin.flush()
    wait_for(lambda: is_reading(process), process)
    process.send_signal(number)
    assert process.wait(DEADLINE) == code
    left = [path.name for path in folder.iterdir()]
    assert left == (["o.vcf.gz.lock"] if number == signal.SIGKILL else [])  # empty, and no longer held
    assert list(scratch.iterdir()) == []


def is_reading(process) -> bool:
    """It has an unnamed file open in the temporary folder."""
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            name = str(link.readlink())
            if "scratch" in name and name.endswith("(deleted)"):
                return True
    return False


SCRIPT = """
import ctypes, signal, sys, time
from readwarp.cli import doctor, main

def command(options):
    {body}

doctor.run = command
sys.argv = ["readwarp", "doctor"]
sys.exit(main())
"""


@pytest.mark.parametrize(("number", "code", "line"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")])
@pytest.mark.parametrize(
    "body",
    [
        f"ctypes.CFUNCTYPE(None)(lambda: STOP)(); time.sleep({DEADLINE})",  # as LLVM calls while a kernel is compiled
        "ctypes.CFUNCTYPE(None)(lambda: STOP)(); raise RuntimeError('no compiled object yet')",
        "exec('STOP')",  # as of a dataclass that is imported
    ],
)
def test_a_signal_that_others_make_their_own(number, code, line, body, tmp_path):
    """A library drops the exception; Python would end by the signal. The command stops all the same, and says why."""
    script = SCRIPT.format(body=body.replace("STOP", f"signal.raise_signal(signal.{number})"))
    (tmp_path / "stopped.py").write_text(script)
    command = [sys.executable, "-m", "stopped"]  # Python ends by a signal from `-m` only
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE / 2)
    assert (ended.returncode, ended.stderr) == (code, f"readwarp: error: {line}\n")
