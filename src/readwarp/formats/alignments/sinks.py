"""Where encoded records go in their final order: SAM text, BAM in threads, or samtools for CRAM and sorted SAM."""

import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, Protocol

from numpy import ndarray

from readwarp.errors import ReadwarpError
from readwarp.formats.alignments import samtools
from readwarp.formats.alignments.header import binary_header
from readwarp.formats.common.bgzf import BgzfWriter
from readwarp.formats.common.output_file import OutputFile


class Sink(Protocol):
    """Where encoded records go, in their final order."""

    def write(self, data: ndarray) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...


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
        self._bgzf.write(binary_header(header))

    def write(self, data: ndarray) -> None:
        self._bgzf.write(data)

    def close(self) -> None:
        self._bgzf.close()
        self._stream.close()

    def abort(self) -> None:
        self._bgzf.abort()
        self._stream.close()


class ChildSink:
    """BAM records through a pipe to samtools, which writes CRAM, or SAM where they had to be sorted first."""

    def __init__(self, file: OutputFile, header: str, reference: str | None):
        self._file, self._header, self._reference = file, header, reference
        self._folder = tempfile.TemporaryDirectory(prefix="readwarp-")
        try:
            options = ["-h"] if reference is None else ["-C", "-T", self._fasta(reference)]
            options += [] if file.name == "stdout" else ["-o", str(file.place)]
            self._said = (Path(self._folder.name) / "said").open("w+b")
            self._child = samtools.start("view", "--no-PG", *options, "-", stdin=subprocess.PIPE, stderr=self._said)
        except BaseException:
            self._folder.cleanup()
            raise
        assert self._child.stdin is not None
        self._pipe = self._child.stdin
        self.write(memoryview(binary_header(header)))

    def _fasta(self, reference: str) -> str:
        self._used = samtools.reference_in(reference, self._folder.name)
        return self._used

    def write(self, data: ndarray | memoryview) -> None:
        try:
            self._pipe.write(memoryview(data))
        except BrokenPipeError:
            self._fail()

    def close(self) -> None:
        try:
            self._pipe.close()
        except BrokenPipeError:
            self._fail()
        if self._child.wait():
            self._fail()
        if self._reference and self._used != self._reference and not self._file.direct:
            self._name_reference(self._reference)
        self._clean()

    def _name_reference(self, reference: str) -> None:
        """htslib has named our temporary copy of the reference in the header (UR); put the true place there.

        The header is replaced in place, within the room that is left for that; if it is too small, UR is left out.
        """
        text = Path(self._folder.name) / "header.sam"
        for place in (f"\tUR:{Path(reference).resolve()}", ""):
            lines = self._header.splitlines()
            text.write_text("".join(f"{line}{place}\n" if line[:3] == "@SQ" else f"{line}\n" for line in lines))
            with suppress(ReadwarpError):
                samtools.run("reheader", "-i", "-P", str(text), str(self._file.place))
                return
        raise ReadwarpError(f"{self._file.name}: its header could not be completed")

    def _fail(self) -> NoReturn:
        """The child has ended too early: raise its reason."""
        self._child.wait()
        self._said.seek(0)
        reason = samtools.reason(self._said.read())
        if self._file.name == "stdout" and "Broken pipe" in reason:
            raise BrokenPipeError(reason)
        raise ReadwarpError(f"{self._file.name}: {reason}")

    def abort(self) -> None:
        self._child.kill()
        self._child.wait()
        with suppress(BrokenPipeError):
            self._pipe.close()
        self._clean()

    def _clean(self) -> None:
        self._said.close()
        self._folder.cleanup()
