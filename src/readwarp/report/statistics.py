"""Makes the texts of samtools stats, flagstat and idxstats, of bcftools stats and of the depth beside their files.

A text that is newer than its file, and was made with the same reference or targets, is used as it is.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from readwarp.errors import InputError
from readwarp.formats.alignments.samtools import reference_in
from readwarp.formats.common.source import reading
from readwarp.formats.common.writing import write_whole, writing, writing_temporary
from readwarp.report.drawing import MAX_COLOURS
from readwarp.report.inputs import Sample, stem
from readwarp.report.long_reads import (
    LONG,
    TITLE,
    count_long_reads,
    longest_in,
    text_of_long_reads,
    without_cycles,
)
from readwarp.report.tools import Tools, argument
from readwarp.report.variants import Calls, read_calls
from readwarp.scratch import ScratchFolder, private_file

DEPTH_NOTE = "duplicates and failed reads left out, overlapping mates counted once"
COMMAND_OF_SAMTOOLS = re.compile(rb"^(# The command line was:  stats ).*", re.MULTILINE)  # that of bcftools has a tab
MAX_ROWS = 2000  # of calls on a page
ALIGNMENT_TEXTS = {
    **{name: f"{name}.txt" for name in ("stats", "flagstat", "idxstats", "depth")},
    "along": "depth.bedgraph",  # the genome
    "targets": "targets.txt",
    "long": "long_reads.txt",
}


class Statistics(NamedTuple):
    """What is known of one sample's files."""

    texts: dict[str, Path]  # of ALIGNMENT_TEXTS, and `calls`; only those that the sample's files and reads have
    calls: Calls | None


