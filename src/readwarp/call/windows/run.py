"""Run windows of the reference through workers: called or linked in parallel, and written in order."""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from readwarp.call.likelihoods.pairhmm.given import SharedCard, log_likelihoods_by
from readwarp.call.likelihoods.phase.join import phase_sites
from readwarp.call.likelihoods.phase.links import Links, join_links, no_links
from readwarp.call.places.circle import lay_round
from readwarp.call.places.strips import Place, join_contigs
from readwarp.call.places.targets import bases_of, join_targets
from readwarp.call.reads.inputs import RegionTooDeepError
from readwarp.call.records.found import WindowCalls
from readwarp.call.records.realigned import CalledSite, sites_of
from readwarp.call.records.variant_job import count_calls
from readwarp.call.steps import CallSteps, call_window, link_window
from readwarp.call.windows.resources import NARROW, WorkerPlan, halve, memory_for, open_workers
from readwarp.errors import MemoryBudgetError, TooLargeError
from readwarp.formats.common.regions import Target
from readwarp.formats.variants.gvcf import BlockJoiner, GvcfPiece, piece_of
from readwarp.formats.variants.vcf import VariantWriter, format_calls, lines_of
from readwarp.metrics import Metrics
from readwarp.stream.reporter import Meter
from readwarp.stream.room import PipeRoom
from readwarp.stream.worker import ask
from readwarp.stream.workers import ItemResult, Workers, map_counted

if TYPE_CHECKING:  # few runs write these files
    from readwarp.call.records.bam_output import RealignedBam
    from readwarp.call.records.haplotag import HaplotaggedBam

T = TypeVar("T")
logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True)
class Calling:
    """Open alignments to call, and the memory for it."""

    steps: CallSteps
    shared: SharedCard | None  # compares reads with haplotypes for all workers; None: each does
    plan: WorkerPlan
    room: PipeRoom
    targets: list[Target]  # to call
    window: int  # bases
    with_sites: bool  # for --bam-output
    tagged: "HaplotaggedBam | None"  # collects phased reads
    circular: frozenset[int]  # circular contigs

    @property
    def samples(self) -> tuple[str, ...]:
        return self.steps.alignments.samples

    def in_process(self) -> Self:
        """Return a copy for worker processes, which ask this one what its card computes."""
        return replace(self, steps=replace(self.steps, log_likelihoods=partial(log_likelihoods_by, ask)))

    def open_workers(self, command: str) -> AbstractContextManager[Workers[Self]]:
        """Open workers with the kernels of a command."""
        asks = self.shared if self.plan.processes else None
        state, reply = (self.in_process(), asks.answer) if asks else (self, None)
        return open_workers(state, self.plan, self.steps.alignments, command, self.steps.metrics, reply)

    def call(self, window: Place) -> ItemResult[list[WindowCalls]]:
        """Call the window, in parts where it is too deep to be processed at once."""
        return self.work(window, call_window)

    def link(self, window: Place) -> ItemResult[Links]:
        """Return the window's links to phase its contig."""
        parts, metrics = self.work(window, link_window)
        return ItemResult(join_links(parts), metrics)

    def work(self, window: Place, step: Callable[[CallSteps, Place, int | None], T]) -> ItemResult[list[T]]:
        """Run a step on the window, in parts where it is too deep to be processed at once."""
        metrics = Metrics()

        def parts(part: Place) -> list[T]:
            try:
                return [self._try(step, metrics, part)]
            except TooLargeError:
                if (halves := halve(part)) is None:
                    raise
            return [result for half in halves for result in parts(half)]

        return ItemResult(parts(window), metrics)

    def _try(self, step: Callable[[CallSteps, Place, int | None], T], metrics: Metrics, window: Place) -> T:
        """Try a step on a window; one that does not fit counts nothing.

        A narrow window, which has more reads around it than in it, is tried with the memory of all workers before it is
        cut. Raises MemoryBudgetError for one that cannot be cut further.
        """
        is_narrow, tries = window.stop - window.start <= NARROW, [(1, self.plan.max_bases)]
        if is_narrow:
            tries.append((self.room.parts, self.plan.max_bases_alone))
        for parts, max_bases in tries[is_narrow and self.room.parts == 1 :]:
            own = replace(self.steps, metrics=Metrics())
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
                yield from map_counted(workers, partial(work_with, {"phasing": phasing}, work), windows, metrics)
        else:
            yield from map_counted(workers, work, self.windows(self.window), metrics)

    def windows(self, size: int) -> Iterator[Place]:
        """Yield windows of `size` bases for short reads."""
        stretches = join_targets(self.targets, size)
        lengths = np.diff(self.steps.reference.contig_offsets).tolist()
        apart = self.steps.primers.keys() | self.circular
        return lay_round(join_contigs(stretches, lengths, apart, size), lengths, self.circular)


def work_with(changes: Mapping[str, Any], work: Callable[[Calling, Place], T], calling: Calling, window: Place) -> T:
    """Work on a window with these fields of the steps."""
    return work(replace(calling, steps=replace(calling.steps, **changes)), window)


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
