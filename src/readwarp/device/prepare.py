"""Compiles what a command lacks, all at once, before it begins: in several processes, and in one command at a time.

So the user learns at the beginning how much there is to do and how long it takes, and "once" is said once. If a process
of ours fails, or a kernel is not in the manifest, it is compiled when it is called, by `device.jit`.
"""

import logging
import math
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from readwarp.device import cache_folders, kernel_cache, levels, manifest
from readwarp.device.compile_lock import compiling_alone
from readwarp.device.levels import Level
from readwarp.device.machine import usable_threads
from readwarp.device.manifest import Entry
from readwarp.errors import ReadwarpError

INTERVAL = 10.0  # seconds between two lines
PAUSE = 0.5  # between two updates
SHARE = 4.0  # seconds of compilation for which another process is worth its start
USUAL = 5.0  # seconds of work after which this machine's own speed counts more than that of the recorded one
logger = logging.getLogger("readwarp")


class Compiling(NamedTuple):
    """How far the compilation has come."""

    done: int  # kernels
    total: int
    share: float  # of the work, 0-1
    seconds_left: float
    holder: str | None = None  # another process that compiles, for which this one waits

    def __str__(self) -> str:
        if self.holder is not None:
            return f"waiting for another readwarp ({self.holder}) that compiles kernels"
        left = max(1, round(self.seconds_left))
        if not self.done:
            return f"compiling {self.total} kernels, once, which takes about {left} s"
        return f"compiling kernels: {self.done} of {self.total}, about {left} s left"


Show = Callable[[Compiling], object]


@dataclass
class Lines:
    """Says a line at the beginning, when a wait begins or ends, and every ten seconds."""

    say: Callable[[str], object]
    _said: float = field(default=-math.inf, init=False)
    _holder: str | None = field(default=None, init=False)

    def __call__(self, state: Compiling) -> None:
        now = time.monotonic()
        if now - self._said >= INTERVAL or state.holder != self._holder:
            self._said, self._holder = now, state.holder
            self.say(str(state))


def to_stderr(line: str) -> None:
    print(f"readwarp: {line}", file=sys.stderr, flush=True)


def prepare(command: str, threads: int, show: Show | None = None) -> int:
    """Compile what a command of `manifest` needs and no folder has -> the number of kernels compiled here.

    show: is told how far it has come, in the calling thread; None: lines on stderr.
    """
    lacking = missing(manifest.needed_by(command))
    if not lacking:
        return 0
    try:
        folder = cache_folders.own_folder()
    except OSError as error:
        logger.warning("%s: kernels are compiled in each run", error)
        return 0
    show = show or Lines(to_stderr)
    with compiling_alone(folder, lambda holder, _: show(Compiling(0, len(lacking), 0.0, 0.0, holder))) as has_waited:
        if has_waited:
            lacking = missing(lacking)
        return compile_entries(lacking, folder, levels.current_level(), threads, show) if lacking else 0


class Filled(NamedTuple):
    """What `fill` did."""

    copied: int  # kernels that another folder had
    compiled: int
    kept: int  # that were there


def fill(folder: Path, commands: Iterable[str], level: Level, threads: int, show: Show) -> Filled:
    """Put all that some commands need for a level into a folder. Raises OSError, ReadwarpError."""
    wanted = frozenset(commands)
    needed = [entry for entry in manifest.entries() if entry.commands & wanted]
    absent = [entry for entry in needed if not (folder / place_of(entry, level)).exists()]
    rest = [entry for entry in absent if not copy(entry, level, folder)]
    compiled = compile_entries(rest, folder, level, threads, show) if rest else 0
    if compiled < len(rest):
        raise ReadwarpError(f"{len(rest) - compiled} of {len(rest)} kernels could not be compiled for {level.name}")
    return Filled(len(absent) - len(rest), compiled, len(needed) - len(absent))


