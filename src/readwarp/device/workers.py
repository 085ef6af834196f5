"""Processes that compile kernels (`worker`), and what they are given."""

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from readwarp.device import cache_folders, kernel_cache, levels, manifest
from readwarp.device.compile_progress import Compiling, Show
from readwarp.device.levels import Level
from readwarp.device.manifest import Entry, place_of
from readwarp.errors import ReadwarpError

PAUSE = 0.5  # seconds between two updates
SHARE = 4.0  # seconds of compilation for which another process is worth its start
USUAL = 5.0  # seconds of work after which this machine's own speed counts more than that of the recorded one


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
