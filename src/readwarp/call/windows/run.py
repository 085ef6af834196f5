"""Run windows of the reference through workers: called or linked in parallel, and written in order."""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise, repeat
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy import ndarray

from readwarp.batches import Calls
from readwarp.call.fractions.given import GivenFractions
from readwarp.call.fractions.shortlist import (
    Shortlist,
    ShortlistedRecords,
    candidates_of,
    filter_together,
    header_lines,
)
from readwarp.call.genome.write import ConsensusGenome
from readwarp.call.likelihoods.pairhmm.given import log_likelihoods_by
from readwarp.call.likelihoods.phase.join import phase_sites
from readwarp.call.likelihoods.phase.links import join_links, no_links
from readwarp.call.likelihoods.phase.types import Links, Phasing
from readwarp.call.noise import LEARNED, LEARNING_WINDOW
from readwarp.call.noise.contamination import Contamination, estimate_contamination
from readwarp.call.noise.counts import ErrorCounts, add_counts, covered_bases, no_counts
from readwarp.call.noise.fit import Noise, fit_noise
from readwarp.call.noise.kinship import CARRIED, are_two_people, have_same_reads
from readwarp.call.places.circle import lay_round
from readwarp.call.places.strips import Place, join_contigs
from readwarp.call.places.targets import bases_of, join_targets
from readwarp.call.reads.inputs import RegionTooDeepError
from readwarp.call.records.found import WindowCalls
from readwarp.call.records.realigned import CalledSite, sites_of
from readwarp.call.records.variant_job import count_calls
from readwarp.call.steps import CallSteps
from readwarp.call.structural.evidence import StructuralEvidence
from readwarp.call.structural.steps import StructuralSteps, StructuralWindow
from readwarp.call.windows.resources import NARROW, WorkerPlan, halve, memory_for, no_cards
from readwarp.config import FractionParameters
from readwarp.device.backend import Backend
from readwarp.errors import MemoryBudgetError, UsageError
from readwarp.formats.common.regions import Target
from readwarp.formats.variants.gvcf import BlockJoiner, GvcfPiece, piece_of
from readwarp.formats.variants.vcf import VariantWriter, format_calls, lines_of
from readwarp.metrics import Metrics
from readwarp.stream.cards import Cards
from readwarp.stream.reporter import Meter
from readwarp.stream.room import PipeRoom
from readwarp.stream.worker import ask
from readwarp.stream.workers import ItemResult, Workers, map_counted
from readwarp.wording import counted

if TYPE_CHECKING:  # few runs write these files
    from readwarp.call.records.bam_output import RealignedBam
    from readwarp.call.records.haplotag import HaplotaggedBam

T = TypeVar("T")
logger = logging.getLogger("readwarp")
OpenOutput = Callable[[Sequence[str]], AbstractContextManager[VariantWriter]]
GOLDEN = (5**0.5 - 1) / 2  # multiples of it, modulo 1, are spread evenly


