"""Control of the processes that compile kernels (`worker`): their input, and their progress."""

import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from typing import NamedTuple

from readwarp.compiler import kernel_cache, levels, trust
from readwarp.compiler.levels import Level
from readwarp.compiler.manifest import ManifestEntry, place_of
from readwarp.compiler.progress import Compiling, Show
from readwarp.compiler.worker import module_of
from readwarp.errors import ReadwarpError
from readwarp.wording import printable

logger = logging.getLogger("readwarp")
PAUSE = 0.5  # seconds between two updates
SHARE = 1.0  # seconds of compilation that make another process worth a fork
ENVIRONMENT = {"NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}  # for messages about overloads that do not fit
USUAL = 5.0  # seconds of work after which this machine's own speed outweighs the recorded one


class Filled(NamedTuple):
    """Result of `fill`."""

    copied: int  # kernels that another folder had
    compiled: int
    kept: int  # kernels already there


def fill(folder: Path, needed: Sequence[ManifestEntry], level: Level, threads: int, show: Show) -> Filled:
    """Put the kernels needed for a level into a folder. Raises OSError, ReadwarpError."""
    trust.make_folder(folder)  # nobody would use kernels in one that others can write to
    absent = [entry for entry in needed if not (folder / place_of(entry, level)).exists()]
    rest = [entry for entry in absent if not copy(entry, level, folder)]
    compiled = compile_entries(rest, folder, level, threads, show) if rest else 0
    if compiled < len(rest):
        raise ReadwarpError(f"{len(rest) - compiled} of {len(rest)} kernels could not be compiled for {level.name}")
    return Filled(len(absent) - len(rest), compiled, len(needed) - len(absent))


def copy(entry: ManifestEntry, level: Level, folder: Path) -> bool:
    """Copy a kernel into a folder; return whether another folder has it."""
    place = place_of(entry, level)
    for content in kernel_cache.contents(place):
        kernel_cache.write(place, content, folder)
        return True
    return False


def compile_entries(entries: Sequence[ManifestEntry], folder: Path, level: Level, threads: int, show: Show) -> int:
    """Compile into a folder; return the number of kernels compiled, and warn of those that cannot be.

    The number is also lower if a process of ours failed.
    """
    seconds = sum(entry.seconds for entry in entries)
    modules = len({module_of(entry.kernel) for entry in entries})
    processes = max(1, min(threads, modules, round(seconds / SHARE)))
    workers = Workers.start(in_order(entries), folder, level, processes)
    if workers is None:
        return 0
    started = time.monotonic()
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(workers.lines, selectors.EVENT_READ)
            while True:
                done = sum(entry.seconds for entry in workers.done)
                pace = (time.monotonic() - started + USUAL) / (done / processes + USUAL)
                share = done / seconds if seconds else 1.0
                show(Compiling(len(workers.done), len(entries), share, pace * (seconds - done) / processes))
                if selector.select(PAUSE) and not workers.advance():
                    return len(workers.done)
    finally:
        workers.end()


def in_order(entries: Iterable[ManifestEntry]) -> list[ManifestEntry]:
    """Order modules by time, longest first; a module's kernels stay together, since they share rules to compile."""
    modules = [list(rows) for _, rows in groupby(sorted(entries), key=lambda entry: module_of(entry.kernel))]
    return list(chain.from_iterable(sorted(modules, key=lambda rows: -sum(entry.seconds for entry in rows))))


@dataclass
class Workers:
    """Processes that compile kernels, one module at a time, and report each kernel when done."""

    process: "subprocess.Popen[bytes]"  # from which the others are forked
    lines: int  # file descriptor
    entries: list[ManifestEntry]
    done: list[ManifestEntry] = field(default_factory=list)
    _rest: bytes = b""

    @classmethod
    def start(cls, entries: list[ManifestEntry], folder: Path, level: Level, processes: int) -> "Workers | None":
        """Start the processes; None if none can be started."""
        given = map(str, (folder, processes, os.getpid()))
        command = [sys.executable, "-P", "-m", "readwarp.compiler.worker", *given]
        # The child imports the package from where this process did.
        path = os.pathsep.join(filter(None, (str(trust.PACKAGE.parent), os.environ.get("PYTHONPATH"))))
        environment = os.environ | ENVIRONMENT | {levels.VARIABLE: level.name, "PYTHONPATH": path}
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        with suppress(OSError):
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=quiet, env=environment, start_new_session=True
            )
            assert process.stdin is not None and process.stdout is not None
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write("".join(f"{e.kernel}\t{e.signature}\n" for e in entries).encode())
            return cls(process, process.stdout.fileno(), entries)
        return None

    def advance(self) -> bool:
        """Read what is done; return whether there is more to come."""
        read = os.read(self.lines, 1 << 16)
        *lines, self._rest = (self._rest + read).split(b"\n")
        for line in lines:
            number, _, reason = line.decode().partition("\t")
            entry = self.entries[int(number)]
            if reason:
                logger.warning("kernel %s cannot be compiled: %s", entry.kernel, printable(reason))
            else:
                self.done.append(entry)
        return bool(read)

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
