"""Genomic VCFs of a cohort to one VCF: windows of the reference through threads, written in order."""

import resource
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from readwarp.batches import Calls
from readwarp.call.genotypes.joining import joined, no_calls
from readwarp.call.inputs import contig_length
from readwarp.call.joint import REACH
from readwarp.call.joint.cells import gather
from readwarp.call.joint.genotype import BAD_DEPTHS, genotype_sites
from readwarp.call.joint.kept import keep_alleles
from readwarp.call.joint.priors import misfit, thetas
from readwarp.call.joint.quality import qualities
from readwarp.call.joint.records import build_calls
from readwarp.call.joint.sites import JointSite, find_sites, records_of
from readwarp.call.pipeline import count_calls, describe, targets_of
from readwarp.call.spelling import Bases
from readwarp.call.targets import Target, split_targets
from readwarp.config import CallParameters, JointParameters, Resources
from readwarp.device.machine import free_memory
from readwarp.errors import InputError
from readwarp.formats.variants.genomic import GenomicFile, Rows
from readwarp.formats.variants.vcf import GENOTYPE_FIELDS, Field, VariantWriter, rows_of
from readwarp.index.build import read_reference
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.stream.runner import ordered

WINDOW = 1 << 17  # most reference bases at a time
SMALLEST = 1 << 10
BYTES_PER_BASE = 16  # of memory, for each sample and base of a window
SPARE_FILES = 32  # open files besides the inputs
OWN_FIELDS = {
    "GQ": Field("1", "Integer", "Phred of how much less likely the second genotype is, given the cohort; at most 99"),
    "DP": Field("1", "Integer", "Reads that say something about the alleles; the least of its block of reference"),
}


@dataclass(frozen=True, slots=True)
class Cohort:
    """What all windows share."""

    reference: Reference
    files: tuple[GenomicFile, ...]
    owner: np.ndarray  # int64 [m], number of the file of each sample
    calling: CallParameters
    joint: JointParameters
    metrics: Metrics

    def call(self, window: Target, rows: Sequence[Rows]) -> Calls:
        """The calls in a window; `rows`: of each file, as far as `span` goes."""
        samples = self.owner.size
        records = [record for i, own in enumerate(rows) for record in records_of(i, own, window.start - 2 * REACH)]
        bases = Bases(self.reference, window.contig)
        if wrong := misfit(records, bases):
            record, reason = wrong
            file = self.files[record.file]
            raise InputError(file.path, reason, file.place(rows[record.file], record.row))
        most, copies = self.joint.most_alternates, self.joint.most_copies
        sites = find_sites(records, window.start - REACH, window.stop + REACH, most, copies)
        if not sites:
            return no_calls(samples)
        calls = self._genotyped(window, rows, sites, bases)
        return joined((calls,), window.start, window.stop, samples=samples)

    def _genotyped(self, window: Target, rows: Sequence[Rows], sites: Sequence[JointSite], bases: Bases) -> Calls:
        with self.metrics.time("gather"):
            evidence = gather(sites, self.files, rows)
        number = np.array([len(site.alleles) for site in sites], np.int64)
        star = np.array([site.star for site in sites], np.int64)
        is_cut = np.array([site.is_cut for site in sites], np.bool_)
        own = np.array([window.start <= site.position < window.stop for site in sites])
        self.metrics.count("sites", int(own.sum()))
        self.metrics.count("sites_with_alleles_left_out", int((own & is_cut).sum()))
        with self.metrics.time("genotypes"):
            found, status = genotype_sites(number, is_cut, star, evidence)
            for s, i in np.argwhere(status).tolist():
                raise self._bad(sites[s], int(self.owner[i]), window, int(status[s, i]))
            kept = keep_alleles(number, star, evidence, found)
            quality = qualities(number, star, thetas(sites, bases, self.calling), found)
        with self.metrics.time("records"):
            return build_calls(window.contig, sites, evidence, found, kept, quality, self.owner, self.calling)

    def _bad(self, site: JointSite, file: int, window: Target, status: int) -> InputError:
        """Of the line that speaks about the site: its own place, or that of the block across the site."""
        what = "AD has not a value for each allele" if status == BAD_DEPTHS else "PL fits no ploidy of 1 to 8"
        record = site.own[file][0] if file in site.own else site.above.get(file, [(None, ())])[0][0]
        position = site.position if record is None else record.position
        return InputError(self.files[file].path, what, f"{self.reference.names[window.contig]}:{position + 1}")


def span(window: Target) -> tuple[int, int]:
    """Bases whose lines have a say in the calls of a window."""
    return window.start - 2 * REACH, window.stop + REACH


