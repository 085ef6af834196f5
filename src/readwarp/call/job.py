"""The calling job: sorted alignments to a VCF file. Windows of the reference through threads, written in order."""

import logging
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import TypeVar

import numpy as np

from readwarp.call.confidence import GQ_BANDS
from readwarp.call.forced import Forced, read_alleles
from readwarp.call.inputs import choose_samples, match_contigs
from readwarp.call.output import count_calls, describe, open_variants
from readwarp.call.ploidy import Ploidies, read_ploidies, uniform
from readwarp.call.steps import BYTES_PER_BASE, Found, Steps
from readwarp.call.targets import Region, Target, find_targets, split_targets, targets_in
from readwarp.call.warm import warm_up
from readwarp.config import CallParameters, Resources
from readwarp.device.backend import Backend
from readwarp.device.machine import free_memory
from readwarp.errors import UsageError
from readwarp.formats.alignments.regions import AlignedReader, ReadFilter
from readwarp.formats.common.files import check_inputs, check_output, locked
from readwarp.formats.variants.gvcf import BlockJoiner, Piece, header_lines, piece_of
from readwarp.formats.variants.vcf import VariantWriter, format_calls, kind_of, lines_of
from readwarp.index.build import read_reference
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.stream.cards import Cards, open_cards
from readwarp.stream.choice import choose_backend
from readwarp.stream.halving import Divisible
from readwarp.stream.plan import CardPlan, share_card, workers_of
from readwarp.stream.reporter import Meter, Reporter, Result
from readwarp.stream.runner import ordered
from readwarp.stream.worth import CALL

WINDOW = 1 << 17  # reference bases
SMALLEST = 1024  # a window of this size is not cut further, however deep it is
USUAL_WORKSPACE, LEAST_WORKSPACE = 512 << 20, 32 << 20  # bytes on a card; deep windows are cut until they fit
NOT_IN_FULL = {  # counter -> warning
    "windows_halved": "windows were too deep for the GPU's memory and were cut",
    "windows_on_host": "windows were too deep for the GPU's memory and were called on the CPU",
}
DEPTH_OF_A_BATCH = 64  # reads across a base that --batch-bases reckons with
T = TypeVar("T")
logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallJob:
    """Raises UsageError for options that do not go together."""

    reference: Path
    alignments: Path  # sorted and indexed BAM or CRAM; - is a sorted stream
    output: Path | None = None  # .vcf, .vcf.gz or .bcf; None: VCF to stdout
    parameters: CallParameters = field(default_factory=CallParameters)
    resources: Resources = field(default_factory=Resources)
    regions: tuple[Region, ...] | None = None  # to call; neither they nor targets: everything
    targets: Path | None = None  # BED file of more of them
    samples: tuple[str, ...] = ()  # to call together; none: all that the header names
    gvcf: bool = False  # blocks of reference between the variants, for one sample
    alleles: Path | None = None  # VCF file whose alleles are genotyped in any case
    ploidies: Path | None = None  # BED file of parts with another ploidy, which its fourth column says
    command: str = "readwarp call"  # for the header
    force: bool = False  # replace an output that exists

    def __post_init__(self) -> None:
        if self.gvcf and self.alleles:
            raise UsageError(
                "--gvcf and --alleles do not go together: a block of reference says nothing of given alleles"
            )

    @property
    def extra_inputs(self) -> tuple[Path, ...]:
        """Files besides alignments and reference."""
        return tuple(path for path in (self.targets, self.alleles, self.ploidies) if path)


def run_call(job: CallJob, reporter: Reporter) -> Result:
    """Run the job. Raises ReadwarpError."""
    inputs = [job.reference, job.alignments, *job.extra_inputs]
    check_output(job.output, job.force, inputs)
    check_inputs(inputs)
    kind_of(None if job.output is None else str(job.output))
    with locked(job.output):
        with reporter.metrics.time("read_reference"):
            reference = read_reference(job.reference)
        result = call_variants(job, reference, reporter)
    summarize(reporter.metrics)
    return result


