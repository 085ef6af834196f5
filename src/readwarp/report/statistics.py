"""The texts of samtools stats, flagstat, idxstats and bcftools stats beside the files they describe.

A text that is newer than its file, and was made with the same reference or targets, is used as it is.
"""

import re
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from readwarp.errors import InputError
from readwarp.formats.alignments.samtools import reference_in
from readwarp.report.inputs import Sample, stem
from readwarp.report.tools import Tools
from readwarp.report.variants import Genotypes, genotypes_in

DEPTH_NOTE = "duplicates left out, overlapping mates counted once (samtools stats -d -p)"
ENDINGS = {
    "stats": ".stats.txt",
    "flagstat": ".flagstat.txt",
    "idxstats": ".idxstats.txt",
    "depth": ".depth.txt",
    "calls": ".vcf.stats.txt",
}


@dataclass(frozen=True, slots=True)
class Statistics:
    """Text files of one sample, None where it has no such file to describe; its genotypes, from one pass."""

    stats: Path | None = None
    flagstat: Path | None = None
    idxstats: Path | None = None
    depth: Path | None = None
    calls: Path | None = None
    genotypes: Genotypes | None = None

    @property
    def files(self) -> list[Path]:
        return [path for path in (self.stats, self.flagstat, self.idxstats, self.depth, self.calls) if path]