@dataclass(frozen=True, slots=True)
class Calling:
    """Open alignments to call, and the memory for it."""

    steps: CallSteps
    cards: Cards[Place, Backend]
    plan: WorkerPlan
    room: PipeRoom
    targets: list[Target]  # to call
    window: int  # bases
    with_sites: bool  # for --bam-output
    structural: StructuralSteps
    tagged: "HaplotaggedBam | None"  # collects phased reads
    circular: frozenset[int] = frozenset()  # circular contigs

    @property
    def samples(self) -> tuple[str, ...]:
        return self.steps.alignments.samples

    def in_process(self) -> "Calling":
        """Return a copy for worker processes: without a card, but able to ask this one, which has one."""
        steps = replace(self.steps, backend=Backend("cpu"), shared=partial(log_likelihoods_by, ask))
        return replace(self, steps=steps, cards=no_cards())

    def call(self, window: Place) -> ItemResult[list[WindowCalls]]:
        """Call the window, in parts where it is too deep to be processed at once."""
        return self._work(window, CallSteps.call)

    def link(self, window: Place) -> ItemResult[Links]:
        """Return the window's links to phase its contig."""
        parts, metrics = self._work(window, CallSteps.link)
        return ItemResult(join_links(parts), metrics)

    def learn(self, window: Place) -> ItemResult[list[ErrorCounts]]:
        """Count the window's errors, in parts where it was too deep; empty without reads."""
        parts, metrics = self._work(window, CallSteps.learn)
        return ItemResult([part for part in parts if part is not None], metrics)

    def gather(self, part: StructuralWindow) -> ItemResult[StructuralEvidence]:
        """Gather a window's evidence of structural variants."""
        return self.structural.gather(part)

    def _work(self, window: Place, step: Callable[[CallSteps, Place, int | None], T]) -> ItemResult[list[T]]:
        metrics = Metrics()
        return ItemResult(self.cards.work(window, partial(self._try, step, metrics), metrics.count), metrics)

    def _try(
        self, step: Callable[[CallSteps, Place, int | None], T], metrics: Metrics, window: Place, backend: Backend
    ) -> T:
        """Try a step on a window; one that does not fit counts nothing.

        A narrow window, which has more reads around it than in it, is tried with the memory of all workers before it is
        cut. Raises MemoryBudgetError for one that cannot be cut further.
        """
        is_narrow, tries = window.stop - window.start <= NARROW, [(1, self.plan.max_bases)]
        if is_narrow:
            tries.append((self.room.parts, self.plan.max_bases_alone))
        for parts, max_bases in tries[is_narrow and self.room.parts == 1 :]:
            own = replace(self.steps, backend=backend, metrics=Metrics())
            if parts > 1:
                own.metrics.count("windows_alone", 1)
            try:
                with self.room.take(parts):
                    found = step(own, window, max_bases)
            except RegionTooDeepError as error:
                if not is_narrow or ((parts, max_bases) == tries[-1] and halve(window)):
                    raise
                count = error.count
            else:
                metrics.include(own.metrics)
                return found
        raise self._explain(window, count())

    def _explain(self, window: Place, bases: int) -> MemoryBudgetError:
        """Make the error that locates the deep reads and states the memory they need."""
        target = window.targets[0]
        place = f"{self.steps.reference.names[target.contig]}:{target.start + 1}-{target.stop}"
        need = f"the {bases:,} bases of reads at and around {place} need at least {memory_for(self.plan, bases)}"
        return MemoryBudgetError(f"{need}: raise --memory, or lower --max-depth")

    def run(
        self, workers: "Workers[Calling]", work: "Callable[[Calling, Place], ItemResult[T]]"
    ) -> Generator[T, None, None]:
        """Yield work(self, window) of all windows, in order; for long reads, once a contig is phased."""
        metrics = self.steps.metrics
        if self.steps.platform.is_long:
            stretches = join_targets(self.targets, self.window)
            for contig, own in groupby(stretches, attrgetter("contig")):
                windows: Iterable[Place] = list(own)
                with metrics.time("phase"):
                    links = map_counted(workers, Calling.link, windows, metrics)
                    phasing = phase_sites(join_links([no_links(), *links]))
                if self.tagged:
                    self.tagged.add(contig, phasing)
                yield from map_counted(workers, partial(work_in_phase, phasing, work), windows, metrics)
        else:
            yield from map_counted(workers, work, self.windows(self.window), metrics)

    def windows(self, size: int) -> Iterator[Place]:
        """Yield windows of `size` bases for short reads."""
        stretches = join_targets(self.targets, size)
        lengths = np.diff(self.steps.reference.contig_offsets).tolist()
        apart = self.steps.primers.keys() | self.circular
        return lay_round(join_contigs(stretches, lengths, apart, size), lengths, self.circular)

    def learn_errors(self, workers: "Workers[Calling]") -> ErrorCounts:
        """Count the errors of all targets; of large ones, in windows spread over them until enough are covered."""
        if bases_of(self.targets) <= LEARNED:
            windows = list(self.windows(self.window))
        else:
            windows = spread_out(list(self.windows(LEARNING_WINDOW)))
        total, metrics = no_counts(len(self.samples)), self.steps.metrics
        with metrics.time("noise"), closing(map_counted(workers, Calling.learn, windows, metrics)) as results:
            for parts in results:
                add_counts(parts, total)
                if covered_bases(total) >= LEARNED * len(self.samples):
                    break
        return total


