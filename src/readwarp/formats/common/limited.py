"""Text with limited lines or records: a few compressed bytes can hold a line of gigabytes."""

import io
from pathlib import Path
from typing import Any

from readwarp.errors import InputError
from readwarp.formats.common.compressed import decompress
from readwarp.formats.common.source import reading

MAX_RECORD = 1 << 28  # bytes
CHUNK = 1 << 20


class LimitedText(io.RawIOBase):
    """Bytes of a stream. Raises InputError where MAX_RECORD bytes pass without a `mark`."""

    def __init__(self, stream: Any, path: object, mark: bytes = b"\n"):
        self._stream, self._path, self._mark, self._since = stream, path, mark, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        last = data.rfind(self._mark)
        self._since = self._since + len(data) if last < 0 else len(data) - last
        if self._since > MAX_RECORD:
            what = "a line" if self._mark == b"\n" else "a record"
            raise InputError(self._path, f"{what} is longer than {MAX_RECORD >> 20} MiB")
        return len(data)


def limited(stream: Any, path: object, mark: bytes = b"\n") -> io.BufferedReader:
    return io.BufferedReader(LimitedText(stream, path, mark), CHUNK)


def check_lines(path: Path, *binary: bytes) -> None:
    """Read a text, plain or compressed, to its end. Raises InputError for a line that is too long, and for damage.

    binary: first bytes of formats without lines.
    """
    if not path.is_file():  # a pipe is read only once
        return
    with reading(path), path.open("rb") as raw, limited(decompress(raw), path) as text:
        while not text.peek().startswith(binary) and text.read(CHUNK):
            binary = ()
