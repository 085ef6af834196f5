"""Errors of writing, such as a full disk, that name the file or folder and the reason.

write(2) knows no names, htslib and samtools often withhold the reason, and a file that is still under a private name
must be reported under its own.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, EIO, ENOSPC
from pathlib import Path

from readwarp.errors import ReadwarpError
from readwarp.system.scratch import private_file

PROBE = 1 << 16  # bytes
OF_WRITES = (EDQUOT, EFBIG, EIO, ENOSPC)
HINT = "for temporary files; TMPDIR sets another folder"


@contextmanager
def writing(path: object, by_htslib: bool = False) -> Iterator[None]:
    """Report system errors in the block for `path`, whatever raises them; for pysam's, find the reason.

    by_htslib: pysam writes, in threads of htslib, whose errno it does not see: it may report another call's.
    """
    try:
        yield
    except ReadwarpError:  # some of them are OSErrors too
        raise
    except OSError as error:
        if error.errno is None:
            raise unwritten(path, str(error)) from error
        if by_htslib and error.errno not in OF_WRITES:
            raise unwritten(path, "htslib does not say why") from error
        raise _about(error.errno, path) from error


@contextmanager
def writing_temporary() -> Iterator[None]:
    """Report system errors in the block for the temporary folder."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise _about(error.errno, tempfile.gettempdir(), f" ({HINT})") from error


def unwritten(path: object, said: str) -> Exception:
    """Return the error of a tool that could not write `path`: what the folder shows, else what was `said`."""
    return refusal(Path(str(path)).parent, path) or ReadwarpError(f"{path}: cannot be written ({said})")


def refusal(folder: Path, path: object) -> OSError | None:
    """Return why nothing more can be written to a folder, as an error about `path`; None if it can."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        return None if error.errno is None else _about(error.errno, path)
    return None


def _about(number: int, path: object, hint: str = "") -> OSError:
    return OSError(number, os.strerror(number) + hint, str(path))  # of the subclass for that number


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears with all of its content, on disk, or not at all."""
    with writing(path), private_file(path) as private:
        private.path.write_bytes(content)
        sync(private.path)
        private.path.replace(path)


def sync(path: Path) -> None:
    """Flush a file, or a folder's entries, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