def call_variants(job: CallJob, reference: Reference, reporter: Reporter) -> Result:
    """`run_call` once the output is checked and locked."""
    metrics = reporter.metrics
    with (
        metrics.time("call"),
        reporter.progress("calling", "bases") as meter,
        open_calling(job, reference, metrics) as calling,
    ):
        extra = header_lines(GQ_BANDS) if job.gvcf else ()
        header = describe(reference, calling.samples, job.command, str(job.reference), extra)
        with open_variants(job.output, header, reference, job.resources.threads) as writer:
            write_windows(calling, writer, meter)
        metrics.append("gpu", [{"command": "call", **facts} for facts in calling.cards.facts()])
    for name, text in NOT_IN_FULL.items():
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
    targets: list[Target]  # what is called
    most_bases: int  # of reads in memory; deeper windows are cut

    def call(self, window: Target) -> list[Found]:
        """What lies in the window, in parts where it is too deep to be taken at once."""
        return self.cards.work(window, self._tried, self.steps.metrics.count)

    def _tried(self, window: Target, backend: Backend) -> Found:
        """What a window that does not fit has counted is forgotten."""
        own = replace(self.steps, backend=backend, metrics=Metrics())
        found = own.call(window, self.most_bases if halves(window) else None)
        self.steps.metrics.include(own.metrics)
        return found

    def results(self, work: Callable[[Target], T]) -> Generator[T, None, None]:
        """work(window) of all windows, in order, by as many threads as there may be."""
        resources = self.job.resources
        size = min(WINDOW, resources.batch_bases // DEPTH_OF_A_BATCH + 1) if resources.batch_bases else WINDOW
        workers = workers_of(resources.threads, len(self.cards.backend.devices))
        return ordered(split_targets(self.targets, size), work, workers, 2 * workers + 2)


def halves(window: Target) -> tuple[Target, Target] | None:
    contig, start, stop = window
    middle = (start + stop) // 2
    return (Target(contig, start, middle), Target(contig, middle, stop)) if stop - start > SMALLEST else None


WINDOWS: Divisible[Target] = Divisible(
    lambda w: w.stop - w.start, halves, "windows_halved", "windows_on_host", lambda w: 1
)


@contextmanager
def open_calling(job: CallJob, reference: Reference, metrics: Metrics) -> Iterator[Calling]:
    """Raises InputError, UsageError, DeviceError, MemoryBudgetError."""
    resources, parameters = job.resources, job.parameters
    found = find_targets(job.regions, job.targets, reference)
    if found == [] and job.targets:
        logger.warning("%s holds no interval: nothing is called", job.targets)
    targets = targets_in(reference, found)
    with closing(AlignedReader(job.alignments, job.reference, resources.threads)) as reader:
        names, groups = choose_samples(reader, job.samples)
        if job.gvcf and len(names) > 1:
            raise UsageError(f"--gvcf takes one sample; choose it with --sample: {', '.join(names)}")
        contigs = match_contigs(reader, reference, whole=found is None)
        share = sum(target.stop - target.start for target in targets) / int(reference.contig_offsets[-1])
        backend = choose_backend(resources, [job.alignments], CALL, share)
        workers = workers_of(resources.threads, len(backend.devices))
        steps = Steps(
            reference=reference,
            reader=reader,
            contig_of_file=contigs,
            keep=ReadFilter(parameters.min_mapping_quality, samples=groups),
            parameters=parameters,
            backend=backend,
            metrics=metrics,
            samples=len(names),
            ploidies=ploidies_of(job.ploidies, reference, parameters.ploidy),
            forced=forced_alleles(job.alleles, reference, metrics) if job.alleles else None,
            with_bands=job.gvcf,
        )
        memory = resources.memory or free_memory() // 2
        with closing(open_memory(resources, backend, metrics)) as cards:
            if cards.planned:
                cards.warm_up(lambda placed: warm_up(placed, parameters))
            yield Calling(job, steps, cards, names, targets, memory // (BYTES_PER_BASE * workers))


def open_memory(resources: Resources, backend: Backend, metrics: Metrics) -> Cards[Target, Backend]:
    """A workspace for each worker, smaller and then fewer where --vram, or what is free of a card, is less."""

    def plan(room: int) -> CardPlan:
        cards = len(backend.devices)
        return share_card(room, ceil(workers_of(resources.threads, cards) / cards), USUAL_WORKSPACE, LEAST_WORKSPACE)

    return open_cards(backend, plan, resources.vram, WINDOWS, lambda side, _: side, metrics)


def write_windows(calling: Calling, writer: VariantWriter, meter: Meter) -> None:
    targets, contigs, metrics = calling.targets, calling.steps.reference.names, calling.steps.metrics
    total, done = sum(target.stop - target.start for target in targets), 0
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

    with closing(calling.results(work)) as results:
        for parts, bases in results:
            for part in parts:
                writer.write(part if isinstance(part, bytes) else joiner.add(part))
            done += bases
            meter.reach(done, total)
    writer.write(joiner.finish())


def check_files(job: CallJob, reference: Reference) -> None:
    """Read what else calling is given, so that a bad file is known before hours of aligning. Raises InputError."""
    find_targets(job.regions, job.targets, reference)
    ploidies_of(job.ploidies, reference, job.parameters.ploidy)
    if job.alleles:
        read_alleles(job.alleles, reference)


def ploidies_of(path: Path | None, reference: Reference, default: int) -> Ploidies:
    if path is None:
        return uniform(default, len(reference.names))
    return read_ploidies(path, reference.names, np.diff(reference.contig_offsets).tolist(), default)


def forced_alleles(path: Path, reference: Reference, metrics: Metrics) -> Forced:
    """Alleles to be genotyped in any case; those that cannot be are counted, and said."""
    forced = read_alleles(path, reference)
    metrics.count("alleles_asked", len(forced))
    for reason, number in forced.skipped.items():
        metrics.count(f"alleles_skipped_{reason}", number)
        logger.warning("%s: %s alleles are left out (%s)", path, f"{number:,}", reason)
    return forced


def summarize(metrics: Metrics) -> None:
    """One line on what came out."""
    found, passed = metrics.counts.get("variants", 0), metrics.counts.get("variants_pass", 0)
    logger.info("%s variants, %s pass all filters", f"{found:,}", f"{passed:,}")
    if lost := metrics.counts.get("reads_without_sample", 0):
        logger.warning("%s reads have no read group of a sample in the header: left out", f"{lost:,}")