def make(
    samples: Sequence[Sample], folder: Path | None, threads: int, progress: Callable[[int, int], None] | None = None
) -> list[Statistics]:
    """Make what is missing or out of date, `threads` tools at a time. Raises ReadwarpError naming the tool that failed.

    folder: where the texts go; None: beside the files. progress: called with the number of tools that are done, and of
    all tools.
    """
    with ScratchFolder() as scratch:
        helpers = max(0, threads // (3 * len(samples)) - 1)
        rows = max_rows(len(samples))
        tools = Tools(str(scratch.path))
        makers = [
            Maker(sample, tools, texts_of(sample, folder), scratch.path / str(number), helpers, rows)
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
    return [Statistics(maker.texts, maker.found) for maker in makers]


def max_rows(samples: int) -> int:
    """How many calls of each sample a page lists: MAX_ROWS in all; none where there are more samples than colours."""
    return MAX_ROWS // samples if samples <= MAX_COLOURS else 0


def texts_of(sample: Sample, folder: Path | None = None) -> dict[str, Path]:
    """Where the texts of a sample are: in `folder`, or beside its files. `long` is only made of long reads."""

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
    """Makes the texts of one sample."""

    sample: Sample
    tools: Tools
    texts: dict[str, Path]
    scratch: Path  # a folder of its own
    helpers: int  # further threads of a tool
    rows: int  # calls to be listed
    found: Calls | None = None  # once the jobs are done
    made: list[Path] = field(default_factory=list)  # texts
    fasta: str | None = None  # the reference, as samtools reads it; only `stats` asks for it

    def jobs(self) -> list[Callable[[], None]]:
        """Functions that may run at the same time, in any order; the longest first."""
        self.scratch.mkdir()
        jobs = [self.stats, self.depth, self.flagstat, self.idxstats] if self.sample.alignments else []
        return [*jobs, self.calls] if self.sample.calls else jobs

    def stats(self) -> None:
        """That of `stats`, which tells whether reads are long, and then one more of these."""
        is_stale = self._is_stale("stats", "--ref-seq" if self.sample.reference else "")
        if is_stale:
            self._samtools("stats", "-@", str(self.helpers), *self._reference("--ref-seq"))
        if longest_in(self.texts["stats"]) < LONG:
            del self.texts["long"]
        elif is_stale or self._is_stale("long", TITLE):
            self.long_reads()

    def long_reads(self) -> None:
        source = self._source("long")
        options = ("-@", str(self.helpers), "-F", "0x900", "--keep-tag", "NM,de,dv,SA", *self._reference("-T"))
        lines = self.tools.lines("samtools", "view", *options, argument(source), folder=source.parent)
        try:
            with closing(lines):
                found = count_long_reads(lines)
        except ValueError as error:
            raise InputError(source, f"the tags of a read cannot be read ({error})") from error
        write_whole(self.texts["long"], text_of_long_reads(found))
        self.made.append(self.texts["long"])

    def depth(self) -> None:
        """Three texts of one pass: the distribution, along the genome, and of each target."""
        targets = self.sample.targets
        places = f"the intervals of {', '.join(Path(given).name for given in targets)}" if targets else "the reference"
        title = f"# Depth of {places}: {DEPTH_NOTE}"
        stale = [name for name in ("depth", "along", "targets") if name in self.texts and self._is_stale(name, title)]
        if not stale:
            return
        from readwarp.report.coverage import count_depth  # needs kernels

        found = count_depth(self._source("depth"), self.sample.reference, targets, self.helpers + 1)
        rows: dict[str, Iterable[tuple[object, ...]]] = {
            "depth": (("# depth", "bases"), *((depth, n) for depth, n in enumerate(found.bases.tolist()) if n)),
            "along": ((*place, f"{mean:.5g}") for *place, mean in found.bin_means),
            "targets": (
                ("# contig", "start", "stop", "name", "mean", "share at 20 or more"),
                *((*place, f"{mean:.5g}", f"{share:.4f}") for *place, mean, share in found.target_means),
            ),
        }
        for name in stale:
            lines = ("\t".join(map(str, row)) + "\n" for row in rows[name])
            write_whole(self.texts[name], f"{title}\n{''.join(lines)}".encode())
            self.made.append(self.texts[name])

    def idxstats(self) -> None:
        if self._is_stale("idxstats"):
            self._samtools("idxstats")

    def flagstat(self) -> None:
        if self._is_stale("flagstat"):
            self._samtools("flagstat", "-@", str(self.helpers))

    def calls(self) -> None:
        """`bcftools stats` of the calls that pass, and the genotypes; of a gVCF, without its reference blocks."""
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

    def _reference(self, option: str) -> tuple[str, ...]:
        """The option of samtools that names the reference, if it is known."""
        if self.sample.reference is None:
            return ()
        self.fasta = self.fasta or str(Path(reference_in(str(self.sample.reference), self.scratch)).absolute())
        return option, self.fasta

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
        with reading(path), path.open(errors="replace") as file:
            return wanted not in "".join(file.readline() for _ in range(5))

    def _samtools(self, command: str, *options: str) -> None:
        """Make the text that is named after the command."""
        self._write(self.texts[command], self._source(command), "samtools", command, *options)

    def _write(self, target: Path, source: Path, *command: str) -> None:
        with writing(target), private_file(target.absolute()) as partial:
            keep = without_cycles if command[:2] == ("samtools", "stats") else iter
            self.tools.write(*command, argument(source), output=partial.path, folder=source.parent, keep=keep)
            if command[1] == "stats":
                partial.path.write_bytes(self._without_places(partial.path.read_bytes(), source))
            partial.path.replace(target)
            self.made.append(target)

    def _without_places(self, text: bytes, source: Path) -> bytes:
        """The text of `stats`, whose command line names files, not where they or our copies lie, nor the threads.

        So it is the same for the same file and reference.
        """
        reference = self.sample.reference
        names = ("--ref-seq", reference.name, source.name) if reference else (source.name,)
        plain = re.sub(rb"[\0-\x1f\x7f]", b"?", os.fsencode(" ".join(names)))
        return COMMAND_OF_SAMTOOLS.sub(lambda found: found[1] + plain, text, count=1)
