"""Make the texts of a report beside its files: samtools statistics, depth, and bcftools statistics.

A text that is newer than its file, and was made with the same reference or targets, is reused.
"""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from readwarp.errors import InputError
from readwarp.formats.alignments.samtools import reference_in
from readwarp.formats.common.source import reading
from readwarp.formats.common.writing import write_whole, writing, writing_temporary
from readwarp.report.counting.tables import LONG
from readwarp.report.drawing import MAX_COLOURS
from readwarp.report.inputs import Sample, stem
from readwarp.report.long_reads import TITLE, LongReads, longest_in, text_of_long_reads
from readwarp.report.tools import Tools, argument, text_of_rows
from readwarp.report.variants import VcfContents, read_calls
from readwarp.system.scratch import ScratchFolder, private_file

DEPTH_NOTE = "duplicates and failed reads left out, overlapping mates counted once"
UNPRINTABLE = re.compile(r"[\0-\x1f\x7f]")
MAX_ROWS = 2000  # calls on a page; none with more samples than colours
ALIGNMENT_TEXTS = {
    **{name: f"{name}.txt" for name in ("stats", "flagstat", "idxstats", "depth")},
    "along": "depth.bedgraph",  # the genome
    "targets": "targets.txt",
    "long": "long_reads.txt",
}


class Statistics(NamedTuple):
    """Texts and contents of one sample's files."""

    texts: dict[str, Path]  # by ALIGNMENT_TEXTS, and `calls`; only those that the sample's files and reads have
    calls: VcfContents | None
    counted: dict[str, Any]  # content of the texts of alignments that were made just now, by AlignmentTables


