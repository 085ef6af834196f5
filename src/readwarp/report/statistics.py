"""Makes the texts of samtools stats, flagstat and idxstats and of bcftools stats beside the files they describe.

A text that is newer than its file, and was made with the same reference or targets, is used as it is.
"""

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from readwarp.formats.alignments.samtools import reference_in
from readwarp.formats.alignments.segments import write_whole
from readwarp.formats.common.intervals import read_intervals
from readwarp.report.alignments import read_idxstats
from readwarp.report.inputs import Sample, stem
from readwarp.report.tools import Tools, read_sections
from readwarp.report.variants import Genotypes, count_genotypes

DEPTH_NOTE = "duplicates left out, overlapping mates counted once (samtools stats -d -p)"
ALIGNMENT_TEXTS = ("stats", "flagstat", "idxstats", "depth")


class Statistics(NamedTuple):
    """What is known of one sample's files."""

    texts: dict[str, Path]  # of ALIGNMENT_TEXTS, and `calls`; only those of files that the sample has
    genotypes: Genotypes | None


def make(
    samples: Sequence[Sample], folder: Path | None, threads: int, progress: Callable[[int, int], None] | None = None
) -> list[Statistics]:
    """Make what is missing or out of date, `threads` tools at a time. Raises ReadwarpError naming the tool that failed.

    folder: where the texts go; None: beside the files. progress: called with the number of tools that are done, and of
    all tools.
    """
    with tempfile.TemporaryDirectory() as scratch:
        helpers = max(0, threads // (3 * len(samples)) - 1)
        tools = Tools()
        makers = [
            Maker(sample, tools, texts_of(sample, folder), Path(scratch) / str(number), helpers)
            for number, sample in enumerate(samples)
        ]
        pool = ThreadPoolExecutor(threads, "readwarp-statistics")
        try:
            futures = [pool.submit(job) for maker in makers for job in maker.jobs()]
            for number, future in enumerate(as_completed(futures), 1):
                future.result()
                if progress:
                    progress(number, len(futures))
        finally:
            tools.stop()
            pool.shutdown(cancel_futures=True)
    return [Statistics(maker.texts, maker.genotypes) for maker in makers]


def texts_of(sample: Sample, folder: Path | None = None) -> dict[str, Path]:
    """Where the texts of a sample are: in `folder`, or beside its files."""

    def path(file: Path, ending: str) -> Path:
        return (folder or file.parent) / f"{sample.file_name if folder else stem(file)}.{ending}"

    texts = {}
    if sample.alignments:
        texts = {name: path(sample.alignments, f"{name}.txt") for name in ALIGNMENT_TEXTS}
    if sample.calls:
        texts["calls"] = path(sample.calls, "vcf.stats.txt")
    return texts


@dataclass(slots=True)
class Maker:
    """Makes the texts of one sample."""

    sample: Sample
    tools: Tools
    texts: dict[str, Path]
    scratch: Path  # a folder of its own
    helpers: int  # further threads of a tool
    genotypes: Genotypes | None = None  # once the jobs are done

    def jobs(self) -> list[Callable[[], None]]:
        """Functions that may run at the same time, in any order; the longest first."""
        self.scratch.mkdir()
        jobs = [self.stats, self.depth, self.flagstat] if self.sample.alignments else []
        return [*jobs, self.calls] if self.sample.calls else jobs

    def stats(self) -> None:
        reference = self.sample.reference
        if self._is_stale("stats", "--ref-seq" if reference else ""):
            found = reference and Path(reference_in(str(reference), str(self.scratch))).absolute()
            self._samtools("stats", "-@", str(self.helpers), *(("--ref-seq", str(found)) if found else ()))

    def depth(self) -> None:
        """`samtools stats` again, for the depth without duplicates; only the distribution is kept."""
        if self._is_stale("idxstats"):
            self._samtools("idxstats")
        targets = self.sample.targets
        title = f"# Depth of {f'the intervals of {targets.name}' if targets else 'the reference'}: {DEPTH_NOTE}"
        if not self._is_stale("depth", title):
            return
        options = ["-d", "-p", "-@", str(self.helpers)]
        length = sum(length for _, length, _ in read_idxstats(self.texts["idxstats"]))
        if targets:
            intervals = merge_intervals(targets)
            bed = self.scratch / "targets.txt"
            bed.write_text("".join(f"{name}\t{start + 1}\t{stop}\n" for name, start, stop in intervals))
            options += ["-t", str(bed)]
            length = sum(stop - start for _, start, stop in intervals)
        source, whole = self._source("depth"), self.scratch / "depth.stats"
        self.tools.write("samtools", "stats", *options, source.name, output=whole, folder=source.parent)
        bases = {int(depth): int(number) for _, depth, number in read_sections(whole)["COV"]}  # the last: and deeper
        rows = [(0, max(0, length - sum(bases.values()))), *sorted(bases.items())]
        text = f"{title}\n# depth\tbases\n" + "".join(f"{depth}\t{number}\n" for depth, number in rows)
        write_whole(self.texts["depth"], text.encode())

    def flagstat(self) -> None:
        if self._is_stale("flagstat"):
            self._samtools("flagstat", "-@", str(self.helpers))

    def calls(self) -> None:
        """`bcftools stats` of the calls that pass, and the genotypes; of a gVCF, without its reference blocks."""
        shown = source = self._source("calls")
        if ".g." in source.name:
            shown = self.scratch / f"{stem(source)}.vcf"
            arguments = ("view", "-A", "-e", 'ALT="." || ALT[0]="<NON_REF>"', source.name)
            self.tools.write("bcftools", *arguments, output=shown, folder=source.parent)
        self.genotypes = count_genotypes(self.tools, shown)
        if self._is_stale("calls"):
            has_samples = any(self.tools.lines("bcftools", "query", "-l", source.name, folder=source.parent))
            options = ("-s", "-") if has_samples else ()
            self._write(self.texts["calls"], shown, "bcftools", "stats", *options, "-f", "PASS,.")

    def _source(self, text: str) -> Path:
        """The file that a text describes."""
        source = self.sample.calls if text == "calls" else self.sample.alignments
        assert source is not None
        return source

    def _is_stale(self, text: str, wanted: str = "") -> bool:
        """Whether the text is missing, older than its file, or lacks what is wanted in its first lines."""
        path = self.texts[text]
        if not path.is_file() or path.stat().st_mtime_ns < self._source(text).stat().st_mtime_ns:
            return True
        with path.open() as file:
            return wanted not in "".join(file.readline() for _ in range(5))

    def _samtools(self, command: str, *options: str) -> None:
        """Make the text that is named after the command."""
        self._write(self.texts[command], self._source(command), "samtools", command, *options)

    def _write(self, target: Path, source: Path, *command: str) -> None:
        partial = target.with_name(f".{target.name}.partial").absolute()
        try:
            self.tools.write(*command, source.name, output=partial, folder=source.parent)
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def merge_intervals(targets: Path) -> list[tuple[str, int, int]]:
    """The intervals of a BED file or interval list, sorted, overlapping ones joined: name, start, stop (half-open)."""
    out: list[tuple[str, int, int]] = []
    for name, start, stop in sorted(interval[1:4] for interval in read_intervals(targets)):
        if out and out[-1][0] == name and start <= out[-1][2]:
            out[-1] = (name, out[-1][1], max(stop, out[-1][2]))
        else:
            out.append((name, start, stop))
    return out
