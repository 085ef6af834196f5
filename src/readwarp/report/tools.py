"""Run pysam's samtools and bcftools until they are stopped; read and write their texts."""

import subprocess
import threading
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

from readwarp.errors import InputError, ReadwarpError
from readwarp.formats.alignments.samtools import ToolProcess
from readwarp.formats.common.source import reading

Row = Sequence[Any]  # fields of a line: numbers or their texts; a comment's first field begins with #
Sections = defaultdict[str, list[Row]]  # rows by section, without its name; a missing section has no rows


def text_of(path: Path) -> str:
    """Read a text. Raises InputError."""
    try:
        with reading(path):
            return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise InputError(path, "is not text (remove the file)") from None


def read_rows(path: Path) -> list[Row]:
    """Read the lines of a text. Raises InputError."""
    return [line.split("\t") for line in text_of(path).split("\n") if line]


def read_stats(path: Path) -> list[Row]:
    """Read the output of `samtools stats` or `bcftools stats`. Raises InputError for any other text."""
    rows = read_rows(path)
    if not any("This file was produced by" in row[0] for row in rows[:3]):
        raise InputError(path, "was not made by samtools stats or bcftools stats (remove the file)")
    return rows


def text_of_rows(rows: Iterable[Row]) -> bytes:
    return "".join("\t".join(map(str, row)) + "\n" for row in rows).encode(errors="surrogateescape")


def without_comments(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if not str(row[0]).startswith("#")]


def sections_of(rows: Iterable[Row]) -> Sections:
    """Group the rows of `samtools stats` or `bcftools stats`."""
    found: Sections = defaultdict(list)
    for name, *fields in without_comments(rows):
        found[name].append(fields)
    return found


def argument(path: Path) -> str:
    """Return the name of a file in a tool's folder, so that it is neither an option (-x) nor an address (s3:x)."""
    return f"./{path.name}" if path.name.startswith("-") or ":" in path.name else path.name


class Tools:
    """Runner of tools from any thread, until `stop`."""

    def __init__(self) -> None:
        self._lock, self._running = threading.Lock(), set[ToolProcess]()
        self._is_stopped = False

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
        with self._lock:
            self.check()
            pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
            process = ToolProcess(tool, *arguments, folder=folder.absolute(), **pipes)
            self._running.add(process)
        try:
            assert process.stdout is not None
            yield from process.stdout
            if process.wait():
                path = folder / arguments[-1].removeprefix("./")
                raise InputError(path, f"{tool} {arguments[0]}: {process.error()}")
        finally:
            with self._lock:
                self._running.discard(process)
            process.close()
