"""Output files that appear under their names when they are complete."""

import os
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from numpy import ndarray

from readwarp.errors import UsageError
from readwarp.formats.common.bgzf import BgzfWriter
from readwarp.formats.common.files import is_device
from readwarp.formats.common.writing import writing


class OutputFile:
    """A file that has another name until `finish`. stdout, pipes and devices are written directly."""

    def __init__(self, path: str | None):
        self.is_stdout = path in (None, "-")
        self.name = "stdout" if self.is_stdout else str(path)
        self.is_direct = self.is_stdout or is_device(Path(self.name))
        self.place = Path(self.name) if self.is_direct else Path(f"{self.name}.{os.getpid()}.partial")

    def open(self) -> BinaryIO:
        if self.is_stdout:
            return sys.stdout.buffer
        try:
            return open(self.place, "wb", buffering=1 << 20)
        except OSError as error:
            raise UsageError(f"{self.name}: cannot be written ({error.strerror})") from error

    def finish(self) -> None:
        if not self.is_direct:
            with writing(self.name):
                self.place.replace(self.name)

    def remove(self) -> None:
        if not self.is_direct:
            self.place.unlink(missing_ok=True)


class ByteWriter:
    """Writes bytes to an open file, as they are or, with `threads`, as BGZF. Closes the file, unless it is stdout."""

    def __init__(self, file: BinaryIO, threads: int, name: str):
        """name: of the file, in errors."""
        self._file, self._name = file, name
        self._bgzf = BgzfWriter(file, threads) if threads else None

    def write(self, data: bytes | memoryview | ndarray) -> None:
        """Take bytes or a uint8 array, which must not change afterwards."""
        with writing(self._name):
            if self._bgzf:
                self._bgzf.write(data)
            else:
                self._file.write(memoryview(data))

    def close(self) -> None:
        with writing(self._name):
            if self._bgzf:
                self._bgzf.close()
            self._file.flush()
            self._close_file()

    def abort(self) -> None:
        if self._bgzf:
            self._bgzf.abort()
        self._close_file()

    def _close_file(self) -> None:
        if self._file is not getattr(sys.stdout, "buffer", None):  # a notebook's stdout has none
            self._file.close()


class Writer(ABC):
    """Writes an output that `close` completes. If that fails, and after `abort`, nothing is left of it.

    As a context manager it closes on success and aborts on any exception.
    """

    @abstractmethod
    def complete(self) -> None: ...

    @abstractmethod
    def abort(self) -> None: ...

    def close(self) -> None:
        try:
            self.complete()
        except BaseException:
            self.abort()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()