def copy(entry: Entry, level: Level, folder: Path) -> bool:
    """Copy a kernel into a folder -> whether another one has it."""
    place = place_of(entry, level)
    for _, content in cache_folders.read(other / place for other in cache_folders.folders()):
        kernel_cache.write(kernel_cache.made(place.parent, folder) / place.name, content)
        return True
    return False


def place_of(entry: Entry, level: Level) -> Path:
    return kernel_cache.place_of(entry.kernel, entry.signature, level)


@cache
def prepare_once(command: str) -> None:
    """`prepare` for what is called in Python, perhaps often and in several threads."""
    prepare(command, usable_threads())


def missing(needed: Iterable[Entry]) -> list[Entry]:
    """Those that no folder has, for the current level."""
    folders = cache_folders.folders()
    places = ((entry, place_of(entry, levels.current_level())) for entry in needed)
    return [entry for entry, place in places if not any((folder / place).exists() for folder in folders)]


def compile_entries(entries: Sequence[Entry], folder: Path, level: Level, threads: int, show: Show) -> int:
    """Compile into a folder -> the number of kernels that were compiled; fewer, if a process of ours failed."""
    parts = divide(entries, max(1, min(threads, round(sum(entry.seconds for entry in entries) / SHARE))))
    workers = [worker for part in parts if (worker := Worker.start(part, folder, level))]
    whole = sum(entry.seconds for part in parts for entry in part) or 1.0
    started = time.monotonic()
    try:
        with selectors.DefaultSelector() as selector:
            for worker in workers:
                selector.register(worker.lines, selectors.EVENT_READ, worker)
            while selector.get_map():
                done = sum(entry.seconds for worker in workers for entry in worker.entries[: worker.done])
                pace = (time.monotonic() - started + USUAL) / (done / len(workers) + USUAL)
                number = sum(worker.done for worker in workers)
                show(Compiling(number, len(entries), done / whole, pace * (whole - done) / len(workers)))
                for key, _ in selector.select(PAUSE):
                    if not key.data.advance():
                        selector.unregister(key.fileobj)
        return sum(worker.done for worker in workers)
    finally:
        for worker in workers:
            worker.end()


def divide(entries: Iterable[Entry], parts: int) -> list[list[Entry]]:
    """Into parts of similar duration; kernels of a module stay together, as they share rules that are compiled too."""
    modules = [list(rows) for _, rows in groupby(sorted(entries), key=lambda entry: entry.kernel.partition(":")[0])]
    made: list[list[Entry]] = [[] for _ in range(parts)]
    for module in sorted(modules, key=lambda rows: -sum(entry.seconds for entry in rows)):
        min(made, key=lambda part: sum(entry.seconds for entry in part)).extend(module)
    return [part for part in made if part]


@dataclass
class Worker:
    """A process that compiles kernels, one after the other, and says when one is done."""

    process: "subprocess.Popen[bytes]"
    lines: int  # file descriptor
    entries: list[Entry]
    done: int = 0

    @classmethod
    def start(cls, entries: list[Entry], folder: Path, level: Level) -> "Worker | None":
        """None if no process can be started."""
        command = [sys.executable, "-P", "-m", "readwarp.device.worker", str(folder)]
        environment = os.environ | {levels.VARIABLE: level.name, "PYTHONPATH": _path_to_package()}
        quiet = subprocess.DEVNULL
        with suppress(OSError):
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet, env=environment
            )
            assert process.stdin is not None and process.stdout is not None
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write("".join(f"{e.kernel}\t{e.signature}\n" for e in entries).encode())
            return cls(process, process.stdout.fileno(), entries)
        return None

    def advance(self) -> bool:
        """Note what is done -> whether there is more to come."""
        read = os.read(self.lines, 1 << 16)
        self.done += len(read)
        return bool(read)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def _path_to_package() -> str:
    """The child imports the package from where this process has it."""
    return os.pathsep.join(filter(None, (str(cache_folders.PACKAGE.parent), os.environ.get("PYTHONPATH"))))
