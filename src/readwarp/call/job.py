"""The calling job: sorted alignments to a VCF file, by windows of the reference in threads, written in order."""

import logging
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import TypeVar

from readwarp.call.confidence import GQ_BANDS
from readwarp.call.forced import Forced, read_alleles
from readwarp.call.inputs import choose_samples, match_contigs
from readwarp.call.mates.primers import read_primers
from readwarp.call.ploidy import read_ploidies
from readwarp.call.steps import BYTES_PER_BASE, Found, Steps
from readwarp.call.targets import Target, bases_of, find_targets, split_targets
from readwarp.call.variant_job import VariantJob, count_calls
from readwarp.call.warm import warm_up
from readwarp.config import CallParameters, Resources
from readwarp.device.backend import Backend
from readwarp.device.machine import free_memory
from readwarp.errors import UsageError
from readwarp.formats.alignments.regions import AlignedReader, ReadFilter
from readwarp.formats.variants.gvcf import BlockJoiner, Piece, header_lines, piece_of
from readwarp.formats.variants.vcf import VariantWriter, format_calls, lines_of
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.stream.cards import Cards, open_cards
from readwarp.stream.choice import CALL, choose_backend
from readwarp.stream.halving import Divisible
from readwarp.stream.plan import CardPlan, share_card, workers_of
from readwarp.stream.reporter import Meter, Reporter, Result
from readwarp.stream.runner import map_ordered

WINDOW = 1 << 17  # reference bases
MIN_WINDOW = 1024  # is not cut further, however deep it is
USUAL_WORKSPACE, MIN_WORKSPACE = 512 << 20, 32 << 20  # bytes on a card; deep windows are cut until they fit
DEPTH_WARNINGS = {  # by counter
    "windows_halved": "windows were too deep for the GPU's memory and were cut",
    "windows_on_host": "windows were too deep for the GPU's memory and were called on the CPU",
}
DEPTH_OF_A_BATCH = 64  # reads across a base, as --batch-bases assumes
T = TypeVar("T")
logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallJob(VariantJob):
    """Raises UsageError for options that do not go together."""

    alignments: Path  # sorted and indexed BAM or CRAM; - is a sorted stream
    parameters: CallParameters = field(default_factory=CallParameters)
    samples: tuple[str, ...] = ()  # to call together; none: all in the header
    gvcf: bool = False  # blocks of reference between the variants, for one sample
    alleles: Path | None = None  # VCF file whose alleles are genotyped in any case
    ploidies: Path | None = None  # BED file of parts with a ploidy of their own, in its fourth column
    primers: Path | None = None  # BED file of the primers of an amplicon panel
    command: str = "readwarp call"

    def __post_init__(self) -> None:
        if self.gvcf and self.alleles:
            raise UsageError(
                "--gvcf and --alleles do not go together: a block of reference says nothing of given alleles"
            )


def run_call(job: CallJob, reporter: Reporter) -> Result:
    """Run the job. Raises ReadwarpError."""
    extra = [path for path in (job.targets, job.alleles, job.ploidies, job.primers) if path]
    inputs = [job.reference, job.alignments, *extra]
    result = job.run(inputs, lambda reference: call_variants(job, reference, reporter), reporter)
    if lost := reporter.metrics.counts.get("reads_without_sample", 0):
        logger.warning("%s reads have no read group of a sample in the header: left out", f"{lost:,}")
    return result


def call_variants(job: CallJob, reference: Reference, reporter: Reporter) -> Result:
    """`run_call` once the output is checked and locked."""
    metrics = reporter.metrics
    with (
        metrics.time("call"),
        reporter.progress("calling", "bases") as meter,
        open_calling(job, reference, metrics) as calling,
    ):
        with job.open_output(reference, calling.samples, header_lines(GQ_BANDS) if job.gvcf else ()) as writer:
            write_windows(calling, writer, meter)
        metrics.append("gpu", [{"command": "call", **facts} for facts in calling.cards.facts()])
    for name, text in DEPTH_WARNINGS.items():
        if number := metrics.counts.get(name):
            logger.warning("%s %s", f"{number:,}", text)
    return Result.of(metrics, {"variants": job.output, "variants_index": writer.index})


