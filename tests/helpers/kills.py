"""Commands that are stopped at a moment, run again, and compared with one that nobody disturbed."""

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from helpers.processes import environment_with_tests

LIMIT = 120  # seconds of a command
END = 0.2  # seconds at the end of a command that are tried more often
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGUSR1: 143}
LINES = {130: "readwarp: error: interrupted", 143: "readwarp: error: terminated"}
WITH_TIMES = ("metrics.json", "report.html", "_mqc.json")  # files that say how long a run took
SLOWED = """
import os, pathlib, sys, time
from readwarp.system import stopping
stopping.install()
from readwarp.finish import segments
segments.SEGMENT_BYTES = 20_000
def slowed(function, seconds):
    def call(*arguments, **named):
        time.sleep(seconds)
        try:
            return function(*arguments, **named)
        finally:
            time.sleep(seconds)
    return call
names = ((pathlib.Path, "replace"), (pathlib.Path, "unlink"), (pathlib.Path, "mkdir"), (os, "rmdir"), (os, "fsync"))
for of, name in names:
    setattr(of, name, slowed(getattr(of, name), 0.02))
from readwarp.__main__ import main
sys.exit(main())
"""  # files get and lose their names slowly, so that a moment in between is found


@dataclass(frozen=True)
class Command:
    """A command whose outputs are in the folder that it runs in."""

    name: str
    arguments: Sequence[object]
    keeps: frozenset[str] = frozenset()  # what stays when it is stopped


@dataclass(frozen=True)
class Undisturbed:
    files: dict[str, bytes]
    seconds: float


def contents(folder: Path) -> dict[str, bytes]:
    """All files, by their names within the folder; b"" of those that hold times."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if not path.is_dir()}
    return {name: b"" if name.endswith(WITH_TIMES) else path.read_bytes() for name, path in files.items()}


def start(command: Command, folder: Path, is_slowed: bool) -> "subprocess.Popen[bytes]":
    program = ("-c", SLOWED) if is_slowed else ("-m", "readwarp")
    environment = environment_with_tests(TMPDIR=str(folder / "tmp"), READWARP_INDEX_DIR="")
    (folder / "tmp").mkdir(exist_ok=True)
    arguments = [sys.executable, *program, *map(str, command.arguments), "-q"]
    quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
    with restored_interrupt():
        return subprocess.Popen(arguments, cwd=folder, env=environment, stdin=quiet, stdout=quiet, stderr=pipe)


@contextmanager
def restored_interrupt() -> Iterator[None]:
    """Children get SIGINT as in a terminal, even if this process was started in the background of a script."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before)


def undisturbed(command: Command, folder: Path, is_slowed: bool) -> Undisturbed:
    folder.mkdir()
    started = time.monotonic()
    with start(command, folder, is_slowed) as process:
        _, said = process.communicate(timeout=LIMIT)
    assert (process.returncode, said) == (0, b""), (command.name, said.decode())
    seconds = time.monotonic() - started
    (folder / "tmp").rmdir()
    found = contents(folder)
    shutil.rmtree(folder)
    return Undisturbed(found, seconds)


def moment(chance: random.Random, seconds: float) -> float:
    """Seconds after the start: anywhere, or with more weight near the end."""
    return chance.uniform(seconds - END, seconds + 0.05) if chance.random() < 0.4 else chance.uniform(0, seconds)


