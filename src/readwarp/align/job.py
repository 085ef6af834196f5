"""The align job: files of reads to a file of alignments, in one stream of batches."""

import hashlib
import json
import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from readwarp.align import flagstat, steps
from readwarp.align.alternates import Alternates, read_alternates
from readwarp.align.alternates.table import contigs_of, count_alternates, describe_alternates
from readwarp.align.budget import TakenMemory, budget_of, bytes_to_sort, plan_batches, plan_cards
from readwarp.align.inputs import Inputs
from readwarp.align.insert_models import InsertSizes
from readwarp.align.summary import note_molecules, summarize, warn_of_names, warn_of_shares
from readwarp.align.trainer import AlignCards, TrainedModel, Trainer
from readwarp.align.work import AlignedBatch, Aligning
from readwarp.config import MAX_READ_LENGTH, AlignParameters, DuplicateRules, Resources, SeedParameters
from readwarp.device import nvcomp
from readwarp.device.backend import Backend
from readwarp.device.workspaces import identity
from readwarp.errors import UsageError
from readwarp.finish import segments
from readwarp.finish.segments import ResumableWriter, Segments
from readwarp.finish.writer import AlignmentWriter, Finish, Preparer
from readwarp.formats.alignments.header import header_text, part_line, program_lines
from readwarp.formats.alignments.output import format_of
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.common.fasta import check_format
from readwarp.formats.common.files import check_output, check_resume, locked
from readwarp.formats.common.index_file import is_index
from readwarp.formats.reads.raw import RawBatch
from readwarp.formats.reads.stream import open_reads, parse
from readwarp.index import Index, open_or_build
from readwarp.index.place import cache_folder, explain_place, place_of
from readwarp.metrics import Metrics
from readwarp.stream.cards import open_cards
from readwarp.stream.choice import ALIGN, choose_backend
from readwarp.stream.parts import WHOLE, Part
from readwarp.stream.plan import FREE_SHARE, CardPlan, Plan, readable
from readwarp.stream.processes import may_fork
from readwarp.stream.reporter import Meter, Reporter, Result
from readwarp.stream.training import TrainingGroups, train_sources
from readwarp.stream.workers import open_workers
from readwarp.version import __version__
from readwarp.wording import counted

if TYPE_CHECKING:
    from readwarp.finish.cuda_blocks import CardBlocks
logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignJob:
    """An align job. Raises UsageError for mutually exclusive options."""

    reference: Path
    inputs: Inputs
    output: Path | None = None  # SAM, BAM, CRAM or PAF by its ending; None: SAM to stdout
    paf: bool = False  # PAF instead of SAM
    parameters: AlignParameters = field(default_factory=AlignParameters)
    resources: Resources = field(default_factory=Resources)
    index: Path | None = None  # of the reference; None: REF.rwx, or in the cache folder
    alternates: Path | None = None  # the file of ALT contigs; None: all contigs are treated alike
    seeds: SeedParameters | None = None  # required seeds of the index; None: any
    sort: str = "none"  # coordinate | name | none
    mark_duplicates: bool = False
    write_index: bool = False
    bgzf: str = "card"  # or cpu: what compresses BAM beside a card
    insert_sizes: InsertSizes | None = None  # given by the user; None: estimated
    command: str | None = None  # for @PG; None: no @PG
    part: Part = WHOLE  # of the input, in blocks of templates
    resume: bool = False  # keep intermediate results beside the output, and continue from them
    force: bool = False  # replace an existing output

    def __post_init__(self) -> None:
        if self.part != WHOLE and (self.sort != "none" or format_of(self.output) != "bam"):
            raise UsageError("--part: parts are unsorted BAM files; readwarp merge sorts them and marks duplicates")

    @property
    def finish(self) -> Finish:
        umis = [given.umi for given in self.inputs.inputs if given.umi]
        rules = DuplicateRules(bool(umis), any(umi.duplex for umi in umis))
        return Finish(self.sort, self.mark_duplicates, self.write_index, duplicates=rules, paf=self.paf)

    @property
    def kernels(self) -> str:
        """The name of the job in the table of kernels."""
        return "align" if self.parameters.long.min_length > MAX_READ_LENGTH else "align.long"

    @property
    def form(self) -> str:
        """Encoding of batches: paf, text (of SAM), or formats (BAM records)."""
        format = self.finish.format_of(self.output)
        return "paf" if format == "paf" else "text" if format == "sam" and self.sort == "none" else "formats"


