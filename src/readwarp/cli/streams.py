"""Prerequisites of a process: the three standard streams, and UTF-8 for names."""

import os
import sys
from contextlib import suppress

from readwarp.wording import printable

# A closed stream is opened the wrong way round: reading or writing it stays an error, but no file gets its number,
# under which a library would write messages into it.
STREAMS = (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))


def prepare() -> None:
    """Open closed streams. If the locale is not UTF-8, restart the process in Python's UTF-8 mode."""
    for number, (name, mode, flag) in enumerate(STREAMS):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flag)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's idle threads would take memory
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def tell(text: str) -> None:
    """Print lines on stderr, if somebody reads it; no name in them can steer the terminal."""
    with suppress(OSError):
        print("\n".join(map(printable, text.split("\n"))), file=sys.stderr, flush=True)


def flush_stdout() -> None:
    """Flush stdout. Raises OSError, which names it."""
    try:
        sys.stdout.flush()
    except OSError as error:
        error.filename = "stdout"
        raise


def give_up_stdout() -> None:
    """Discard pending output if stdout cannot be written: Python would try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
