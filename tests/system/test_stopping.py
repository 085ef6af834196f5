"""Signals at moments that a clock hardly finds: while modules are imported, twice in a row, at the end, in children."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STOPS = {"SIGINT": (130, "interrupted"), "SIGTERM": (143, "terminated"), "SIGUSR1": (143, "terminated")}
DEADLINE = 30
COMMAND = """
import atexit, os, signal, sys, time
from readwarp.system import stopping
from readwarp.__main__ import main
from readwarp.cli import doctor
stopping.install()

def send(*_):
    signal.raise_signal(signal.{number})

def command(options):
    {body}

doctor.run = command
sys.argv = ["readwarp", "doctor"]
{before}
sys.exit(main())
"""


def run(number: str, body: str, before: str = "") -> tuple[int, str]:
    """Exit code and stderr of a command that does this."""
    script = COMMAND.format(number=number, body=body, before=before)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=DEADLINE)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("number", STOPS)
@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("send()", ""),
        ("", "import builtins; builtins.__import__, sys.modules = send, {}"),  # while something is imported
        ("try: send()\n    finally: send(); send()", ""),  # while the first one unwinds
        ("try: send()\n    except BaseException: raise SystemError('a library failed')", ""),
        ("try: send()\n    finally: 1 / 0", ""),
    ],
    ids=["once", "imports", "again", "caught by a library", "failing"],
)
def test_a_line_and_an_exit_code(number, body, before):
    code, line = STOPS[number]
    ended = run(number, body or "pass", before)
    assert ended == (code, f"readwarp: error: {line}\n")


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("stopping.completed(); send()", ""),
        ("pass", "atexit.register(send)"),  # while Python ends
        ("class Last:\n        __del__ = send\n    sys.last = Last()", ""),  # when its handlers are gone
    ],
    ids=["last output", "exit", "end"],
)
def test_success_is_not_disturbed(number, body, before):
    assert run(number, body, before) == (0, "")


def test_an_error_that_came_first_is_explained():
    before = (
        "from readwarp import cli; explain = cli.explain; cli.explain = lambda *a, **n: (send(), explain(*a, **n))[1]"
    )
    code, said = run("SIGTERM", "raise ValueError('x')", before)
    assert code == 1 and said.startswith("readwarp: error: internal error: ValueError: x") and said.count("\n") == 1


def test_outputs_that_others_follow_do_not_end_a_command():
    body = "\n    ".join(["with stopping.followed():", "    stopping.completed()", "send()"])
    assert run("SIGTERM", body) == (143, "readwarp: error: terminated\n")


def test_an_ignored_interrupt_stays_ignored():
    """As of a command that a script has started in the background."""
    script = COMMAND.format(number="SIGINT", body="send()", before="")
    script = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN){script}"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=DEADLINE)
    assert (ended.returncode, ended.stderr) == (0, "")


PARENT = """
import os, sys, time
from readwarp.formats.alignments.samtools import ToolProcess
child = ToolProcess("samtools", "view", "-", stdin=-1)
print(child.pid, flush=True)
time.sleep(60)
"""


def has_ended(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_tools_end_with_the_process_that_needs_them(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env=environment) as parent:
        child, deadline = int(parent.stdout.readline()), time.monotonic() + DEADLINE
        while not is_ready(child):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(child, signal.SIGTERM)  # to all processes of the job, as some batch systems do
        time.sleep(0.1)
        assert not has_ended(child)
        parent.kill()
    while not has_ended(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_ready(process: int) -> bool:
    """It ignores TERM."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    ignored = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn"))
    return bool(ignored >> (signal.SIGTERM - 1) & 1)
