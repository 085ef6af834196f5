"""Alignments out: SAM, BAM, CRAM or PAF by the name's ending, SAM on stdout; sorted, marked and indexed on the way.

A file gets its name when it is complete: `close` renames its private file, `abort` removes it.
"""

import subprocess
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from numpy import ndarray

from readwarp.config import BY_ENDS, DuplicateRules
from readwarp.config.combinations import check_together
from readwarp.errors import InputError, ReadwarpError, UsageError
from readwarp.formats.alignments import samtools
from readwarp.formats.alignments.bam_index import BamIndexer
from readwarp.formats.alignments.duplicates import Libraries, mark, windows_of
from readwarp.formats.alignments.header import binary_header, lines_of
from readwarp.formats.alignments.preparing import Prepared, Preparer
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.alignments.sort import Sorter
from readwarp.formats.common.files import ending_of
from readwarp.formats.common.names import text_problem
from readwarp.formats.common.output_file import ByteWriter, OutputFile, Writer
from readwarp.formats.common.writing import writing
from readwarp.system.ahead import map_ahead
from readwarp.system.scratch import ScratchFolder

CHUNK = 1 << 20  # bytes

CRAM_ID = 20  # bytes, by the specification


def format_of(path: str | Path | None) -> str:
    """Return sam, bam, cram or paf by the ending; sam for stdout (None, "-"), pipes, devices. Raises UsageError."""
    return ending_of(path, "sam", "bam", "cram", "paf")


@dataclass(frozen=True, slots=True)
class Finish:
    """Processing of the records between `write` and the file."""

    sort: str = "none"  # coordinate | name | none
    mark_duplicates: bool = False  # mates must be neighbours in the input of `write`
    write_index: bool = False
    memory: int = 256 << 20  # bytes, for sorting
    duplicates: DuplicateRules = BY_ENDS
    paf: bool = False  # PAF unless the name says otherwise

    def format_of(self, path: str | Path | None) -> str:
        """Return the format, like the function `format_of`. Raises UsageError if PAF is required and it is another."""
        format = format_of(path)
        if self.paf and format not in ("sam", "paf"):
            raise UsageError(f"--paf: {path} would be {format.upper()}: use a name that ends in .paf")
        return "paf" if self.paf else format

    def check(self, format: str) -> None:
        """Raise UsageError for steps that this format cannot take."""
        if self.sort not in ("coordinate", "name", "none"):
            raise UsageError(f"--sort {self.sort}: not one of coordinate, name, none")
        names = "sort", "mark_duplicates", "write_index"
        check_together("align", {name: getattr(self, name) for name in names})
        if format == "paf" and self.sort != "none":
            raise UsageError("PAF is not sorted: leave out --sort, --mark-duplicates and --write-index, or write BAM")
        if self.write_index and format == "sam":
            raise UsageError("--write-index needs BAM or CRAM output: name it with -o")

    def preparer(self, header: str) -> Preparer:
        """Return the preparer of batches. header: SAM text."""
        libraries = Libraries.of(lines_of(header, "RG")) if self.mark_duplicates else None
        return Preparer(self.sort, libraries, self.duplicates.umis)


class AlignmentWriter(Writer):
    """A writer of prepared batches, in order, from one thread."""

    def __init__(
        self,
        path: str | None,
        header: str,
        finish: Finish = Finish(),  # frozen
        *,
        threads: int = 1,
        reference: str | None = None,  # FASTA, for CRAM
        binary: bool = False,  # `write` takes BAM records, even for SAM output
    ):
        self.format = finish.format_of(path)
        if self.format == "paf" and binary:
            raise UsageError(f"{path}: only readwarp align writes PAF")
        self.text = self.format in ("sam", "paf") and finish.sort == "none" and not binary  # encoding for Encoder
        finish.check(self.format)
        self.duplicates = 0  # marked; known after `close`, like `families` (see `duplicates.Marked`) and `index`
        self.families: Counter[int] = Counter()
        self._rules = finish.duplicates
        self.index: Path | None = None
        self._header, self._write_index, self._threads = header, finish.write_index, threads
        self._preparer = finish.preparer(header)
        self.prepare = self._preparer.prepare
        self._indexer = BamIndexer(header, threads) if finish.write_index and self.format == "bam" else None
        self._reach = 0
        self._sorter: Sorter | None = None
        if finish.sort != "none":
            self._sorter = Sorter(finish.sort, finish.memory, threads, self._preparer.skip)
        self._file = OutputFile(path)
        try:
            self._sink = self._open_sink(threads, reference)
        except BaseException:
            self._file.remove()
            raise

    def _open_sink(self, threads: int, reference: str | None) -> "ByteWriter | SamtoolsWriter":
        if self.format == "cram" and reference is None:
            raise UsageError("CRAM output needs the reference's FASTA")
        if not self.text and self.format != "bam":
            return SamtoolsWriter(self._file, self._header, reference if self.format == "cram" else None)
        sink = ByteWriter(self._file.open(), 0 if self.text else threads, self._file.name)
        try:
            if self.format != "paf":
                sink.write(self._header.encode() if self.text else binary_header(self._header))
        except BaseException:
            with suppress(OSError):
                sink.abort()
            raise
        return sink

    def add(self, batch: Prepared) -> None:
        if self._sorter is None:
            self._sink.write(batch.records.data)
        elif batch.run:
            self._reach = max(self._reach, batch.reach)
            self._sorter.add(batch.run)

    def write(self, records: Encoded) -> None:
        self.add(self.prepare(records))

    def complete(self) -> None:
        with closing(self._sorted()) as pieces:
            for records in pieces:
                self._sink.write(records.data)
                if self._indexer:
                    self._indexer.add(records)
        self._sink.close()
        if self._write_index:
            self._index()
        self._file.finish()
        if self._file.index:
            self.index = Path(f"{self._file.name}{self._file.index}")

    def _sorted(self) -> Generator[Encoded]:
        """Yield the sorted records, with duplicates marked if requested."""
        if self._sorter is None:
            return
        with closing(self._sorter.sorted()) as pieces:
            if self._preparer.libraries is None:
                yield from pieces
                return
            with ThreadPoolExecutor(self._threads, "mark") as pool:
                mark_window = partial(mark, rules=self._rules)
                for marked in map_ahead(pool, mark_window, windows_of(pieces, self._reach), self._threads + 1):
                    self.duplicates += marked.duplicates
                    self.families += marked.families
                    yield marked.records

    def abort(self) -> None:
        if self._sorter:
            self._sorter.close()
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
        self._file, self._header, self._reference = file, header, reference
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
                _clear_id(self._file.place)
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


def _clear_id(path: Path) -> None:
    """Clear the ID of a CRAM file, which htslib derives from its private path: same reads, same bytes."""
    with path.open("r+b") as file:
        file.seek(len("CRAM") + 2)  # skip the version
        file.write(bytes(CRAM_ID))