def genotype_cohort(
    reference: Reference | Path,
    inputs: Sequence[Path],
    output: str | Path | None,
    resources: Resources,
    metrics: Metrics,
    *,
    calling: CallParameters | None = None,
    joint: JointParameters | None = None,
    regions: Sequence[Target] | None = None,
    reference_path: Path | None = None,
    command: str = "readwarp genotype",
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Genotype all samples of genomic VCFs together; sites where any has a variant go to `output` (None: stdout).

    `regions`: parts to genotype, for which the inputs need an index; None for everything. `progress(done, all)` is told
    reference bases. Counts go to `metrics`: those of `call_variants`, sites, sites_with_alleles_left_out.
    Raises InputError.
    """
    if isinstance(reference, Path):
        reference_path = reference
        reference = read_reference(reference_path)
    files = open_files(inputs, reference, regions is not None)
    try:
        samples = [name for file in files for name in file.samples]
        owner = np.repeat(np.arange(len(files)), [len(file.samples) for file in files])
        cohort = Cohort(reference, files, owner, calling or CallParameters(), joint or JointParameters(), metrics)
        header = describe(
            *(reference, samples, command, str(reference_path or "reference")),
            genotype_fields=GENOTYPE_FIELDS | OWN_FIELDS,
        )
        longest = int(np.diff(reference.contig_offsets).max())
        writer = VariantWriter(None if output is None else str(output), header, longest, resources.threads)
        try:
            _run(cohort, writer, targets_of(reference, regions), regions is not None, resources, progress)
        except BaseException:
            writer.abort()
            raise
        writer.close()
    finally:
        for file in files:
            file.close()


def open_files(inputs: Sequence[Path], reference: Reference, with_index: bool) -> tuple[GenomicFile, ...]:
    """Raises InputError; also where a sample comes twice, and where the system does not let so many files be open."""
    allow_files(len(inputs))
    lengths = [contig_length(reference, contig) for contig in range(len(reference.names))]
    files: list[GenomicFile] = []
    owner: dict[str, Path] = {}
    try:
        for path in inputs:
            files.append(GenomicFile(path, reference.names, lengths, with_index))
            for name in files[-1].samples:
                if name in owner:
                    raise InputError(path, f"its sample {name!r} is in {owner[name]} too")
                owner[name] = path
    except BaseException:
        for file in files:
            file.close()
        raise
    return tuple(files)


def allow_files(number: int) -> None:
    """Raise the limit of open files as far as it is needed. Raises InputError where it cannot be."""
    wanted = number + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        reason = f"{number} files need {wanted} to be open at once, this system allows {hard} (`ulimit -Hn`)"
        raise InputError("inputs", f"{reason}: join some with `bcftools merge --gvcf`, or ask for a higher limit")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _run(
    cohort: Cohort,
    writer: VariantWriter,
    targets: Sequence[Target],
    is_part: bool,
    resources: Resources,
    progress: Callable[[int, int], None] | None,
) -> None:
    total, done = sum(target.stop - target.start for target in targets), 0
    contigs = cohort.reference.names

    def work(item: tuple[Target, list[Rows]]) -> tuple[bytes, int]:
        window, rows = item
        calls = cohort.call(window, rows)
        count_calls(calls, cohort.metrics)
        return b"".join(line for _, line in rows_of(calls, contigs)), window.stop - window.start

    in_flight = resources.threads + 2
    size = window_size(cohort.owner.size, resources.memory or free_memory() // 2, in_flight)
    items = _read(cohort, targets, is_part, size, resources.threads)
    with closing(ordered(items, work, resources.threads, in_flight)) as results:
        for text, bases in results:
            writer.write(text)
            done += bases
            if progress:
                progress(done, total)


def window_size(samples: int, memory: int, in_flight: int) -> int:
    """Reference bases of a window, so that so many fit; two more are read ahead."""
    return max(SMALLEST, min(WINDOW, memory // (BYTES_PER_BASE * samples * (in_flight + 2))))


def _read(
    cohort: Cohort, targets: Sequence[Target], is_part: bool, size: int, threads: int
) -> Iterator[tuple[Target, list[Rows]]]:
    """Each window with the lines of each file that have a say in it; files are read by several threads."""
    with ThreadPoolExecutor(threads, "readwarp reader") as pool:
        for target in targets:
            if is_part:
                low = max(0, span(target)[0])
                list(pool.map(lambda file, t=target, p=low: file.go_to(t.contig, p), cohort.files))
            for window in split_targets([target], size):
                low, high = span(window)
                with cohort.metrics.time("read"):
                    rows = list(pool.map(lambda f, c=window.contig, a=low, b=high: f.rows(c, a, b), cohort.files))
                yield window, rows
