"""The text of a BCF file in whole lines, as `genomic_text` has that of VCF. htslib makes it, in a child process.

One child reads the files of all readers of this process, in turn, and ends with the last of them.
"""

import json
import subprocess
import sys
import threading
from contextlib import suppress
from itertools import count
from pathlib import Path

from readwarp.errors import InputError

CHILD = (sys.executable, "-m", "readwarp.formats.variants.bcf_child")
RECORDS = 1 << 10  # read at a time


class Child:
    """A process that reads files."""

    def __init__(self) -> None:
        self.files = 0  # open ones
        self._lock, self._numbers = threading.Lock(), count()
        self._process = subprocess.Popen(
            CHILD,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # out of reach of the terminal's Ctrl-C
        )

    def next_number(self) -> int:
        return next(self._numbers)

    def ask(self, path: Path, **request: object) -> bytes:
        """Its answer. Raises InputError for an error, and where it crashed."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        with self._lock:
            try:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                head = process.stdout.read(9)
                data = process.stdout.read(int.from_bytes(head[1:], "little"))
            except BrokenPipeError:
                head = data = b""
        if head[:1] != b"\0":
            raise InputError(path, "damaged, or truncated")
        return data

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Children:
    """The child that new files go to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Child | None = None

    def borrow(self) -> Child:
        with self._lock:
            if self._child is None or self._child.is_over:
                self._child = Child()
            self._child.files += 1
            return self._child

    def give_back(self, child: Child) -> None:
        with self._lock:
            child.files -= 1
            if child.files == 0:
                child.close()
                self._child = None if self._child is child else self._child


CHILDREN = Children()


class BcfText:
    """Reads a file forwards."""

    def __init__(self, path: Path, header_size: int):
        """header_size: bytes before the first record. Raises InputError for a file that htslib cannot read."""
        self.header_size, self._path, self._child = header_size, path, CHILDREN.borrow()
        self._file, self._place, self._is_closed = self._child.next_number(), 0, False
        self._at: int | None = None  # to go on from
        try:
            answer = self._child.ask(path, do="open", file=self._file, name=str(path))
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

    def lines(self, _: int) -> bytes:
        """Whole lines of some records; nothing at the end of the file."""
        return self._read(RECORDS)

    def line_at(self, offset: int, *_: int) -> bytes:
        """Go on at a virtual offset -> the line of the record there."""
        self._at = offset
        line = self._read(1)
        self._at = self._place = offset
        return line

    def is_before(self, offset: int) -> bool:
        """Whether the block of a virtual offset has not been reached yet."""
        return self._place >> 16 < offset >> 16

    def _read(self, records: int) -> bytes:
        answer = self._child.ask(self._path, do="read", file=self._file, records=records, at=self._at)
        place, _, text = answer.partition(b"\n")
        self._place, self._at = int(place), None
        return text
