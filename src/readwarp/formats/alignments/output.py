"""Alignments out: SAM, BAM or CRAM by the name's ending, SAM on stdout; sorted, marked and indexed on the way.

A file appears under its name when it is complete: it is written beside it, and `close` renames it; `abort` removes it.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from numpy import ndarray

from readwarp.errors import UsageError
from readwarp.formats.alignments import samtools
from readwarp.formats.alignments.duplicates import SKIP, DuplicateMarker, Libraries, add_signatures
from readwarp.formats.alignments.header import field, lines_of
from readwarp.formats.alignments.index import CSI_LENGTH
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.alignments.sinks import BamSink, ChildSink, Sink, TextSink
from readwarp.formats.alignments.sort import Sorter
from readwarp.formats.common.output_file import OutputFile


def format_of(path: str | Path | None) -> str:
    """sam, bam or cram, by the name's ending; stdout (None or "-") is SAM. Raises UsageError."""
    if path is None or str(path) == "-":
        return "sam"
    ending = Path(str(path)).suffix.lower().lstrip(".")
    if ending not in ("sam", "bam", "cram"):
        if Path(str(path)).exists() and not Path(str(path)).is_file():
            return "sam"  # a pipe or a device
        raise UsageError(f"{path}: the output's name must end in .sam, .bam or .cram")
    return ending


@dataclass(frozen=True, slots=True)
class Finish:
    """What becomes of the records between `write` and the file."""

    sort: str = "none"  # coordinate | name | none
    mark_duplicates: bool = False  # mates must be neighbours in what is written
    write_index: bool = False
    memory: int = 256 << 20  # bytes, for sorting

    def check(self, format: str) -> None:
        """Raises UsageError."""
        if self.sort not in ("coordinate", "name", "none"):
            raise UsageError(f"--sort {self.sort}: not one of coordinate, name, none")
        if self.mark_duplicates and self.sort != "coordinate":
            raise UsageError("--mark-duplicates needs --sort coordinate")
        if self.write_index and (format == "sam" or self.sort != "coordinate"):
            raise UsageError("--write-index needs BAM or CRAM output and --sort coordinate")


class AlignmentWriter:
    """Takes encoded batches in order, from one thread. `close` completes the file, `abort` leaves none.

    As a context manager it closes on success and aborts on any exception.
    """

    def __init__(
        self,
        path: str | None,
        header: str,
        finish: Finish = Finish(),  # it is frozen
        *,
        threads: int = 1,
        reference: str | None = None,  # FASTA, for CRAM
        binary: bool = False,  # BAM records are written here, whatever the file becomes
    ):
        self.format = format_of(path)
        self.text = self.format == "sam" and finish.sort == "none" and not binary  # what Encoder.text must be
        finish.check(self.format)
        self.duplicates = 0  # marked; known after `close`, as `index` is
        self.index: Path | None = None
        self._header, self._write_index, self._threads = header, finish.write_index, threads
        self._sorter: Sorter | None = None
        self._libraries: Libraries | None = None
        if finish.sort != "none":
            self._sorter = Sorter(finish.sort, finish.memory, threads, SKIP if finish.mark_duplicates else 0)
        if finish.mark_duplicates:
            self._libraries = Libraries.of(lines_of(header, "RG"))
        self._file = OutputFile(path)
        self._sink = self._make_sink(threads, reference)

    def _make_sink(self, threads: int, reference: str | None) -> Sink:
        if self.text:
            return TextSink(self._file, self._header)
        if self.format == "bam":
            return BamSink(self._file, self._header, threads)
        if self.format == "sam":
            return ChildSink(self._file, self._header, None)
        if reference is None:
            raise UsageError("CRAM output needs the reference's FASTA")
        return ChildSink(self._file, self._header, reference)

    def write(self, encoded: Encoded) -> None:
        if self._libraries:
            encoded = add_signatures(encoded, self._libraries)
        if self._sorter:
            self._sorter.add(encoded)
        else:
            self._sink.write(encoded.data)

    def close(self) -> None:
        try:
            for data in self._finish():
                self._sink.write(data)
            self._sink.close()
            if self._write_index:
                self._index()
            self._file.finish()
        except BaseException:
            self.abort()
            raise

    def _finish(self) -> Iterator[ndarray]:
        """What the sorter holds, in order, with duplicates marked if that was asked for."""
        pieces = self._sorter.sorted() if self._sorter else iter(())
        if not self._libraries:
            yield from (piece.data for piece in pieces)
            return
        marker = DuplicateMarker()
        for piece in pieces:
            yield from marker.push(piece)
        yield from marker.finish()
        self.duplicates = marker.marked

    def abort(self) -> None:
        if self._sorter:
            self._sorter.close()
        with suppress(OSError):  # what failed before fails again
            self._sink.abort()
        self._file.remove()

    def _index(self) -> None:
        """Beside the output, under its final name, before the output itself appears."""
        longest = max((int(field(line, "LN") or 0) for line in lines_of(self._header, "SQ")), default=0)
        ending = "crai" if self.format == "cram" else "csi" if longest > CSI_LENGTH else "bai"
        kind = () if self.format == "cram" else ("-c",) if ending == "csi" else ("-b",)
        index, threads = f"{self._file.name}.{ending}", str(self._threads)
        samtools.run("index", "-@", threads, *kind, "-o", index, str(self._file.place))
        self.index = Path(index)

    def __enter__(self) -> "AlignmentWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()
