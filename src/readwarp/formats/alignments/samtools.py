"""pysam's samtools and bcftools, each call in a process of its own.

In our process they would hold the GIL and redirect stdout, and a second call may end it (pysam 0.24).
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from readwarp.errors import InputError, ReadwarpError
from readwarp.formats.common.fasta import read_contigs
from readwarp.formats.common.index_file import is_index, source_of
from readwarp.formats.common.writing import unwritten, writing_temporary
from readwarp.system.scratch import ScratchFolder


class ToolProcess(subprocess.Popen[bytes]):
    """A running samtools or bcftools, shielded from the terminal's Ctrl-C, with the pipes of subprocess.Popen.

    Its messages go to a temporary file, so that it never waits for us to read them. It ends with this process.
    """

    def __init__(self, tool: str, *arguments: str, folder: object = ".", **pipes: Any):
        """Start the tool. folder: its working folder."""
        program = (sys.executable, "-P", "-m", "readwarp.formats.common.tool")  # -P: no imports from the working folder
        command = [*program, str(os.getpid()), str(folder), tool, *arguments]
        self._scratch = ScratchFolder()  # pysam leaves files behind when killed
        environment = os.environ | {"TMPDIR": str(self._scratch.path)}
        self._said = open(self._scratch.path / "said", "w+b")  # noqa: SIM115
        super().__init__(command, env=environment, start_new_session=True, stderr=self._said, **pipes)

    def error(self) -> str:
        """Return what went wrong, once it has ended."""
        code = self.wait()
        self._said.seek(0)
        return reason(self._said.read(), code)

    def close(self) -> None:
        """End it if it is still running."""
        self.kill()
        with suppress(BrokenPipeError):
            self.__exit__(None, None, None)  # closes the pipes
        self._said.close()
        self._scratch.close()


def run(*arguments: str, output: object = None) -> None:
    """Run `samtools ...` to its end. Raises ReadwarpError with its message, or an error about the `output`."""
    with closing(ToolProcess("samtools", *arguments, stdin=subprocess.DEVNULL)) as child:
        if child.wait():
            said = f"samtools {arguments[0]}: {child.error()}"
            raise ReadwarpError(said) if output is None else unwritten(output, said)


def reason(said: bytes, code: int = 1) -> str:
    """Return the first error in a tool's stderr, without its place in the source code, or what ended it."""
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("[E::")] or lines or ["samtools failed"]
    return re.sub(r"^\[\S+\] ", "", errors[0])


def reference_in(path: str, folder: Path) -> str:
    """Return the reference as FASTA that has a .fai, or next to which one can be made: itself, or a copy in `folder`.

    For an index (.rwx), that is the file it was made from, or its contigs.
    """
    if is_index(path) and (source := source_of(path)):
        path = str(source)
    if Path(f"{path}.fai").exists() and (not path.endswith(".gz") or Path(f"{path}.gzi").exists()):
        return path
    try:
        with Path(path).open("rb") as file:
            is_plain = file.read(1) == b">"
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})") from error
    copy = folder / "reference.fa"
    if is_plain:
        copy.symlink_to(Path(path).resolve())
        return str(copy)
    write_fasta(copy, read_contigs(path))
    return str(copy)


def write_fasta(path: Path, contigs: Iterable[tuple[str, bytes]]) -> None:
    """Write names and letters to a file of the temporary folder."""
    with writing_temporary(), path.open("wb") as out:
        for name, letters in contigs:
            out.write(b">" + name.encode() + b"\n" + letters + b"\n")