@dataclass(frozen=True, slots=True)
class Calling:
    """Alignments that are open for calling, and the memory for it."""

    job: CallJob
    steps: Steps
    cards: Cards[Target, Backend]
    samples: tuple[str, ...]
    targets: list[Target]  # to call
    max_bases: int  # of reads in memory; deeper windows are cut

    def call(self, window: Target) -> list[Found]:
        """What is in the window, in parts where it is too deep to be taken at once."""
        return self.cards.work(window, self._try, self.steps.metrics.count)

    def _try(self, window: Target, backend: Backend) -> Found:
        """A window that does not fit counts nothing."""
        own = replace(self.steps, backend=backend, metrics=Metrics())
        found = own.call(window, self.max_bases if halve(window) else None)
        self.steps.metrics.include(own.metrics)
        return found

    def run(self, work: Callable[[Target], T]) -> Generator[T, None, None]:
        """work(window) of all windows, in order, in parallel threads."""
        resources = self.job.resources
        size = min(WINDOW, resources.batch_bases // DEPTH_OF_A_BATCH + 1) if resources.batch_bases else WINDOW
        workers = workers_of(resources.threads, len(self.cards.backend.devices))
        return map_ordered(split_targets(self.targets, size), work, workers, 2 * workers + 2)


def halve(window: Target) -> tuple[Target, Target] | None:
    contig, start, stop = window
    middle = (start + stop) // 2
    return (Target(contig, start, middle), Target(contig, middle, stop)) if stop - start > MIN_WINDOW else None


WINDOWS: Divisible[Target] = Divisible(
    lambda w: w.stop - w.start, halve, "windows_halved", "windows_on_host", lambda w: 1
)


@contextmanager
def open_calling(job: CallJob, reference: Reference, metrics: Metrics) -> Iterator[Calling]:
    """Raises InputError, UsageError, DeviceError, MemoryBudgetError."""
    resources, parameters = job.resources, job.parameters
    targets = job.find_targets(reference)
    with closing(AlignedReader(job.alignments, job.reference, resources.threads)) as reader:
        names, groups = choose_samples(reader, job.samples)
        if job.gvcf and len(names) > 1:
            raise UsageError(f"--gvcf takes one sample; choose it with --sample: {', '.join(names)}")
        contigs = match_contigs(reader, reference, whole=not job.is_partial)
        share = bases_of(targets) / int(reference.contig_offsets[-1])
        backend = choose_backend(resources, [job.alignments], CALL, share)
        steps = Steps(
            reference=reference,
            reader=reader,
            contig_of_file=contigs,
            keep=ReadFilter(parameters.min_mapping_quality, samples=groups),
            parameters=parameters,
            backend=backend,
            metrics=metrics,
            samples=len(names),
            ploidies=read_ploidies(job.ploidies, reference, parameters.ploidy),
            forced=read_forced(job.alleles, reference, metrics) if job.alleles else None,
            primers=read_primers(job.primers, reference),
            with_bands=job.gvcf,
        )
        memory = resources.memory or free_memory() // 2
        max_bases = memory // (BYTES_PER_BASE * workers_of(resources.threads, len(backend.devices)))
        with closing(open_memory(resources, backend, metrics)) as cards:
            if cards.planned:
                cards.warm_up(lambda placed: warm_up(placed, parameters))
            yield Calling(job, steps, cards, names, targets, max_bases)


def open_memory(resources: Resources, backend: Backend, metrics: Metrics) -> Cards[Target, Backend]:
    """A workspace for each worker; smaller ones, then fewer, if --vram or the free memory of a card is less."""

    def plan(room: int) -> CardPlan:
        cards = len(backend.devices)
        return share_card(room, ceil(workers_of(resources.threads, cards) / cards), USUAL_WORKSPACE, MIN_WORKSPACE)

    return open_cards(backend, plan, resources.vram, WINDOWS, lambda side, _: side, metrics)


def write_windows(calling: Calling, writer: VariantWriter, meter: Meter) -> None:
    contigs, metrics = calling.steps.reference.names, calling.steps.metrics
    joiner = BlockJoiner(contigs)

    def work(window: Target) -> tuple[list[bytes | Piece], int]:
        parts: list[bytes | Piece] = []
        for found in calling.call(window):
            count_calls(found.calls, metrics)
            if found.bands is None:
                parts.append(lines_of(found.calls, contigs))
            else:
                parts.append(piece_of(found.bands, format_calls(found.calls, contigs, with_strands=True), contigs))
        return parts, window.stop - window.start

    with closing(calling.run(work)) as results:
        for parts, bases in results:
            for part in parts:
                writer.write(part if isinstance(part, bytes) else joiner.add(part))
            meter.reach(meter.done + bases, bases_of(calling.targets))
    writer.write(joiner.finish())


def check_files(job: CallJob, reference: Reference) -> None:
    """Read the files beside the alignments, so that a bad one is known before hours of aligning. Raises InputError."""
    find_targets(job.regions, job.targets, reference)
    read_ploidies(job.ploidies, reference, job.parameters.ploidy)
    read_primers(job.primers, reference)
    if job.alleles:
        read_alleles(job.alleles, reference)


def read_forced(path: Path, reference: Reference, metrics: Metrics) -> Forced:
    """The alleles to genotype in any case; those that cannot be genotyped are counted and logged."""
    forced = read_alleles(path, reference)
    metrics.count("alleles_asked", len(forced))
    for reason, number in forced.skipped.items():
        metrics.count(f"alleles_skipped_{reason}", number)
        logger.warning("%s: %s alleles are left out (%s)", path, f"{number:,}", reason)
    return forced