def disturb(process: "subprocess.Popen[bytes]", numbers: Sequence[int]) -> bool:
    """Send signals -> whether the command could be asked to stop: Python itself starts in the first hundredths."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
        masks = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigCgt", "SigIgn"))]
        is_ready = all(sum(masks) >> (number - 1) & 1 for number in CODES)
    except (FileNotFoundError, ProcessLookupError):
        is_ready = True
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.005 if len(numbers) > 1 else 0)
    return is_ready


def try_kill(
    command: Command, expected: Undisturbed, folder: Path, at: float, numbers: Sequence[int], is_slowed: bool
) -> list[str]:
    """Disturb a run, and run it again -> what went wrong."""
    folder.mkdir()
    with start(command, folder, is_slowed) as process:
        with suppress(subprocess.TimeoutExpired):
            process.wait(at)
        is_over = process.poll() is not None
        is_ready = disturb(process, numbers) if not is_over else True
        _, said = process.communicate(timeout=LIMIT)
        code = process.returncode
    faults = [*_after(command, expected, folder, code, said.decode(), numbers, is_ready)]
    again = run(command, folder)
    if code == -signal.SIGKILL and is_refused(again) and (named := _named(command, expected, folder)):
        found = contents(folder)
        faults += [f"other bytes in {name}" for name in named if found[name] != expected.files[name]]
        for name in named:
            (folder / name).unlink()
        again = run(command, folder)
    if again.returncode and not is_refused(again):
        faults.append(f"run again: exit code {again.returncode}: {again.stderr.decode().strip()}")
    left = [path.name for path in (folder / "tmp").iterdir()]
    if left:
        faults.append(f"run again: $TMPDIR holds {', '.join(left)}")
    else:
        (folder / "tmp").rmdir()
    faults += [f"run again: {fault}" for fault in _differences(contents(folder), expected.files)]
    return faults


def run(command: Command, folder: Path) -> "subprocess.CompletedProcess[bytes]":
    with start(command, folder, False) as process:
        _, said = process.communicate(timeout=LIMIT)
    return subprocess.CompletedProcess(process.args, process.returncode, b"", said)


def _named(command: Command, expected: Undisturbed, folder: Path) -> set[str]:
    """The outputs that had their names when the command was killed, if that was before the last one got its own."""
    found = expected.files.keys() & contents(folder).keys()
    return found - command.keeps if found < expected.files.keys() else set()


def is_refused(ended: "subprocess.CompletedProcess[bytes]") -> bool:
    return ended.returncode == 2 and b"already exists" in ended.stderr


def _after(
    command: Command, expected: Undisturbed, folder: Path, code: int, said: str, numbers: Sequence[int], is_ready: bool
) -> list[str]:
    """What is wrong with the disturbed run."""
    faults, found = [], contents(folder)
    is_killed = numbers[0] == signal.SIGKILL
    if is_killed and code == -signal.SIGKILL:
        pairs = [(name, name + ending) for name in expected.files for ending in (".bai", ".csi", ".crai", ".tbi")]
        apart = [name for name, index in pairs if index in expected.files and name in found and index not in found]
        return [f"{', '.join(apart)} without an index"] if apart else []
    if code == 0:
        return [*_differences(found, expected.files), *([f"exit code 0, says {said}"] if said else [])]
    allowed = {CODES[number] for number in numbers if number in CODES}
    if not is_ready:
        return [f"leaves {', '.join(found)} before it began"] if found else []
    if code not in allowed:
        faults.append(f"exit code {code}")
    hint = "; the same command continues (--resume)" if "--resume" in command.arguments else ""
    if said.strip().removesuffix(hint) not in {LINES[code] for code in allowed}:
        faults.append(f"says {said.strip()!r}")
    kept = {name for name in found if name in command.keeps or ".unfinished/" in name}
    if left := set(found) - kept:
        faults.append(f"leaves {', '.join(sorted(left))}")
    if other := [name for name in kept & expected.files.keys() if found[name] != expected.files[name]]:
        faults.append(f"leaves other bytes in {', '.join(other)}")
    if any((folder / "tmp").iterdir()):
        faults.append("leaves something in $TMPDIR")
    return faults


def _differences(found: dict[str, bytes], expected: dict[str, bytes]) -> list[str]:
    lost, more = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
    other = sorted(name for name in found.keys() & expected.keys() if found[name] != expected[name])
    named = {"lacks": lost, "holds besides": more, "other bytes in": other}
    return [f"{what} {', '.join(names)}" for what, names in named.items() if names]


def show(numbers: Sequence[int]) -> str:
    return ", ".join(signal.Signals(number).name for number in numbers)
