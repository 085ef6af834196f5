"""The text of a BCF file in whole lines, like that of VCF in `genomic_text`; htslib makes it in a child process.

One child reads the files of all readers of this process, in turn, and ends with the last of them.
"""

import json
import threading
from contextlib import suppress
from pathlib import Path

from readwarp.errors import InputError
from readwarp.formats.common.htslib import HtslibProcess

RECORDS, FIRST_RECORDS = 1 << 10, 1 << 4  # read at a time: at most, and before their size is known


class Children:
    """The child for new files."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: HtslibProcess | None = None

    def borrow(self) -> HtslibProcess:
        with self._lock:
            if self._child is None or self._child.is_over:
                self._child = HtslibProcess()
            self._child.files += 1
            return self._child

    def give_back(self, child: HtslibProcess) -> None:
        with self._lock:
            child.files -= 1
            if child.files == 0:
                child.close()
                self._child = None if self._child is child else self._child


CHILDREN = Children()


class BcfText:
    """A forward reader of a BCF file."""

    def __init__(self, path: Path, header_size: int):
        """Open the file. header_size: bytes before the first record. Raises InputError if htslib cannot read it."""
        self.header_size, self._path = header_size, path
        self._child = CHILDREN.borrow()
        self._file, self._is_closed = next(self._child.numbers), False
        self._place = 0
        self._at: int | None = None  # where to continue
        self._records = FIRST_RECORDS
        try:
            answer = self._child.ask(path, do="open_bcf", file=self._file, name=str(path))
        except BaseException:
            self.close()
            raise
        header, self.contigs = json.loads(answer)
        self._header: list[str] = header.splitlines()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            with suppress(InputError):  # it was not opened, or the child has crashed
                self._child.ask(self._path, do="close", file=self._file)
            CHILDREN.give_back(self._child)

    def header(self) -> list[str]:
        return self._header

    def lines(self, size: int) -> bytes:
        """Return whole lines of about `size` bytes, at most RECORDS; nothing at the end of the file."""
        text = self._read(self._records)
        self._records = max(1, min(RECORDS, self._records * size // max(1, len(text))))
        return text

    def line_at(self, offset: int, *_: int) -> bytes:
        """Continue at a virtual offset; return the line of the record there."""
        self._at = offset
        line = self._read(1)
        self._at = self._place = offset
        return line

    def is_before(self, offset: int) -> bool:
        """Return whether the block of a virtual offset has not been reached yet."""
        return self._place >> 16 < offset >> 16

    def _read(self, records: int) -> bytes:
        answer = self._child.ask(self._path, do="read_bcf", file=self._file, records=records, at=self._at)
        place, _, text = answer.partition(b"\n")
        self._place, self._at = int(place), None
        return text
