"""Alignments out: SAM, BAM, CRAM or PAF by the name's ending, SAM on stdout; indexed on the way.

A file gets its name when it is complete: `close` renames its private file, `abort` removes it.
"""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NoReturn

from numpy import ndarray

from readwarp.errors import InputError, ReadwarpError, UsageError
from readwarp.formats.alignments import samtools
from readwarp.formats.alignments.bam_index import BamIndexer
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.header import binary_header
from readwarp.formats.common.bgzf import CompressedBlocks, Compressor
from readwarp.formats.common.files import ending_of
from readwarp.formats.common.names import text_problem
from readwarp.formats.common.output_file import ByteWriter, OutputFile, Writer
from readwarp.formats.common.writing import writing
from readwarp.system.scratch import ScratchFolder

CHUNK = 1 << 20  # bytes

CRAM_ID = 20  # bytes, by the specification


def format_of(path: str | Path | None) -> str:
    """Return sam, bam, cram or paf by the ending; sam for stdout (None, "-"), pipes, devices. Raises UsageError."""
    return ending_of(path, "sam", "bam", "cram", "paf")


class EncodedFile(Writer):
    """A file of encoded records, written in order from one thread."""

    def __init__(
        self,
        path: str | None,
        header: str,  # SAM text
        text: bool = False,  # records and header are written as they are; otherwise records are BAM
        threads: int | Compressor = 1,  # of text, 0: not compressed
        reference: str | None = None,  # FASTA, for CRAM
        write_index: bool = False,  # records are sorted by coordinate
    ):
        self.index: Path | None = None  # known after `close`
        self._header, self._compressor = header, threads
        self._threads = threads.threads if callable(threads) else threads
        self._write_index = write_index
        self._format = "text" if text else format_of(path)
        self._indexer = BamIndexer(header, self._threads) if write_index and self._format == "bam" else None
        self._file = OutputFile(path)
        try:
            self._sink = self._open_sink(reference)
        except BaseException:
            self._file.remove()
            raise

    def _open_sink(self, reference: str | None) -> "ByteWriter | SamtoolsWriter":
        if self._format == "cram" and reference is None:
            raise UsageError("CRAM output needs the reference's FASTA")
        if self._format not in ("text", "bam"):
            return SamtoolsWriter(self._file, self._header, reference if self._format == "cram" else None)
        sink = ByteWriter(self._file.open(), self._compressor, self._file.name)
        try:
            sink.write(self._header.encode() if self._format == "text" else binary_header(self._header))
        except BaseException:
            with suppress(OSError):
                sink.abort()
            raise
        return sink

    def write(self, records: Encoded) -> None:
        self._sink.write(records.data)
        if self._indexer:
            self._indexer.add(records)

    def write_groups(self, before: ndarray, *groups: ndarray | CompressedBlocks) -> None:
        """Write bytes of unsorted records, and others with each of which a block begins."""
        self._sink.write(before)
        for group in groups:
            assert isinstance(self._sink, ByteWriter)
            self._sink.begin(group)

    def complete(self) -> None:
        self._sink.close()
        if self._write_index:
            self._index()
        self._file.finish()
        if self._file.index:
            self.index = Path(f"{self._file.name}{self._file.index}")

    def abort(self) -> None:
        if self._indexer:
            self._indexer.abort()
        with suppress(OSError):  # a failure from before repeats itself
            self._sink.abort()
        self._file.remove()

    def _index(self) -> None:
        ending = self._indexer.ending if self._indexer else ".crai"
        path, name = self._file.index_path(ending), f"{self._file.name}{ending}"
        if self._indexer is None:
            samtools.run("index", "-@", str(self._threads), "-o", str(path), str(self._file.place), output=name)
            return
        assert isinstance(self._sink, ByteWriter)
        with writing(name):
            path.write_bytes(self._indexer.finish(self._sink.virtual_offsets))


class SamtoolsWriter:
    """A pipe of BAM records to samtools, which converts them to CRAM, or to SAM after sorting.

    The output comes back through another pipe, so that write errors have their reason.
    """

    def __init__(self, file: OutputFile, header: str, reference: str | None):
        self._file = file
        self._header, self._reference = header, reference
        self._folder = ScratchFolder()
        self._pool = ThreadPoolExecutor(1, "readwarp copier")
        with ExitStack() as stack:
            stack.callback(self._folder.close)
            fasta = reference and samtools.reference_in(reference, self._folder.path)
            self._is_named = fasta == reference
            if fasta and not self._is_named:  # the path goes into the file, so it must be the same each time
                fasta = f"/proc/self/cwd/{Path(fasta).name}"
            options = ["-C", "-T", str(Path(fasta).absolute())] if fasta else ["-h"]
            self._out = ByteWriter(file.open(), 0, file.name)
            stack.callback(self._out.abort)
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._child = samtools.ToolProcess(
                "samtools", "view", "--no-PG", *options, "-", folder=self._folder.path, **pipes
            )
            self._copied = self._pool.submit(self._copy)
            stack.pop_all()
        try:
            self.write(binary_header(header))
        except BaseException:
            self.abort()
            raise

    def _copy(self) -> None:
        assert self._child.stdout is not None
        try:
            while data := self._child.stdout.read(CHUNK):
                self._out.write(data)
        except BaseException:
            self._child.kill()
            raise

    def write(self, data: bytes | ndarray) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(memoryview(data))
        except BrokenPipeError:
            self._fail()

    def close(self) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.close()
        except BrokenPipeError:
            self._fail()
        self._copied.result()
        if self._child.wait():
            self._fail()
        self._out.close()
        if self._reference and not self._file.is_direct:
            with writing(self._file.name):
                if not self._is_named:
                    self._name_reference(self._reference)
                with self._file.place.open("r+b") as file:
                    file.seek(len("CRAM") + 2)  # skip the version
                    file.write(bytes(CRAM_ID))  # htslib derives it from the private path: same reads, same bytes
        self._end()

    def _name_reference(self, reference: str) -> None:
        """Correct UR in the header, where htslib has named our temporary copy of the reference.

        The new header must fit into the CRAM file's space for it; otherwise UR is omitted.
        """
        text = self._folder.path / "header.sam"
        place, lines = str(Path(reference).resolve()), self._header.rstrip("\n").split("\n")
        for origin in ("",) if text_problem(place) else (f"\tUR:{place}", ""):
            text.write_text("".join(f"{line}{origin}\n" if line[:3] == "@SQ" else f"{line}\n" for line in lines))
            with suppress(ReadwarpError):
                samtools.run("reheader", "-i", "-P", str(text), str(self._file.place))
                return
        raise ReadwarpError(f"{self._file.name}: its header could not be completed")

    def _fail(self) -> NoReturn:
        """Raise why samtools has ended too early: its own reason, or why its output could not be written."""
        self._copied.result()
        reason = self._child.error()
        if self._reference and "M5 tag discrepancy" in reason:
            raise InputError(self._reference, f"is not the reference of the alignments ({reason})")
        raise ReadwarpError(f"{self._file.name}: {reason}")

    def abort(self) -> None:
        self._end()
        with suppress(OSError):  # a failure from before repeats itself
            self._out.abort()

    def _end(self) -> None:
        self._child.close()
        self._pool.shutdown()
        self._folder.close()
