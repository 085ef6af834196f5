"""Run pysam's samtools and bcftools, each call in a process of its own, and read the output of `stats`.

In our process they would hold the GIL and redirect stdout, and a second call may end it (pysam 0.24).
"""

import os
import subprocess
import threading
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

from readwarp.errors import InputError, ReadwarpError
from readwarp.formats.alignments.samtools import command_of, reason
from readwarp.formats.common.source import reading

Sections = defaultdict[str, list[list[str]]]  # rows of fields by section; a missing section has no rows


def text_of(path: Path) -> str:
    """Read a text. Raises InputError."""
    try:
        with reading(path):
            return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise InputError(path, "is not text (remove the file)") from None


def read_sections(path: Path) -> Sections:
    """Read the output of `samtools stats` or `bcftools stats`. Raises InputError for any other text."""
    text = text_of(path)
    if "This file was produced by" not in text[:200]:
        raise InputError(path, "was not made by samtools stats or bcftools stats (remove the file)")
    found: Sections = defaultdict(list)
    for line in text.split("\n"):
        if line and not line.startswith("#"):
            name, *fields = line.split("\t")
            found[name].append(fields)
    return found


def argument(path: Path) -> str:
    """Return the name of a file in a tool's folder, so that it is neither an option (-x) nor an address (s3:x)."""
    return f"./{path.name}" if path.name.startswith("-") or ":" in path.name else path.name


class Tools:
    """Runner of tools from any thread, until `stop`."""

    def __init__(self, scratch: str) -> None:
        """Create the runner. scratch: a folder for leftovers of pysam when it is killed."""
        self._scratch = scratch
        self._lock, self._running, self._is_stopped = threading.Lock(), set[subprocess.Popen[bytes]](), False

    def stop(self) -> None:
        """Kill running tools, and start no more."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                process.kill()

    def check(self) -> None:
        """Raise ReadwarpError after `stop`; work in our own threads calls this now and then."""
        if self._is_stopped:
            raise ReadwarpError("stopped")

    def write(self, tool: str, *arguments: str, output: Path, folder: Path) -> None:
        """Run `tool arguments` in `folder`, its stdout to `output`.

        The tools write texts by stdio without checking for success, so their output passes through here. Raises the
        errors of `lines`, and OSError for the output.
        """
        output.unlink(missing_ok=True)
        with output.open("xb") as out:  # do not follow links that others have left
            out.writelines(self.lines(tool, *arguments, folder=folder))

    def lines(self, tool: str, *arguments: str, folder: Path) -> Generator[bytes, None, None]:
        """Yield the lines that `tool arguments` writes to stdout, as they come.

        The last argument is its input. Raises InputError, which names it, and ReadwarpError after `stop`.
        """
        process = self._start(tool, arguments, subprocess.PIPE, folder)
        assert process.stdout is not None
        try:
            yield from process.stdout
        except BaseException:
            process.kill()
            process.communicate()
            raise
        self._finish(process, tool, arguments, folder)

    def _start(self, tool: str, arguments: tuple[str, ...], out: int, folder: Path) -> "subprocess.Popen[bytes]":
        command = command_of(folder.absolute(), tool, *arguments)
        with self._lock:
            self.check()
            process = subprocess.Popen(
                command,
                env=os.environ | {"TMPDIR": self._scratch},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._running.add(process)
            return process

    def _finish(self, process: "subprocess.Popen[bytes]", tool: str, arguments: tuple[str, ...], folder: Path) -> None:
        _, said = process.communicate()
        with self._lock:
            self._running.discard(process)
        if process.returncode:
            path = folder / arguments[-1].removeprefix("./")
            raise InputError(path, f"{tool} {arguments[0]}: {reason(said, process.returncode)}")
