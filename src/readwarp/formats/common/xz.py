"""xz files with a memory limit, which Python's LZMAFile lacks: a few bytes may ask for gigabytes."""

import io
import lzma
from typing import Any

MEMORY = 1 << 28  # bytes; `xz -9` needs a quarter of it
CHUNK = 1 << 16  # compressed bytes read at a time


class XzFile(io.BufferedReader):
    """The decompressed bytes of an open file, of all its streams. Raises LZMAError and EOFError."""

    def __init__(self, raw: Any):
        super().__init__(_Streams(raw), 1 << 20)


class _Streams(io.RawIOBase):
    def __init__(self, raw: Any):
        self._raw, self._pending = raw, b""
        self._stream = lzma.LZMADecompressor(memlimit=MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while True:
            if self._stream.eof:
                self._pending = self._skip_padding(self._stream.unused_data)
                if not self._pending:
                    return 0
                self._stream = lzma.LZMADecompressor(memlimit=MEMORY)
            data = b""
            if self._stream.needs_input:
                data, self._pending = self._pending or self._raw.read(CHUNK), b""
                if not data:
                    raise EOFError
            if got := self._stream.decompress(data, len(view)):
                view[: len(got)] = got
                return len(got)

    def _skip_padding(self, data: bytes) -> bytes:
        """Skip the zeros that may follow a stream, before another one."""
        while not (rest := data.lstrip(b"\0")) and (data := self._raw.read(CHUNK)):
            pass
        return rest
