"""Output files that get their names when they are complete."""

import sys
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from numpy import ndarray

from readwarp.errors import UsageError
from readwarp.formats.common.bgzf import BgzfWriter, CompressedBlocks, Compressor
from readwarp.formats.common.files import is_direct, private_folder, remove_folder
from readwarp.formats.common.writing import writing
from readwarp.system.stopping import completed, held_back

INDEXES = (".bai", ".csi", ".crai", ".tbi")


class OutputFile:
    """A file in a private folder, NAME.partial, until `finish`. stdout, pipes and devices are written directly.

    The folder belongs to the holder of the output's lock (`files.locked`); without locks, it has a longer name. Raises
    UsageError if it cannot be made.
    """

    def __init__(self, path: str | None):
        self.is_stdout = path in (None, "-")
        self.name = "stdout" if self.is_stdout else str(path)
        self.is_direct = is_direct(path)
        self.index: str | None = None  # ending of the index, which is beside `place` and gets its name with the file
        self.remove: Callable[[], object] = lambda: None
        self.place = Path(self.name)
        if not self.is_direct:
            with held_back():
                folder = self._make_folder()
                self.remove = weakref.finalize(self, remove_folder, folder)  # at the latest when the process ends
            self.place = folder.absolute() / "output"  # for samtools neither an option nor an address

    def _make_folder(self) -> Path:
        folder = private_folder(self.name)
        try:
            with suppress(FileExistsError):
                folder.mkdir(0o700)
                return folder
            return Path(tempfile.mkdtemp(suffix=folder.suffix, prefix=f"{folder.stem}.", dir=folder.parent))
        except OSError as error:
            raise UsageError(f"{self.name}: cannot be written ({error.strerror})") from error

    def open(self) -> BinaryIO:
        if self.is_stdout:
            return sys.stdout.buffer
        try:
            return open(self.place, "wb", buffering=1 << 20)
        except OSError as error:
            raise UsageError(f"{self.name}: cannot be written ({error.strerror})") from error

    def index_path(self, ending: str) -> Path:
        """Return where to write the index: ".bai", ".csi", ".crai" or ".tbi"."""
        self.index = ending
        return Path(f"{self.place}{ending}")

    def finish(self, *others: "OutputFile") -> None:
        """Give the files and their indexes their names, all at once."""
        with held_back():
            for file in (*others, self):
                with writing(file.name):
                    file._rename()
            completed()
        for file in (*others, self):
            file.remove()

    def _rename(self) -> None:
        """Rename so that the old file goes first, then its indexes, and the new index comes before the new file.

        So an index never lies beside a file that it does not belong to, nor a file without its index, even if the
        process is killed in between. Then the next run makes both.
        """
        if self.is_direct:
            return
        indexes = {ending: Path(f"{self.name}{ending}") for ending in INDEXES}
        old = [path for path in indexes.values() if path.exists()]
        if old or self.index:
            Path(self.name).unlink(missing_ok=True)
        for path in old:
            path.unlink()
        if self.index:
            Path(f"{self.place}{self.index}").replace(indexes[self.index])
        try:
            self.place.replace(self.name)
        except BaseException:
            if self.index:
                indexes[self.index].unlink()
            raise


class ByteWriter:
    """A writer of bytes to an open file, plain or, with `threads`, as BGZF. Closes the file, unless it is stdout."""

    def __init__(self, file: BinaryIO, threads: int | Compressor, name: str):
        """Start writing. threads: that compress blocks, or what does elsewhere. name: of the file, in errors."""
        self._file, self._name = file, name
        self._bgzf = BgzfWriter(file, threads) if threads else None

    def write(self, data: bytes | memoryview | ndarray) -> None:
        """Take bytes or a uint8 array, which must not change afterwards."""
        with writing(self._name):
            if self._bgzf:
                self._bgzf.write(data)
            else:
                self._file.write(memoryview(data))

    def begin(self, data: ndarray | CompressedBlocks) -> None:
        """See `BgzfWriter.begin`."""
        assert self._bgzf
        with writing(self._name):
            self._bgzf.begin(data)

    def virtual_offsets(self, at: ndarray) -> ndarray:
        """See `BgzfWriter.virtual_offsets`."""
        assert self._bgzf
        return self._bgzf.virtual_offsets(at)

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
    """Writer of an output that `close` completes. If that fails, or after `abort`, no output is left.

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
