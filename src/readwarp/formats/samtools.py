"""samtools, as it comes with pysam, in a process of its own: in ours it would hold the GIL and redirect stdout."""

import subprocess
import sys
from typing import Any

from readwarp.errors import ReadwarpError


def start(*arguments: str, **pipes: Any) -> "subprocess.Popen[bytes]":
    """Start `samtools ...` with the pipes of subprocess.Popen."""
    return subprocess.Popen([sys.executable, "-m", "readwarp.formats.samtools", *arguments], **pipes)


def run(*arguments: str) -> None:
    """Run `samtools ...` to its end. Raises ReadwarpError with what it says."""
    process = start(*arguments, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, said = process.communicate()
    if process.returncode:
        raise ReadwarpError(f"samtools {arguments[0]}: {last_line(said)}")


def last_line(said: bytes) -> str:
    lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "failed"


def main() -> int:
    import pysam.samtools

    command, *arguments = sys.argv[1:]
    try:
        getattr(pysam.samtools, command)(*arguments, catch_stdout=False)
    except pysam.SamtoolsError as error:
        print(error.value if hasattr(error, "value") else error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
