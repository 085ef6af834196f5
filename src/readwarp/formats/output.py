"""Alignments out: SAM, BAM or CRAM by the name's ending, SAM on stdout; sorted, marked and indexed on the way.

A file appears under its name when it is complete: it is written beside it and renamed by `close`; `abort` removes it.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NoReturn, Protocol

from numpy import ndarray

from readwarp.errors import ReadwarpError, UsageError
from readwarp.formats import samtools
from readwarp.formats.bgzf import BgzfWriter
from readwarp.formats.duplicates import SKIP, DuplicateMarker, Libraries, with_signatures
from readwarp.formats.header import field, lines_of
from readwarp.formats.sam import Encoded
from readwarp.formats.sort import Sorter

CSI_LENGTH = 1 << 29  # contigs longer than this need a .csi index


class Sink(Protocol):
    """Where encoded records go, in their final order."""

    def write(self, data: ndarray) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...


def format_of(path: str | None) -> str:
    """sam, bam or cram, by the ending; stdout (None or "-") is SAM. Raises UsageError."""
    if path in (None, "-"):
        return "sam"
    ending = Path(str(path)).suffix.lower().lstrip(".")
    if ending not in ("sam", "bam", "cram"):
        if Path(str(path)).exists() and not Path(str(path)).is_file():
            return "sam"  # a pipe or a device
        raise UsageError(f"{path}: the output's name must end in .sam, .bam or .cram")
    return ending


def bam_header(text: str) -> bytes:
    """BAM's binary header from SAM header text."""
    encoded = text.encode()
    parts = [b"BAM\x01", len(encoded).to_bytes(4, "little"), encoded]
    contigs = lines_of(text, "SQ")
    parts.append(len(contigs).to_bytes(4, "little"))
    for line in contigs:
        name = (field(line, "SN") or "").encode() + b"\0"
        parts += [len(name).to_bytes(4, "little"), name, int(field(line, "LN") or 0).to_bytes(4, "little")]
    return b"".join(parts)


def with_places(header: str, reference: str) -> str:
    """@SQ lines with UR, where a reader of CRAM finds the reference; otherwise htslib would name a temporary copy."""
    place = f"\tUR:{Path(reference).resolve()}"
    lines = header.splitlines()
    return "".join(line + (place if line.startswith("@SQ") and not field(line, "UR") else "") + "\n" for line in lines)


class OutputFile:
    """A file that is written beside its name until `finish`; stdout, pipes and devices are written as they are."""

    def __init__(self, path: str | None):
        self.name = "stdout" if path in (None, "-") else str(path)
        self.direct = path in (None, "-") or (Path(self.name).exists() and not Path(self.name).is_file())
        self.place = Path(self.name) if self.direct else Path(f"{self.name}.{os.getpid()}.partial")

    def open(self) -> BinaryIO:
        if self.name == "stdout":
            return sys.stdout.buffer
        try:
            return open(self.place, "wb", buffering=1 << 20)
        except OSError as error:
            raise UsageError(f"{self.name}: cannot be written ({error.strerror})") from error

    def finish(self) -> None:
        if not self.direct:
            self.place.replace(self.name)

    def remove(self) -> None:
        if not self.direct:
            self.place.unlink(missing_ok=True)


class TextSink:
    """SAM lines as they come."""

    def __init__(self, file: OutputFile, header: str):
        self._file, self._stream = file, file.open()
        self._stream.write(header.encode())

    def write(self, data: ndarray) -> None:
        self._stream.write(memoryview(data))

    def close(self) -> None:
        self._stream.flush()
        self.abort()

    def abort(self) -> None:
        if self._stream is not sys.stdout.buffer:
            self._stream.close()


class BamSink:
    """BAM records, compressed in threads."""

    def __init__(self, file: OutputFile, header: str, threads: int):
        self._stream = file.open()
        self._bgzf = BgzfWriter(self._stream, threads)
        self._bgzf.write(bam_header(header))

    def write(self, data: ndarray) -> None:
        self._bgzf.write(data)

    def close(self) -> None:
        self._bgzf.close()
        self._stream.close()

    def abort(self) -> None:
        self._bgzf.abort()
        self._stream.close()


