"""The align job: inputs, index, memory plan, steps and writer joined into one stream."""

import hashlib
import json
import logging
import time
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from readwarp.align import pipeline
from readwarp.batches import Alignments, InsertSizes, ReadBatch, Segment
from readwarp.cli import flagstat
from readwarp.cli.cards import Cards, open_cards
from readwarp.cli.device import choose_backend, settled
from readwarp.cli.inputs import Inputs
from readwarp.cli.precompile import helped
from readwarp.cli.reporting import Progress, Reporter, consumed
from readwarp.config import AlignParameters, Resources, SeedParameters
from readwarp.device.backend import Backend
from readwarp.formats.alignments.header import header_text, part_line, program_lines
from readwarp.formats.alignments.output import AlignmentWriter, Finish, format_of
from readwarp.formats.alignments.sam import Encoded, Encoder
from readwarp.formats.alignments.segments import ResumableWriter, Segments
from readwarp.formats.reads.raw import RawBatch
from readwarp.formats.reads.stream import open_reads, parse
from readwarp.index import Index, index_path, open_or_build
from readwarp.metrics import Metrics
from readwarp.stream.halving import Halving
from readwarp.stream.parts import BLOCK, WHOLE, Part, select_reads
from readwarp.stream.runner import run_ordered
from readwarp.stream.training import with_models
from readwarp.stream.worth import ALIGN
from readwarp.version import __version__

logger = logging.getLogger("readwarp")
NOT_IN_FULL = {  # counter -> warning
    "reads_too_long": "reads too long to align were left unmapped",
    "batches_halved": "batches were too much for the GPU's memory and were done in halves",
    "reads_on_host": "reads were too much for the GPU's memory and were aligned on the CPU",
}
SORT_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class AlignJob:
    reference: Path
    inputs: Inputs
    output: str | None  # None: SAM to stdout
    parameters: AlignParameters
    resources: Resources
    seeds: SeedParameters | None = None  # what the index must have; None: take the one that is there
    sort: str = "none"
    mark_duplicates: bool = False
    write_index: bool = False
    insert_sizes: InsertSizes | None = None  # as the user states them; None: estimated
    command: str | None = None  # for @PG; None: no @PG
    part: Part = WHOLE  # of the input, in blocks of templates
    resume: bool = False  # keep what is done beside the output, and go on from it
    stages: tuple[str, ...] = ("formats",)  # whose kernels are compiled meanwhile (readwarp.cli.precompile)


def align(job: AlignJob, reporter: Reporter, index: Index | None = None) -> None:
    """Run the job: every read goes to the output once, in input order or sorted. `index`: where it is open already."""
    metrics = reporter.metrics
    backend = choose_backend(settled(job.resources, sum(job.inputs.paths, ()), ALIGN).device)
    index = index or open_index(job, reporter)
    job = replace(job, parameters=seeded_as(index, job.parameters))
    sort_bytes = SORT_BYTES if job.sort != "none" else 0
    planned, cards = open_cards(job.resources, index, backend, sort_bytes, metrics)
    metrics.note(
        device=backend.name,
        devices=list(backend.devices),
        threads=planned.workers,
        batch_bases=planned.batch_bases,
        batches_in_flight=planned.in_flight,
        planned_bytes=planned.peak_bytes,
    )
    with closing(cards):
        with reporter.compiling(), helped(job.stages, job.resources.threads):
            cards.warm_up(job.parameters)
        metrics.lap("start")
        started = time.perf_counter()
        with reporter.progress("aligning", "reads") as progress, open_writer(job, index, metrics) as writer:
            stages = Stages(job, cards, writer, metrics, progress)
            batches = open_reads(job.inputs.inputs, planned.batch_bases)
            items = with_models(batches, job.parameters.pair.training_pairs, parse, stages.train)
            run_ordered(items, stages.align, stages.write, planned.workers, planned.in_flight)
            cards.note(metrics)
            cards.close()
            metrics.lap("align")
            progress.phase("sorting" if job.sort != "none" else "completing")
    metrics.lap("sort" if job.sort != "none" else "complete")
    if job.mark_duplicates:
        metrics.count("duplicates", writer.duplicates)
    metrics.note(flagstat=flagstat.flagstat(metrics))
    summarize(metrics, time.perf_counter() - started, stages.earlier, job.part)


