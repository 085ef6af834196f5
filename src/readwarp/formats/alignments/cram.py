"""CRAM as uncompressed BAM: htslib decodes it in child processes, one per thread that is reading."""

import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pysam
from isal import igzip

from readwarp.errors import InputError
from readwarp.formats.alignments.cram_reference import find_reference
from readwarp.formats.alignments.header import parse_header
from readwarp.formats.alignments.samtools import reason
from readwarp.formats.common.compressed import is_bgzf
from readwarp.formats.common.htslib import HtslibProcess

FILE = 0  # number of the file in each child


class CramFile:
    """A CRAM file, open for reading from any thread."""

    def __init__(self, path: Path, given: Sequence[str], folder: Path):
        """Open the file. given: references; folder: for files made from them, see `find_reference`.

        Raises InputError for a file that htslib cannot read.
        """
        self._path, self._lock = path, threading.Lock()
        self._idle: list[HtslibProcess] = []
        with ExitStack() as stack:
            stack.callback(self.close)
            self._idle.append(HtslibProcess())
            self.text = _open(self._idle[0], path, None)
            self.reference = find_reference(self.text, given, folder)
            _open(self._idle[0], path, self.reference.fasta)
            stack.pop_all()

    def _start(self) -> HtslibProcess:
        child = HtslibProcess()
        try:
            _open(child, self._path, self.reference.fasta)
        except BaseException:
            child.close()
            raise
        return child

    @contextmanager
    def reading(self, places: Sequence[tuple[str, int, int]] | None, records: int | None = None) -> Iterator[Path]:
        """Yield a BAM file of the records that overlap places (contig, start, stop), or of the first `records`.

        Raises InputError if they cannot be decoded.
        """
        with self._lock:
            child = self._idle.pop() if self._idle else None
        child = child or self._start()
        try:
            with tempfile.TemporaryFile(prefix="readwarp-") as copy:  # unnamed, so that it never remains
                name = f"/proc/{os.getpid()}/fd/{copy.fileno()}"
                request = {"do": "read_cram", "file": FILE, "output": name, "places": places, "records": records}
                try:
                    child.ask(self._path, lambda said: self.reference.explain(reason(said)), **request)
                except InputError as error:
                    near = f"near {places[0][0]}:{places[0][1] + 1}" if places else None
                    raise InputError(self._path, error.reason, near) from error
                yield Path(name)
        finally:
            with self._lock:
                self._idle.append(child)

    def records(self, places: Sequence[tuple[str, int, int]]) -> bytes:
        """Return the records as in BAM, without a header."""
        with self.reading(places) as path:
            data = igzip.decompress(path.read_bytes())
        header = parse_header(data, self._path)
        assert header is not None
        return bytes(data[header[0] :])

    def fetch(self, place: tuple[str, int, int]) -> Iterator[pysam.AlignedSegment]:
        with self.reading([place]) as path, pysam.AlignmentFile(str(path)) as file:
            yield from file.fetch(until_eof=True)

    def close(self) -> None:
        for child in self._idle:
            child.close()
        self._idle.clear()


def header_of(path: Path) -> str:
    """Return the SAM header text. Raises InputError."""
    with closing(HtslibProcess()) as child:
        return _open(child, path, None)


def _open(child: HtslibProcess, path: Path, fasta: str | None) -> str:
    """Open the file in a process; return its header."""
    request = {"do": "open_cram", "file": FILE, "name": str(path), "reference": fasta}
    return child.ask(path, "cannot be read as CRAM", **request).decode(errors="replace")


def is_cram(path: Path) -> bool:
    """Return whether the file is CRAM; BAM otherwise. Raises InputError for any other file."""
    try:
        with path.open("rb") as file:
            head = file.read(14)
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})") from error
    if head[:4] != b"CRAM" and not is_bgzf(head):
        raise InputError(path, "is neither BAM nor CRAM (SAM is read from stdin only: `-`)")
    return head[:4] == b"CRAM"