class ChildSink:
    """BAM records through a pipe to samtools, which writes CRAM, or SAM when they had to be sorted first."""

    def __init__(self, file: OutputFile, header: str, reference: str | None):
        self._name = file.name
        self._folder = tempfile.TemporaryDirectory(prefix="readwarp-")
        options = ["-h"]
        if reference is not None:
            header = with_places(header, reference)
            options = ["-C", "-T", self._reference(reference)]
        options += [] if file.name == "stdout" else ["-o", str(file.place)]
        self._said = (Path(self._folder.name) / "said").open("w+b")
        self._child = samtools.start("view", "--no-PG", *options, "-", stdin=subprocess.PIPE, stderr=self._said)
        assert self._child.stdin is not None
        self._pipe = self._child.stdin
        self.write(memoryview(bam_header(header)))

    def _reference(self, path: str) -> str:
        try:
            return samtools.reference_in(path, self._folder.name)
        except BaseException:
            self._folder.cleanup()
            raise

    def write(self, data: ndarray | memoryview) -> None:
        try:
            self._pipe.write(memoryview(data))
        except BrokenPipeError:
            self._end()

    def close(self) -> None:
        try:
            self._pipe.close()
        except BrokenPipeError:
            self._end()
        if self._child.wait():
            self._end()
        self._clean()

    def _end(self) -> NoReturn:
        """The child has ended before its time: say why."""
        self._child.wait()
        self._said.seek(0)
        reason = samtools.reason(self._said.read())
        if self._name == "stdout" and "Broken pipe" in reason:
            raise BrokenPipeError(reason)
        raise ReadwarpError(f"{self._name}: {reason}")

    def abort(self) -> None:
        self._child.kill()
        self._child.wait()
        with suppress(BrokenPipeError):
            self._pipe.close()
        self._clean()

    def _clean(self) -> None:
        self._said.close()
        self._folder.cleanup()


def _check_options(format: str, sort: str, mark_duplicates: bool, write_index: bool) -> None:
    if sort not in ("coordinate", "name", "none"):
        raise UsageError(f"--sort {sort}: not one of coordinate, name, none")
    if mark_duplicates and sort != "coordinate":
        raise UsageError("--mark-duplicates needs --sort coordinate")
    if write_index and (format == "sam" or sort != "coordinate"):
        raise UsageError("--write-index needs BAM or CRAM output and --sort coordinate")


class AlignmentWriter:
    """Takes encoded batches in order. One thread calls it; `close` completes the file, `abort` leaves none.

    Also a context manager, which closes on success and aborts on any exception.
    """

    def __init__(
        self,
        path: str | None,
        header: str,
        *,
        threads: int = 1,
        reference: str | None = None,  # FASTA, for CRAM
        write_index: bool = False,
        sort: str = "none",  # coordinate | name | none
        mark_duplicates: bool = False,  # mates must be neighbours in what is written here
        memory: int = 256 << 20,  # bytes, for sorting
    ):
        self.format = format_of(path)
        self.text = self.format == "sam" and sort == "none"  # what Encoder.text must be
        _check_options(self.format, sort, mark_duplicates, write_index)
        self.duplicates = 0  # marked; known after `close`
        self._header, self._write_index = header, write_index
        self._sorter: Sorter | None = None
        self._libraries: Libraries | None = None
        if sort != "none":
            self._sorter = Sorter(sort, memory, threads, SKIP if mark_duplicates else 0)
        if mark_duplicates:
            self._libraries = Libraries(lines_of(header, "RG"))
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
            encoded = with_signatures(encoded, self._libraries)
        if self._sorter:
            self._sorter.add(encoded)
        else:
            self._sink.write(encoded.data)

    def close(self) -> None:
        try:
            for data in self._sorted():
                self._sink.write(data)
            self._sink.close()
            if self._write_index:
                self._index()
            self._file.finish()
        except BaseException:
            self.abort()
            raise

    def _sorted(self) -> Iterator[ndarray]:
        """What the sorter holds, in order, and marked when that was asked for."""
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
        self._sink.abort()
        self._file.remove()

    def _index(self) -> None:
        """Beside the output, under its final name, before the output itself appears."""
        longest = max((int(field(line, "LN") or 0) for line in lines_of(self._header, "SQ")), default=0)
        ending = "crai" if self.format == "cram" else "csi" if longest > CSI_LENGTH else "bai"
        kind = () if self.format == "cram" else ("-c",) if ending == "csi" else ("-b",)
        samtools.run("index", *kind, "-o", f"{self._file.name}.{ending}", str(self._file.place))

    def __enter__(self) -> "AlignmentWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()