class Stages:
    """What happens to a batch in the reader's thread (train), in a worker (align) and in the writer's thread."""

    def __init__(
        self,
        job: AlignJob,
        cards: Cards,
        writer: AlignmentWriter | ResumableWriter,
        metrics: Metrics,
        progress: Progress,
    ) -> None:
        self.job, self.cards, self.halving = job, cards, Halving(cards.backend.is_out_of_memory)
        self.writer, self.metrics, self.progress = writer, metrics, progress
        names, groups = cards.index.reference.names, job.inputs.read_group_ids
        self.models: list[dict[str, object]] = []  # of each input
        self.encoder = Encoder(names, groups, text=writer.text)
        earlier = writer.counts if isinstance(writer, ResumableWriter) else {}
        self.done = writer.done if isinstance(writer, ResumableWriter) else 0  # templates of earlier runs
        self.earlier = earlier.get("reads", 0)
        self.aligned = Metrics()  # counts of all that was written, by earlier runs too
        for name, number in earlier.items():
            self.aligned.count(name, number)

    def train(self, first: list[ReadBatch]) -> InsertSizes:
        if self.job.insert_sizes:
            return self.job.insert_sizes
        sizes = self.trained(first)
        self.models.append(sizes._asdict())
        self.metrics.note(insert_sizes=self.models)
        if sizes.pairs:
            logger.info("insert size %.0f ± %.0f, from %d pairs", sizes.mean, sizes.deviation, sizes.pairs)
        elif any((reads.segment == Segment.FIRST).any() for reads in first):
            logger.info("too few confident pairs to tell the insert size: %.0f ± %.0f", sizes.mean, sizes.deviation)
        return sizes

    def trained(self, first: list[ReadBatch]) -> InsertSizes:
        """The model; made on the CPU, where it is the same, if the reads are too much for the card."""
        cards, parameters = self.cards, self.job.parameters
        try:
            with cards.borrowed() as index:
                return pipeline.train(first, index, parameters, cards.backend, self.metrics)
        except Exception as error:
            if not cards.backend.is_out_of_memory(error):
                raise
        return pipeline.train(first, cards.on_host, parameters, Backend("cpu"), self.metrics)

    def align(self, item: tuple[RawBatch, InsertSizes]) -> "Done":
        """The records of those reads of a batch that are to be aligned, and what was counted on the way."""
        (raw, sizes), metrics = item, Metrics()
        stop, encoded, number = raw.first_template + raw.templates, [], 0
        if any(self.job.part.spans(max(raw.first_template, self.done), stop)):
            with metrics.time("parse"):
                reads = parse(raw)
            work, on_host = (partial(does, sizes=sizes, metrics=metrics) for does in (self.on_card, self.on_host))
            for some in select_reads(reads, raw.first_template, self.job.part, self.done):
                number += len(some)
                encoded += self.halving(some, work, on_host, metrics.count)
        return Done(raw.source, number, stop, encoded, metrics)

    def on_card(self, reads: ReadBatch, sizes: InsertSizes, metrics: Metrics) -> Encoded:
        """Records of reads, by the backend that was chosen; `on_host`: by the CPU in any case."""
        with self.cards.borrowed() as index:
            rows = pipeline.align_batch(reads, index, sizes, self.job.parameters, self.cards.backend, metrics)
        return self.encoded(reads, rows, metrics)

    def on_host(self, reads: ReadBatch, sizes: InsertSizes, metrics: Metrics) -> Encoded:
        index, cpu = self.cards.on_host, Backend("cpu")
        rows = pipeline.align_batch(reads, index, sizes, self.job.parameters, cpu, metrics)
        return self.encoded(reads, rows, metrics)

    def encoded(self, reads: ReadBatch, rows: Alignments, metrics: Metrics) -> Encoded:
        flagstat.count(rows, metrics)
        with metrics.time("encode"):
            return self.encoder.encode(reads, rows)

    def write(self, done: "Done") -> None:
        with self.metrics.time("write"):
            for part in done.encoded:
                self.writer.write(part)
        self.metrics.include(done.metrics)
        self.metrics.count("batches")
        self.aligned.include(done.metrics)
        if isinstance(self.writer, ResumableWriter) and done.stop > self.done:
            self.writer.reached(done.stop, dict(self.aligned.counts))
        self.progress.advance(done.reads, consumed(self.job.inputs.paths, done.source))


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a batch."""

    source: int
    reads: int
    stop: int  # number of the template behind its last one
    encoded: list[Encoded]
    metrics: Metrics


def open_index(job: AlignJob, reporter: Reporter) -> Index:
    """REF.rwx, built first where it is absent; with the seeds asked for, else those it has."""
    path, metrics, threads = index_path(job.reference), reporter.metrics, job.resources.threads
    if path.exists():
        return open_or_build(job.reference, job.seeds, threads, metrics)
    logger.info("building the index %s", path)
    with reporter.compiling():
        index = open_or_build(job.reference, job.seeds, threads, metrics)
    if metrics.counts.get("index_not_saved"):
        logger.warning("the index cannot be saved as %s; it is built anew by each run", path)
    return index


def seeded_as(index: Index, parameters: AlignParameters) -> AlignParameters:
    """Look up what the index holds."""
    have = index.parameters
    return replace(parameters, seed=replace(parameters.seed, k=have.k, s=have.s, t=have.t))


def open_writer(job: AlignJob, index: Index, metrics: Metrics) -> AlignmentWriter | ResumableWriter:
    """The writer of the output; with --resume one that goes on from what an earlier run left."""
    reference = index.reference
    lengths = (reference.contig_offsets[1:] - reference.contig_offsets[:-1]).tolist()
    programs = program_lines(job.inputs.programs, job.command) if job.command else list(job.inputs.programs)
    contigs = zip(reference.names, lengths, reference.md5, strict=True)
    comments = [*job.inputs.comments, *([part_line(job.part, run_of(job, index))] if job.part != WHOLE else [])]
    header = header_text(contigs, job.sort, job.inputs.read_groups, programs, comments)

    def open_output() -> AlignmentWriter:
        return AlignmentWriter(
            job.output,
            header,
            Finish(job.sort, job.mark_duplicates, job.write_index, SORT_BYTES),
            threads=job.resources.threads,
            reference=str(job.reference),
        )

    if not job.resume:
        return open_output()
    text = job.sort == "none" and format_of(job.output) == "sam"
    segments = Segments(str(job.output), {**facts_of(job, index), "text": text})
    if segments.done:
        logger.info("going on behind %s pairs or single reads, from %s", f"{segments.done:,}", segments.folder)
        for name, number in segments.counts.items():
            metrics.count(name, number)
    return ResumableWriter(segments, open_output, text, job.resources.threads)


def facts_of(job: AlignJob, index: Index) -> dict[str, object]:
    """All that the records depend on; where it differs, an earlier run's records are not this one's."""
    files = [Path(path) for paths in job.inputs.paths for path in paths]
    return {
        **common_facts(job, index),
        "inputs": [[str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in files],
        "reads": [asdict(given) for given in job.inputs.inputs],
        "part": str(job.part),
    }


def common_facts(job: AlignJob, index: Index) -> dict[str, object]:
    """Of these, what does not speak of files."""
    return {
        "readwarp": __version__,
        "reference": [list(index.reference.names), list(index.reference.md5)],
        "parameters": asdict(job.parameters),
        "read groups": list(job.inputs.read_groups),
        "insert sizes": job.insert_sizes._asdict() if job.insert_sizes else None,
    }


def run_of(job: AlignJob, index: Index) -> str:
    """What all parts of one run have in common, and no part of a run with other reads, options or reference.

    Inputs count by name and size, so that nodes may have copies of their own.
    """
    files = [Path(path) for paths in job.inputs.paths for path in paths]
    reads = [{"interleaved": given.interleaved, "comments": given.comments} for given in job.inputs.inputs]
    names = [(path.name, path.stat().st_size) for path in files if path.is_file()]
    text = json.dumps([common_facts(job, index), reads, names], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def summarize(metrics: Metrics, seconds: float, earlier: int = 0, part: Part = WHOLE) -> None:
    """One line on what came out, and one for each kind of read that could not be treated in full.

    earlier: reads that were aligned by runs which this one has gone on from; they took none of the seconds.
    """
    counts = metrics.counts
    reads = counts.get("reads", 0)
    metrics.note(align_seconds=round(seconds, 3), reads_per_second=round((reads - earlier) / seconds))
    if earlier:
        metrics.note(reads_of_earlier_runs=earlier)
    if not reads:
        none = "the input holds no reads" if part == WHOLE else f"part {part} has no reads: a block is {BLOCK:,} pairs"
        logger.warning(none)
        return
    mapped, proper = (100 * counts.get(name, 0) / reads for name in ("mapped", "proper"))
    shares = f"{mapped:.2f} % mapped, {proper:.2f} % in proper pairs"
    logger.info("%s reads in %.1f s, %s/s: %s", f"{reads:,}", seconds, f"{(reads - earlier) / seconds:,.0f}", shares)
    for name, text in NOT_IN_FULL.items():
        if counts.get(name):
            logger.warning("%s %s", f"{counts[name]:,}", text)