def run_align(job: AlignJob, reporter: Reporter) -> Result:
    """Run the job: every read enters the output once, in input order or sorted. Raises ReadwarpError."""
    resumes = job.resume and segments.folder_of(job.output).exists()  # until then, the output is incomplete
    check_output(job.output, job.force or resumes, [job.reference, *filter(None, [job.alternates]), *job.inputs.files])
    Finish(job.sort, job.mark_duplicates, job.write_index).check(format_of(job.output))
    check_resume(job.resume, [job.output], job.inputs.files)
    if not job.resume and not job.force:
        segments.check_none(job.output)
    with locked(job.output):
        backend = choose_side(job)
        reporter.prepare(job.kernels, job.resources.threads, backend.needed_by)
        return align_reads(job, open_index(job, reporter), backend, reporter)


def choose_side(job: AlignJob) -> Backend:
    """Choose CPU or GPU. Raises DeviceError, so call it before spending hours on an index."""
    return choose_backend(job.resources, job.inputs.files, ALIGN)


def align_reads(job: AlignJob, index: Index, backend: Backend, reporter: Reporter) -> Result:
    """Run the job, with its output checked and locked."""
    metrics, have = reporter.metrics, index.parameters
    seed = replace(job.parameters.seed, k=have.k, s=have.s, t=have.t)  # look up the seeds that the index holds
    job = replace(job, parameters=replace(job.parameters, seed=seed))
    sort_bytes = bytes_to_sort(job.resources, map(Path, job.inputs.files)) if job.sort != "none" else 0
    alternates = open_alternates(job, index, reporter)
    more = {"align.alt": alternates is not None, "align.umi": job.finish.duplicates.umis}
    kernels = [job.kernels, *(name for name, is_needed in more.items() if is_needed)]
    for each in kernels[1:]:
        reporter.prepare(each, job.resources.threads)
    with ExitStack() as opened:
        compressor = opened.enter_context(open_compressor(job, backend, reporter))
        on_card = compressor.device_bytes if compressor and job.resources.vram else 0
        taken = TakenMemory(sort_bytes + (compressor.host_bytes if compressor else 0), on_card)
        planned, cards = open_memory(job, index, alternates, backend, taken, metrics)
        opened.callback(cards.close)
        header = header_of(job, index, alternates)
        warn_of_names(index.reference.names)
        kept = open_segments(job, index, metrics) if job.resume else None
        aligning = share_work(job, cards, header, kept, compressor)
        with reporter.compiling():
            cards.warm_up(lambda placed: steps.warm_up(placed, job.parameters, (aligning.encoder, aligning.preparer)))
        metrics.lap("start")
        started = time.perf_counter()
        with (
            open_workers(aligning, planned.processes, planned.workers, kernels, metrics) as workers,
            reporter.progress("aligning", "reads") as meter,
            open_writer(job, header, kept, sort_bytes, compressor) as writer,
        ):
            output = Output(job, writer, metrics, meter)
            trainer = Trainer(job.inputs, job.parameters, job.insert_sizes, cards, metrics)
            batches = workers.map_ordered(Aligning.align, read(job, planned, trainer), planned.in_flight)
            with closing(batches):
                for batch in batches:
                    output.write(batch)
            if cards.planned:
                seeding = cards.planned.seeding
                metrics.append("gpu", [{"command": "align", **facts, "seeding": seeding} for facts in cards.facts()])
            cards.close()
            metrics.lap("align")
            meter.phase("sorting" if job.sort != "none" else "completing")
    if job.output and not job.resume:
        segments.remove(job.output)
    metrics.lap("sort" if job.sort != "none" else "complete")
    if job.mark_duplicates:
        metrics.count("duplicates", writer.duplicates)
        note_molecules(metrics, job.finish.duplicates, writer.families)
    metrics.note(flagstat=flagstat.flagstat(metrics))
    summarize(metrics, time.perf_counter() - started, output.earlier, job.part)
    warn_of_shares(metrics, trainer.first, index, job.parameters.pair.pairing)
    return Result.of(metrics, {"alignments": job.output, "alignments_index": writer.index})


def share_work(
    job: AlignJob, cards: AlignCards, header: str, kept: Segments | None, compressor: "CardBlocks | None"
) -> Aligning:
    """Collect what all workers share. Segments hold the records in their encoding."""
    reference = cards.on_host.host.reference
    lengths = np.diff(reference.contig_offsets).tolist() if job.form == "paf" else ()
    encoder = Encoder(reference.names, job.inputs.read_group_ids, job.form != "formats", tuple(lengths))
    finish = replace(job.finish, compressor=compressor)
    preparer, done = (Preparer(), kept.done) if kept else (finish.preparer(header), 0)
    return Aligning(cards, encoder, preparer, job.part, done)


