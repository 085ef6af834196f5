"""The output of aligned records: batches prepared by any thread, then sorted, marked and written in order."""

from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from readwarp.config import BY_ENDS, DuplicateRules
from readwarp.config.combinations import check_together
from readwarp.device.rows import to_host, to_side_of
from readwarp.errors import UsageError
from readwarp.finish.duplicates import mark, windows_of
from readwarp.finish.groups import Groups, cut_groups
from readwarp.finish.order import ORDERS, gather
from readwarp.finish.runs import MemoryRun
from readwarp.finish.signatures import SKIP, Libraries, sign
from readwarp.finish.sort import Sorter
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.header import lines_of
from readwarp.formats.alignments.output import EncodedFile, format_of
from readwarp.formats.common.bgzf import Compressor
from readwarp.formats.common.output_file import Writer
from readwarp.system.ahead import map_ahead


class Prepared(NamedTuple):
    """A batch on its way into the output."""

    records: int
    groups: Groups = ()  # if it is not sorted
    run: MemoryRun | None = None  # if it is
    reach: int = 0  # see `duplicates`


@dataclass(frozen=True, slots=True)
class Preparer:
    """Preparation of a batch on its own, in any thread or process."""

    sort: str = "none"  # coordinate | name | none
    libraries: Libraries | None = None  # records get signatures for duplicate marking; they must be sorted
    by_umi: bool = False  # duplicates are templates of one molecule
    in_groups: bool = False  # blocks of unsorted BAM are compressed beside a card

    @property
    def skip(self) -> int:
        """Bytes of the signature before each record."""
        return 0 if self.libraries is None else SKIP

    def prepare(self, records: Encoded) -> Prepared:
        """Sort records, and sign them, on their side, unless they go by name; return them on the host."""
        if self.sort == "none":
            return Prepared(len(records), cut_groups(records) if self.in_groups else (to_host(records.data),))
        if self.sort == "name":
            records = to_host(records)
        order = ORDERS[self.sort]([records], 0)
        if self.libraries is None:
            records, reach = gather(records, order, 0), 0
        else:
            libraries = to_side_of(records.data, self.libraries)
            records, reach = sign(records, order, libraries, self.by_umi)
        records = to_host(records)
        return Prepared(len(records), run=MemoryRun.of(records, self.skip), reach=reach)


@dataclass(frozen=True, slots=True)
class Finish:
    """Processing of the records between `write` and the file."""

    sort: str = "none"  # coordinate | name | none
    mark_duplicates: bool = False  # mates must be neighbours in the input of `write`
    write_index: bool = False
    memory: int = 256 << 20  # bytes, for sorting
    duplicates: DuplicateRules = BY_ENDS
    paf: bool = False  # PAF unless the name says otherwise
    compressor: Compressor | None = None  # of BAM's blocks, in place of threads

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
        return Preparer(self.sort, libraries, self.duplicates.umis, self.compressor is not None)


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
        self._rules, self._threads = finish.duplicates, threads
        self._preparer = finish.preparer(header)
        self.prepare = self._preparer.prepare
        self._reach = 0
        skip = self._preparer.skip
        self._sorter = None if finish.sort == "none" else Sorter(finish.sort, finish.memory, threads, skip)
        shown = "" if self.format == "paf" else header
        compress = 0 if self.text else finish.compressor or threads
        self._file = EncodedFile(path, shown, self.text, compress, reference, finish.write_index)

    @property
    def index(self) -> Path | None:
        return self._file.index

    def add(self, batch: Prepared) -> None:
        if self._sorter is None:
            self._file.write_groups(*batch.groups)
        elif batch.run:
            self._reach = max(self._reach, batch.reach)
            self._sorter.add(batch.run)

    def write(self, records: Encoded) -> None:
        self.add(self.prepare(records))

    def complete(self) -> None:
        with closing(self._sorted()) as pieces:
            for records in pieces:
                self._file.write(records)
        self._file.complete()

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
        self._file.abort()
