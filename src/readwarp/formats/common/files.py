"""Files that a job is given: what can be read, what may be written, and what cannot be is said before any work."""

import os
from collections.abc import Iterable
from pathlib import Path

from readwarp.errors import InputError, UsageError


def check_output(path: Path | None, force: bool, inputs: Iterable[object] = ()) -> None:
    """Refuse, before any work, an output that exists (without --force), is an input, or cannot lie where it should."""
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise UsageError(f"{path}: is a folder")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")
    if any(str(other) != "-" and path.resolve() == Path(str(other)).resolve() for other in inputs):
        raise UsageError(f"{path}: is an input too")
    if path.exists() and not force and not _is_device(path):
        raise UsageError(f"{path}: exists already (use --force to replace it)")
    if not os.access(path if _is_device(path) else path.parent, os.W_OK):
        raise UsageError(f"{path}: cannot be written (permission denied)")


def check_inputs(paths: Iterable[object]) -> None:
    """Every input is there and can be read; `-` is stdin and may come once."""
    names = [str(path) for path in paths]
    if names.count("-") > 1:
        raise UsageError("stdin (-) can be read once only")
    for name in names:
        if name == "-" or Path(name).is_fifo():  # opening a pipe would take from it
            continue
        try:
            with open(name, "rb"):
                pass
        except OSError as error:
            raise InputError(name, (error.strerror or "cannot be read").lower()) from None


def check_resume(resume: bool, outputs: Iterable[Path | None], inputs: Iterable[str]) -> None:
    """Raises UsageError where nothing could be kept, or not be read again."""
    if resume and any(path is None or str(path) == "-" or _is_device(path) for path in outputs):
        raise UsageError("--resume needs an output file (-o)")
    for path in inputs if resume else ():
        if path == "-" or not Path(path).is_file():
            raise UsageError(f"--resume: {path} cannot be read a second time")


def _is_device(path: Path) -> bool:
    """/dev/null, /dev/stdout, a named pipe: written to, never replaced."""
    return path.is_char_device() or path.is_fifo()