def make(
    samples: Sequence[Sample], folder: Path | None, threads: int, progress: Callable[[int, int], None] | None = None
) -> list[Statistics]:
    """Make what is missing or out of date, `threads` tools at a time. Raises ReadwarpError naming the tool that failed.

    folder: where the texts go; None: beside the files. progress: called with the tools done and all tools.
    """
    with tempfile.TemporaryDirectory() as scratch:
        helpers = max(0, threads // (3 * len(samples)) - 1)
        tools = Tools()
        makers = [Maker(s, tools, folder, Path(scratch) / str(n), helpers) for n, s in enumerate(samples)]
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
    return [maker.collect() for maker in makers]


def texts_of(alignments: Path, calls: Path) -> list[Path]:
    """The texts of these files and the numbers for MultiQC, where they are beside them."""
    own = [alignments.with_name(f"{stem(alignments)}{ending}") for ending in ("_mqc.json", "_phases_mqc.json")]
    names = [
        alignments.with_name(f"{stem(alignments)}{ending}") for ending in ENDINGS.values() if ending != ENDINGS["calls"]
    ]
    return [*own, *names, calls.with_name(f"{stem(calls)}{ENDINGS['calls']}")]


class Maker:
    """The jobs of one sample; `collect` gives their results when all are done."""

    def __init__(self, sample: Sample, tools: Tools, folder: Path | None, scratch: Path, helpers: int) -> None:
        self.sample, self.tools, self.folder, self.scratch, self.helpers = sample, tools, folder, scratch, helpers
        self.paths: dict[str, Path] = {}
        self.genotypes: Genotypes | None = None
        scratch.mkdir()

    def jobs(self) -> list[Callable[[], None]]:
        """The longest first."""
        alignments = (self.stats, self.depth, self.flagstat) if self.sample.alignments else ()
        return [*alignments, *((self.calls,) if self.sample.calls else ())]

    def collect(self) -> Statistics:
        return Statistics(**self.paths, genotypes=self.genotypes)

    def stats(self) -> None:
        source = _require(self.sample.alignments)
        options = ["-@", str(self.helpers)]
        target = self._target("stats", source)
        if _is_fresh(target, source, "--ref-seq" if self.sample.reference else None):
            return
        if self.sample.reference:
            reference = Path(reference_in(str(self.sample.reference), str(self.scratch)))
            options += ["--ref-seq", str(reference.absolute())]
        self._write(target, source, "stats", *options)

    def depth(self) -> None:
        """`samtools stats` again, for the depth without duplicates; only the distribution is kept."""
        source = _require(self.sample.alignments)
        contigs = self._idxstats(source)
        target = self._target("depth", source)
        of = f"the intervals of {self.sample.targets.name}" if self.sample.targets else "the reference"
        title = f"# Depth of {of}: {DEPTH_NOTE}"
        if _is_fresh(target, source, title):
            return
        options, length = ["-d", "-p", "-@", str(self.helpers)], sum(size for _, size in contigs)
        if self.sample.targets:
            intervals = merge_intervals(self.sample.targets)
            bed = self.scratch / "targets.txt"
            bed.write_text("".join(f"{name}\t{start + 1}\t{stop}\n" for name, start, stop in intervals))
            options += ["-t", str(bed)]
            length = sum(stop - start for _, start, stop in intervals)
        whole = self.scratch / "depth.stats"
        self.tools.write("samtools", "stats", *options, source.name, output=whole, folder=source.parent)
        bases = depth_distribution(whole)
        rows = [(0, max(0, length - sum(bases.values()))), *sorted(bases.items())]
        partial = target.with_name(f".{target.name}.partial")
        partial.write_text(f"{title}\n# depth\tbases\n" + "".join(f"{depth}\t{n}\n" for depth, n in rows))
        partial.replace(target)

    def flagstat(self) -> None:
        source = _require(self.sample.alignments)
        target = self._target("flagstat", source)
        if not _is_fresh(target, source):
            self._write(target, source, "flagstat", "-@", str(self.helpers))

    def _idxstats(self, source: Path) -> list[tuple[str, int]]:
        """Names and lengths of the contigs."""
        target = self._target("idxstats", source)
        if not _is_fresh(target, source):
            self._write(target, source, "idxstats")
        rows = (line.split("\t") for line in target.read_text().splitlines())
        return [(row[0], int(row[1])) for row in rows if row[0] != "*"]

    def calls(self) -> None:
        """`bcftools stats` of the calls that pass, and the genotypes; of a gVCF, without its reference blocks."""
        source = _require(self.sample.calls)
        target = self._target("calls", source)
        shown = source
        if ".g." in source.name:
            shown = self.scratch / f"{stem(source)}.vcf"
            arguments = ("view", "-A", "-e", 'ALT="." || ALT[0]="<NON_REF>"', source.name)
            self.tools.write("bcftools", *arguments, output=shown, folder=source.parent)
        self.genotypes = genotypes_in(self.tools, shown)
        if _is_fresh(target, source):
            return
        has_samples = any(self.tools.lines("bcftools", "query", "-l", source.name, folder=source.parent))
        options = ("-s", "-") if has_samples else ()
        self._write(target, shown, "stats", *options, "-f", "PASS,.", tool="bcftools")

    def _target(self, kind: str, source: Path) -> Path:
        name = own_name(self.sample) if self.folder else stem(source)
        self.paths[kind] = (self.folder or source.parent) / f"{name}{ENDINGS[kind]}"
        return self.paths[kind]

    def _write(self, target: Path, source: Path, command: str, *options: str, tool: str = "samtools") -> None:
        partial = target.with_name(f".{target.name}.partial").absolute()
        try:
            self.tools.write(tool, command, *options, source.name, output=partial, folder=source.parent)
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def own_name(sample: Sample) -> str:
    """The sample's name as a file name."""
    return sample.name.replace("/", "_")


def _require(path: Path | None) -> Path:
    assert path is not None
    return path


def _is_fresh(target: Path, source: Path, wanted: str | None = None) -> bool:
    """Whether the text is not older than its file, and has what is wanted in its first lines."""
    if not target.is_file() or target.stat().st_mtime_ns < source.stat().st_mtime_ns:
        return False
    with target.open() as file:
        head = "".join(file.readline() for _ in range(5))
    return wanted is None or wanted in head


def depth_distribution(stats: Path) -> dict[int, int]:
    """Depth -> bases, from the COV lines; the last depth includes all above."""
    rows = (line.split("\t") for line in stats.read_text().splitlines() if line.startswith("COV\t"))
    return {int(row[2]): int(row[3]) for row in rows}


def merge_intervals(bed: Path) -> list[tuple[str, int, int]]:
    """The intervals of a BED file (name, start, stop; 0-based, half open), sorted, overlaps joined."""
    out: list[tuple[str, int, int]] = []
    for name, start, stop in sorted(intervals_of(bed)):
        if out and out[-1][0] == name and start <= out[-1][2]:
            out[-1] = (name, out[-1][1], max(stop, out[-1][2]))
        else:
            out.append((name, start, stop))
    return out


def intervals_of(bed: Path) -> list[tuple[str, int, int]]:
    rows = []
    for number, line in enumerate(bed.read_text().splitlines(), 1):
        if not line.strip() or re.match(r"#|track\b|browser\b", line):
            continue
        fields = line.split()
        if len(fields) < 3 or not (fields[1].isdigit() and fields[2].isdigit()):
            raise InputError(bed, "is not an interval of a BED file: name, start, end", f"in line {number}")
        rows.append((fields[0], int(fields[1]), int(fields[2])))
    return rows