def make(
    samples: Sequence[Sample], folder: Path | None, threads: int, progress: Callable[[int, int], None] | None = None
) -> list[Statistics]:
    """Make texts that are missing or out of date. Raises ReadwarpError naming the file or the tool that failed.

    folder: where the texts go; None: beside the files. progress: called with the number of finished files and of all
    files.
    """
    with ScratchFolder() as scratch:
        own = max(1, threads // len(samples))
        rows = MAX_ROWS // len(samples) if len(samples) <= MAX_COLOURS else 0
        tools = Tools()
        makers = [
            Maker(sample, tools, texts_of(sample, folder), scratch.path / str(number), own, rows)
            for number, sample in enumerate(samples)
        ]
        pool = ThreadPoolExecutor(threads, "readwarp-statistics")
        try:
            futures = [pool.submit(job) for maker in makers for job in maker.jobs()]
            for number, future in enumerate(as_completed(futures), 1):
                future.result()
                if progress:
                    progress(number, len(futures))
        except BaseException:
            tools.stop()
            pool.shutdown(cancel_futures=True)
            for path in (path for maker in makers for path in maker.made):
                path.unlink(missing_ok=True)
            raise
        finally:
            tools.stop()
            pool.shutdown(cancel_futures=True)
    return [Statistics(maker.texts, maker.found, maker.counted) for maker in makers]


def texts_of(sample: Sample, folder: Path | None = None) -> dict[str, Path]:
    """Return where the texts of a sample are: in `folder`, or beside its files. `long` is made for long reads only."""

    def path(file: Path, ending: str) -> Path:
        return (folder or file.parent) / f"{sample.file_name if folder else stem(file)}.{ending}"

    texts = {}
    if sample.alignments:
        names = {name: ending for name, ending in ALIGNMENT_TEXTS.items() if name != "targets" or sample.targets}
        texts = {name: path(sample.alignments, ending) for name, ending in names.items()}
    if sample.calls:
        texts["calls"] = path(sample.calls, "vcf.stats.txt")
    return texts


@dataclass(slots=True)
class Maker:
    """Maker of the texts of one sample."""

    sample: Sample
    tools: Tools
    texts: dict[str, Path]
    scratch: Path  # a folder of its own
    threads: int
    rows: int  # calls to list
    found: VcfContents | None = None  # set once the jobs are done
    counted: dict[str, Any] = field(default_factory=dict)  # as in Statistics
    made: list[Path] = field(default_factory=list)  # texts
    fasta: Path | None = None  # the reference in the form samtools reads

    def jobs(self) -> list[Callable[[], None]]:
        """Return functions that may run at the same time, in any order; the longest first."""
        self.scratch.mkdir()
        jobs = [self.alignments] if self.sample.alignments else []
        return [*jobs, self.calls] if self.sample.calls else jobs

    def alignments(self) -> None:
        """Make all texts in one pass; if `stats` shows long reads, one more pass follows."""
        targets = self.sample.targets
        places = f"the intervals of {', '.join(Path(given).name for given in targets)}" if targets else "the reference"
        title = f"# Depth of {places}: {DEPTH_NOTE}"
        wanted = {"stats": "--ref-seq" if self.sample.reference else "", "flagstat": "", "idxstats": ""}
        wanted |= {name: title for name in ("depth", "along", "targets") if name in self.texts}
        stale = [name for name, text in wanted.items() if self._is_stale(name, text)]
        try:
            if stale:
                self._count(stale, title)
            if longest_in(self.texts["stats"]) < LONG:
                del self.texts["long"]
            elif "stats" in stale or self._is_stale("long", TITLE):
                self.long_reads()
        except InputError as error:
            if error.path != self.fasta:
                raise
            raise InputError(self.sample.reference, error.reason, error.record) from error  # not a copy of it

    def _count(self, stale: list[str], title: str) -> None:
        """Count the alignments, and write these texts."""
        from readwarp.report.counting.one_pass import count_alignments  # needs kernels
        from readwarp.report.texts import flagstat_text, rows_of

        source, fasta = self._source("stats"), self._fasta()
        counts = count_alignments(source, fasta, self.sample.targets, self.threads, self.tools.check)
        reference = self.sample.reference
        arguments = " ".join(["stats", *(["--ref-seq", reference.name] if reference else []), source.name])
        rows = rows_of(counts, UNPRINTABLE.sub("?", arguments), title)
        for name in stale:
            self._save(name, rows[name], (flagstat_text if name == "flagstat" else text_of_rows)(rows[name]))

    def long_reads(self) -> None:
        from readwarp.report.counting.long_reads import count_long_reads  # needs kernels

        tables = count_long_reads(self._source("long"), self._fasta(), self.threads, self.tools.check)
        found = LongReads.of(tables)
        self._save("long", found, text_of_long_reads(found))

    def _save(self, name: str, content: Any, text: bytes) -> None:
        """Keep a content, and write its text."""
        self.counted[name] = content
        write_whole(self.texts[name], text)
        self.made.append(self.texts[name])

    def calls(self) -> None:
        """Run `bcftools stats` on calls that pass, and count genotypes; a gVCF's reference blocks are left out."""
        shown = source = self._source("calls")
        if ".g." in source.name:
            shown = self.scratch / f"{stem(source)}.vcf"
            arguments = ("view", "-A", "-e", 'ALT="." || ALT[0]="<NON_REF>"', argument(source))
            with writing_temporary():
                self.tools.write("bcftools", *arguments, output=shown, folder=source.parent)
        self.found = read_calls(self.tools, shown, self.rows)
        if self._is_stale("calls"):
            options = ("-s", "-") if self.found.samples else ()
            self._write(self.texts["calls"], shown, "bcftools", "stats", *options, "-f", "PASS,.")

    def _fasta(self) -> Path | None:
        """Return the reference in the form samtools reads, if it is known."""
        if self.sample.reference is None:
            return None
        self.fasta = self.fasta or Path(reference_in(str(self.sample.reference), self.scratch)).absolute()
        return self.fasta

    def _source(self, text: str) -> Path:
        """Return the file that a text describes."""
        source = self.sample.calls if text == "calls" else self.sample.alignments
        assert source is not None
        return source

    def _is_stale(self, text: str, wanted: str = "") -> bool:
        """Return whether the text is missing, older than its file, or its first lines lack the wanted text."""
        path = self.texts[text]
        if not path.is_file() or path.stat().st_mtime_ns < self._source(text).stat().st_mtime_ns:
            return True
        with reading(path), path.open(errors="replace") as file:
            return wanted not in "".join(file.readline() for _ in range(5))

    def _write(self, target: Path, source: Path, *command: str) -> None:
        with writing(target), private_file(target.absolute()) as partial:
            self.tools.write(*command, argument(source), output=partial.path, folder=source.parent)
            partial.path.replace(target)
            self.made.append(target)
