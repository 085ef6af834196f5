"""The samtools and bcftools of pysam, each call in a process of its own.

In ours they would hold the GIL and redirect stdout, and a second call in one process may end it (pysam 0.24).
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from readwarp.errors import ReadwarpError
from readwarp.formats.alignments.samtools import reason

OUTPUT_IS_AN_OPTION = ("query", "view")  # of bcftools; the others write to stdout


class Tools:
    """Runs tools from any thread, until `stop`."""

    def __init__(self) -> None:
        self._lock, self._running, self._is_stopped = threading.Lock(), set[subprocess.Popen[bytes]](), False

    def stop(self) -> None:
        """Kill what is running, and start nothing more."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                process.kill()

    def write(self, tool: str, *arguments: str, output: Path, folder: Path) -> None:
        """Run `tool arguments` in `folder`, its stdout to `output`. Raises ReadwarpError."""
        with output.open("wb") as out:
            process = self._start(tool, arguments, out.fileno(), folder)
            _, said = process.communicate()
        self._check(process, tool, arguments, said)

    def lines(self, tool: str, *arguments: str, folder: Path) -> Iterator[bytes]:
        """The lines that `tool arguments` writes to stdout, as they come. Raises ReadwarpError."""
        process = self._start(tool, arguments, subprocess.PIPE, folder)
        assert process.stdout is not None
        try:
            yield from process.stdout
        except BaseException:
            process.kill()
            raise
        _, said = process.communicate()
        self._check(process, tool, arguments, said)

    def _start(self, tool: str, arguments: tuple[str, ...], out: int, folder: Path) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "readwarp.report.tools", str(folder.absolute()), tool, *arguments]
        environment = {"REF_PATH": os.devnull} | os.environ  # nothing is fetched from the network
        with self._lock:
            if self._is_stopped:
                raise ReadwarpError("stopped")
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._running.add(process)
            return process

    def _check(self, process: "subprocess.Popen[bytes]", tool: str, arguments: tuple[str, ...], said: bytes) -> None:
        with self._lock:
            self._running.discard(process)
        if process.returncode:
            raise ReadwarpError(f"{tool} {arguments[0]}, {arguments[-1]}: {reason(said)}")


def main() -> int:
    import pysam.bcftools
    import pysam.samtools

    folder, tool, command, *arguments = sys.argv[1:]
    os.chdir(folder)  # here, and not by Popen: sys.path may hold relative names
    function = getattr({"samtools": pysam.samtools, "bcftools": pysam.bcftools}[tool], command)
    try:
        if command in OUTPUT_IS_AN_OPTION:
            function("-o", "/dev/stdout", *arguments, catch_stdout=False)
        else:
            function(*arguments, save_stdout="/dev/stdout")
    except pysam.SamtoolsError as error:
        print(str(error.args[0]).partition("stderr=")[2].strip("'").removesuffix("\\n") or error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