def work_in_phase(phasing: Phasing, work: Callable[[Calling, Place], T], calling: Calling, window: Place) -> T:
    return work(replace(calling, steps=replace(calling.steps, phasing=phasing)), window)


def work_with(given: GivenFractions, work: Callable[[Calling, Place], T], calling: Calling, window: Place) -> T:
    return work(replace(calling, steps=replace(calling.steps, given=given)), window)


def spread_out(windows: Sequence[T]) -> list[T]:
    """Reorder so that any prefix samples the genome evenly."""
    order = np.argsort((np.arange(len(windows)) * GOLDEN) % 1.0, kind="stable")
    return [windows[row] for row in order.tolist()]


class ListedCandidates(NamedTuple):
    """Candidates of a window, in parts where it was too deep."""

    parts: list[ShortlistedRecords]
    shallow: list[ndarray]  # runs of `genome.depths`
    bases: int  # bases called


class Written(NamedTuple):
    """Calls of a window as text."""

    parts: list[bytes | GvcfPiece]  # lines, or for a gVCF a piece of each contig
    sites: list[CalledSite]
    bases: int  # bases called


def write_window(calling: Calling, window: Place) -> ItemResult[Written]:
    contigs, (parts, metrics) = calling.steps.reference.names, calling.call(window)
    texts, sites = list[bytes | GvcfPiece](), list[CalledSite]()
    for found in parts:
        count_calls(found.calls, metrics)
        sites += sites_of(found.calls) if calling.with_sites else ()
        if found.bands is None:
            texts.append(lines_of(found.calls, contigs))
        else:
            lines = format_calls(found.calls, contigs, is_genomic=True)
            bounds = np.searchsorted(found.calls.contig, [bands.contig for bands in found.bands]).tolist()
            own = (lines[first:stop] for first, stop in pairwise([*bounds, len(lines)]))
            texts += map(piece_of, found.bands, own, repeat(contigs))
    return ItemResult(Written(texts, sites, bases_of(window.targets)), metrics)


def write_windows(
    calling: Calling,
    workers: Workers[Calling],
    writer: VariantWriter,
    meter: Meter,
    shown: "RealignedBam | None" = None,
) -> None:
    joiner, whole = BlockJoiner(calling.steps.reference.names), bases_of(calling.targets)
    with closing(calling.run(workers, write_window)) as results:
        for parts, sites, bases in results:
            if shown:
                shown.add(sites)
            for part in parts:
                writer.write(part if isinstance(part, bytes) else joiner.add(part))
            meter.reach(meter.done + bases, whole)
    writer.write(joiner.finish())


def check_samples(samples: Sequence[str], normals: Sequence[str], kinship: ndarray) -> None:
    """Check that tumours and normals are from one person. Raises UsageError where they have the same reads."""
    for normal in normals:
        for name in (name for name in samples if name not in normals):
            pair = samples.index(name), samples.index(normal)
            if have_same_reads(kinship, *pair):
                raise UsageError(f"--normal {normal}: has the same reads as {name}, the tumour")
            if are_two_people(kinship, *pair):
                carried, lacked = kinship[pair][CARRIED:].tolist()
                text = "%s lacks %s of %s alleles that %s has: are samples swapped, or of two people?"
                logger.warning(text, normal, f"{lacked:,}", f"{carried:,}", name)