def read(job: AlignJob, planned: Plan, trainer: Trainer) -> Iterator[tuple[RawBatch, TrainedModel]]:
    """Yield batches of reads, each with the model learned from the first reads of its input."""
    batches = open_reads(job.inputs.inputs, planned.batch_bases, job.resources.threads)
    groups: TrainingGroups[RawBatch, TrainedModel] = TrainingGroups(
        lambda raw: raw.input.named_groups, trainer.add_group
    )
    return train_sources(batches, job.parameters.pair.training_pairs, parse, trainer.train, groups)


def open_alternates(job: AlignJob, index: Index, reporter: Reporter) -> Alternates | None:
    """Read the ALT contigs of the reference, if the job has a file of them. Raises InputError."""
    if job.alternates is None:
        return None
    alternates = read_alternates(job.alternates, index.reference)
    logger.info("%s", describe_alternates(job.alternates, alternates))
    reporter.metrics.note(alternates={"file": str(job.alternates), **count_alternates(alternates)})
    return alternates


@contextmanager
def open_compressor(job: AlignJob, backend: Backend, reporter: Reporter) -> "Iterator[CardBlocks | None]":
    """Open the compressor of BAM's blocks on the cards; None: the host compresses them. Raises MemoryBudgetError."""
    is_bam, metrics = backend.name == "cuda" and job.finish.format_of(job.output) == "bam", reporter.metrics
    if not is_bam or job.bgzf == "cpu" or nvcomp.library() is None:
        if is_bam and job.bgzf == "card":
            logger.warning("BAM is compressed on the CPU: nvCOMP (%s) is not installed", nvcomp.LIBRARY)
            metrics.count("outputs_compressed_on_host")
        yield None
        return
    from readwarp.finish.cuda_blocks import CardBlocks

    with reporter.compiling():
        room = job.resources.vram or backend.free_memory(FREE_SHARE)
        made = CardBlocks(backend, room, budget_of(job.resources), metrics)
    logger.info("BAM is compressed on the GPU by nvCOMP, in %s", readable(made.device_bytes))
    with closing(made):
        yield made
        metrics.append("gpu", [{"command": "bgzf", "nvcomp": nvcomp.version(), **facts} for facts in made.facts()])


def open_memory(
    job: AlignJob, index: Index, alternates: Alternates | None, backend: Backend, taken: TakenMemory, metrics: Metrics
) -> tuple[Plan, AlignCards]:
    """Plan the host's memory and allocate the cards' memory. Raises MemoryBudgetError."""
    trims = job.parameters.trim is not None
    planned = plan_batches(job.resources, index, backend, taken.host, trims, may_fork())

    def place(side: Backend, card: CardPlan | None) -> steps.PlacedIndex:
        return steps.place(index, side, card is not None and card.seeding == "cpu", alternates)

    def plan(room: int) -> CardPlan:
        return plan_cards(room, planned, index, backend, taken.card)

    cards = open_cards(backend, plan, job.resources.vram, place, metrics)
    if cards.planned:
        log_cards(cards.planned, backend)
        planned = replace(planned, batch_bases=cards.planned.batch_bases)
    metrics.note(
        device=backend.name,
        devices=list(backend.devices),
        threads=planned.workers,
        batch_bases=planned.batch_bases,
        batches_in_flight=planned.in_flight,
        planned_bytes=planned.peak_bytes,
    )
    return planned, cards


def log_cards(card: CardPlan, backend: Backend) -> None:
    """Log a line for each card."""
    seeding = "on the card" if card.seeding == "cuda" else "on the CPU (the index leaves no room for batches)"
    for device in backend.devices:
        known = identity(device)
        logger.info(
            "cuda:%d (%s, kernels %s): %s of %s bases in flight, %s planned, seeding %s",
            *(device, known["name"], known["kernel_form"], counted(card.workspaces, "batch"), f"{card.batch_bases:,}"),
            *(readable(card.device_bytes), seeding),
        )


class Output:
    """Output of the job: takes batches in input order, in the main thread."""

    def __init__(
        self, job: AlignJob, writer: AlignmentWriter | ResumableWriter, metrics: Metrics, meter: Meter
    ) -> None:
        self.job, self.writer = job, writer
        self.metrics, self.meter = metrics, meter
        earlier = writer.counts if isinstance(writer, ResumableWriter) else {}
        self.earlier = earlier.get("reads", 0)
        self.written = Metrics()  # counts of everything written, including earlier runs
        for name, number in earlier.items():
            self.written.count(name, number)

    def write(self, done: AlignedBatch) -> None:
        with self.metrics.time("write"):
            for part in done.prepared:
                self.writer.add(part)
        self.metrics.include(done.metrics)
        self.metrics.count("batches")
        self.written.include(done.metrics)
        if isinstance(self.writer, ResumableWriter) and done.stop > self.writer.done:
            self.writer.checkpoint(done.stop, dict(self.written.counts))
        self.meter.advance(done.reads, self.job.inputs.share_read(done.source))


def open_index(job: AlignJob, reporter: Reporter) -> Index:
    """Open the reference or its index, which is built if absent, with the job's seeds if it names any."""
    wanted = job.reference, job.seeds, job.resources.threads, reporter.metrics, job.index, job.resources.memory
    if is_index(job.reference) or not job.reference.is_file():
        return open_or_build(*wanted)
    path = job.index or place_of(job.reference, job.seeds)
    if path.exists():
        if path != job.index and path.parent == cache_folder():
            logger.info("using the index %s", path)
        return open_or_build(*wanted)
    check_format(job.reference)  # before the log names an index of reads, if the reference was forgotten
    logger.info("building the index %s%s", path, explain_place(path, job.reference))
    with reporter.compiling():
        return open_or_build(*wanted)


def header_of(job: AlignJob, index: Index, alternates: Alternates | None) -> str:
    known = describe_alternates(job.alternates, alternates) if job.alternates and alternates else ""
    programs = program_lines(job.inputs.programs, job.command, known) if job.command else list(job.inputs.programs)
    comments = [*job.inputs.comments, *([part_line(job.part, run_of(job, index))] if job.part != WHOLE else [])]
    contigs = contigs_of(index.reference, alternates)
    return header_text(contigs, job.sort, job.inputs.read_groups, programs, comments)


def open_segments(job: AlignJob, index: Index, metrics: Metrics) -> Segments:
    """Open what an earlier run of the job left, and add its counts to the metrics. Raises UsageError."""
    kept = Segments(str(job.output), {**facts_of(job, index), "form": job.form})
    if kept.done:
        done = counted(kept.done, "pair or single read", "pairs or single reads")
        logger.info("continuing after %s, from %s", done, kept.folder)
        for name, number in kept.counts.items():
            metrics.count(name, number)
    return kept


def open_writer(
    job: AlignJob, header: str, kept: Segments | None, sort_bytes: int, compressor: "CardBlocks | None"
) -> AlignmentWriter | ResumableWriter:
    """Open the writer of the output, or of the segments from which it is assembled at the end."""

    def open_output() -> AlignmentWriter:
        return AlignmentWriter(
            None if job.output is None else str(job.output),
            header,
            replace(job.finish, memory=sort_bytes, compressor=compressor),
            threads=job.resources.threads,
            reference=str(job.reference),
        )

    if kept is None:
        return open_output()
    return ResumableWriter(kept, open_output, job.form != "formats", job.resources.threads)


def facts_of(job: AlignJob, index: Index) -> dict[str, object]:
    """Return everything the records depend on: a run can be resumed only with equal facts."""
    files = [Path(path) for path in job.inputs.files]
    return {
        **common_facts(job, index),
        "inputs": [[str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in files],
        "reads": [asdict(given) for given in job.inputs.inputs],
        "part": str(job.part),
    }


def common_facts(job: AlignJob, index: Index) -> dict[str, object]:
    """Return the facts that do not depend on file locations."""
    return {
        "readwarp": __version__,
        "reference": [list(index.reference.names), list(index.reference.md5)],
        "parameters": asdict(job.parameters),
        "umis": [asdict(given.umi) if given.umi else None for given in job.inputs.inputs],
        "alternates": hashlib.sha256(job.alternates.read_bytes()).hexdigest() if job.alternates else None,
        "read groups": list(job.inputs.read_groups),
        "insert sizes": job.insert_sizes._asdict() if job.insert_sizes else None,
    }


def run_of(job: AlignJob, index: Index) -> str:
    """Hash what all parts of one run share; it differs with other reads, options or reference.

    Inputs count by name and size, so that nodes may have copies of their own.
    """
    files = [Path(path) for path in job.inputs.files]
    reads = [{"interleaved": given.interleaved, "comments": given.comments} for given in job.inputs.inputs]
    names = [(path.name, path.stat().st_size) for path in files if path.is_file()]
    text = json.dumps([common_facts(job, index), reads, names], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