def find_contamination(calling: Calling, errors: ErrorCounts) -> Contamination | None:
    """Return the contamination given, or estimate and log it; None without a population."""
    given, samples = calling.steps.given, calling.samples
    assert given is not None
    if given.population is None or given.contamination is not None:
        return given.contamination
    found = estimate_contamination(errors.piles, given.is_normal(calling.steps.parameters))
    for name, fraction, error, sites in zip(samples, *found, strict=True):
        if fraction == fraction:
            text = "%s: contamination %.2f %% (standard error %.2f %%, %s)"
            logger.info(text, name, 100 * fraction, 100 * error, counted(sites, "site"))
        else:
            logger.info("%s: contamination cannot be estimated from %s of the population", name, counted(sites, "site"))
    return found


class LearnedNoise(NamedTuple):
    """Noise and contamination, known before alleles are called by fractions."""

    given: GivenFractions  # includes the noise and the contamination
    noise: Noise
    contamination: Contamination | None
    mode: FractionParameters

    def header(self, threshold: float, samples: tuple[str, ...]) -> list[str]:
        return header_lines(threshold, self.noise, self.contamination, samples, self.mode)


def learn_fractions(calling: Calling, workers: Workers[Calling]) -> LearnedNoise:
    """Learn noise and contamination. Raises UsageError where the tumour and its normal have the same reads."""
    known, given = calling.steps.parameters.fractions, calling.steps.given
    assert known is not None and given is not None
    errors = calling.learn_errors(workers)
    check_samples(calling.samples, known.normals, errors.kinship)
    noise, contamination = fit_noise(errors), find_contamination(calling, errors)
    with_both = replace(given, noise=noise, contamination=contamination)
    return LearnedNoise(with_both, noise, contamination, known)


def gather_fractions(calling: Calling, workers: Workers[Calling]) -> tuple[list[Calls], list[str]]:
    """Return calls by fractions with their filters, in order, and the lines of their header."""
    learned = learn_fractions(calling, workers)
    with closing(calling.run(workers, partial(work_with, learned.given, Calling.call))) as windows:
        calls = [part.calls for parts in windows for part in parts]
        found, threshold = filter_together(calls, learned.mode.min_probability)
    return found, learned.header(threshold, calling.samples)


def write_candidates(calling: Calling, window: Place) -> ItemResult[ListedCandidates]:
    """Write a window's alleles by fractions; see `write_window`."""
    contigs, (parts, metrics) = calling.steps.reference.names, calling.call(window)
    lines, shallow = [candidates_of(found.calls, contigs) for found in parts], [found.shallow for found in parts]
    return ItemResult(ListedCandidates(lines, shallow, bases_of(window.targets)), metrics)


def write_fractions(
    calling: Calling, workers: Workers[Calling], open_output: OpenOutput, meter: Meter, genome: ConsensusGenome | None
) -> Path | None:
    """Call alleles by fractions; once all are known, write them and their genome, and return the index.

    open_output: makes the writer for a header with these lines.
    """
    learned, whole = learn_fractions(calling, workers), bases_of(calling.targets)
    work = partial(work_with, learned.given, write_candidates)
    with closing(Shortlist()) as shortlist, closing(calling.run(workers, work)) as results:
        for parts, shallow, bases in results:
            for part, runs in zip(parts, shallow, strict=True):
                shortlist.add(part)
                if genome:
                    genome.add_shallow(runs)
            meter.reach(meter.done + bases, whole)
        threshold = shortlist.choose_threshold(learned.mode.min_probability)
        with open_output(learned.header(threshold, calling.samples)) as writer:
            for line in shortlist.lines(threshold, calling.steps.metrics):
                writer.write(line)
                if genome:
                    genome.add(line)
            if genome:
                writer.beside.append(genome.write())
    return writer.index
