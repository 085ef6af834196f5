"""Open what a call job names: alignments, ploidies, primers, alleles, and the memory for its windows."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from readwarp.call.candidates.sites.forced import Forced, read_alleles
from readwarp.call.likelihoods.pairhmm.given import SharedCard, log_likelihoods_by
from readwarp.call.places.circle import find_circular
from readwarp.call.places.ploidy import Ploidies, read_ploidies
from readwarp.call.places.targets import bases_of
from readwarp.call.reads.inputs import AlignmentFiles, match_files, names_of, open_readers, warn_of_copies
from readwarp.call.reads.mates.primers import read_primers
from readwarp.call.reads.platforms import Platform, find_platform
from readwarp.call.records.model import AlleleModel, GenotypeModel
from readwarp.call.records.variant_job import VariantJob
from readwarp.call.steps import CallSteps
from readwarp.call.windows.resources import WorkerPlan, plan_card, plan_workers
from readwarp.call.windows.run import Calling
from readwarp.compiler.prepare import ForCards
from readwarp.config import CallParameters, GenomeParameters, StructuralParameters
from readwarp.config.combinations import check_kind
from readwarp.errors import UsageError
from readwarp.formats.alignments.regions import AlignedReader, FileForm, ReadFilter
from readwarp.formats.common.regions import Target
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.stream.cards import open_cards
from readwarp.stream.choice import CALL, choose_backend
from readwarp.stream.room import PipeRoom
from readwarp.stream.workers import ItemResult
from readwarp.structural.evidence import StructuralEvidence
from readwarp.structural.steps import StructuralSteps, StructuralWindow
from readwarp.wording import counted

PANEL_WINDOW = 4096  # bases; the margin of a window is read too
logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallJob(VariantJob):
    """Calling job. Raises UsageError."""

    name = "call"
    alignments: tuple[Path, ...]  # sorted BAM or CRAM with an index (BAM without one for everything); - is a stream
    parameters: CallParameters = field(default_factory=CallParameters)
    samples: tuple[str, ...] = ()  # to call together; empty: all in the header
    gvcf: bool = False  # blocks of reference between the variants, for one sample
    alleles: Path | None = None  # VCF file whose alleles are always genotyped
    ploidies: Path | None = None  # BED file of intervals with their own ploidy, of all samples or one
    primers: Path | None = None  # BED file of the primers of an amplicon panel
    circular: tuple[str, ...] = ()  # contigs whose end is followed by their beginning
    bam_output: Path | None = None  # reads realigned to the called haplotypes
    haplotag: Path | None = None  # all records, tagged with the haplotypes of long reads
    structural: StructuralParameters = field(default_factory=StructuralParameters)
    sv: Path | None = None  # structural variants of long reads: .vcf, .vcf.gz or .bcf
    consensus: Path | None = None  # FASTA of a mixture's most frequent alleles
    population: Path | None = None  # indexed VCF file with the frequencies of alleles
    panel_of_normals: Path | None = None  # indexed VCF file of alleles that normal tissues show
    genome: GenomeParameters = field(default_factory=GenomeParameters)
    sv_only: bool = False  # `output` holds structural variants, and nothing else is called
    phred: int | None = None  # 33 or 64, of the base qualities; None: 33, unless they look like 64
    command: str = "readwarp call"

    def __post_init__(self) -> None:
        if not self.alignments:
            raise UsageError("no alignments are given")
        for option, path in (("--bam-output", self.bam_output), ("--haplotag", self.haplotag)):
            if path and path.suffix != ".bam":
                raise UsageError(f"{option} {path}: writes BAM only, so the name must end in .bam")
            if path and "-" in map(str, self.alignments):
                raise UsageError(f"{option} reads the alignments twice: give a file with an index, not stdin (-)")

    @property
    def limits(self) -> CallParameters:
        return self.parameters

    @property
    def outputs(self) -> tuple[Path | None, ...]:
        return (self.output, *(path for path in (self.bam_output, self.haplotag, self.sv, self.consensus) if path))


if TYPE_CHECKING:  # few runs need these
    from readwarp.call.records.haplotag import HaplotaggedBam
    from readwarp.somatic.given import GivenFractions


@dataclass(frozen=True, slots=True)
class CallState(Calling):
    """Open alignments to call small variants and, of long reads, structural ones."""

    structural: StructuralSteps

    def gather(self, part: StructuralWindow) -> ItemResult[StructuralEvidence]:
        """Gather a window's evidence of structural variants."""
        return self.structural.gather(part)


def model_of(job: CallJob, reference: Reference, samples: Sequence[str], platform: Platform) -> AlleleModel:
    if job.parameters.fractions:
        from readwarp.somatic.given import FractionModel

        return FractionModel(job.parameters, find_given(job, reference, samples))
    return GenotypeModel(job.parameters, len(samples), job.gvcf, platform.gaps)


@contextmanager
def open_alignments(job: CallJob, reference: Reference, metrics: Metrics) -> Iterator[tuple[AlignmentFiles, Ploidies]]:
    """Open the files with the samples to call, and their ploidies. Raises InputError."""
    form = FileForm(job.phred, scan=not job.places.is_partial)
    with open_readers(job.alignments, job.reference, job.resources.threads, form) as readers:
        keep = ReadFilter(job.parameters.min_mapping_quality)
        alignments = match_files(readers, reference, job.samples, keep, whole=not job.places.is_partial)
        warn_of_copies(readers, job.parameters.fractions is not None)
        metrics.append("alignment_files", alignments.facts())
        named = alignments.samples, names_of(readers)
        yield alignments, read_ploidies(job.ploidies, reference, job.parameters.ploidy, *named)


@contextmanager
def open_calling(
    job: CallJob, reference: Reference, metrics: Metrics, may_fork: bool, prepare: Callable[[ForCards], object]
) -> Iterator[CallState]:
    """Open the calling. may_fork: allow processes. prepare: compiles for cards.

    Raises InputError, UsageError, DeviceError, MemoryBudgetError.
    """
    resources, parameters = job.resources, job.parameters
    targets, circular = job.find_targets(reference), find_circular(job.circular, reference)
    with open_alignments(job, reference, metrics) as (alignments, ploidies):
        names = alignments.samples
        if job.gvcf and len(names) > 1:
            raise UsageError(f"--gvcf takes one sample; choose it with --sample: {', '.join(names)}")
        platform = find_platform(parameters.platform, readers_of(alignments))
        check_reads(job, "call", platform, length_of(alignments))
        share = bases_of(targets) / int(reference.contig_offsets[-1])
        backend = choose_backend(resources, job.alignments, CALL, share)
        steps = CallSteps(
            reference=reference,
            alignments=alignments,
            parameters=parameters,
            metrics=metrics,
            ploidies=ploidies,
            forced=read_forced(job.alleles, reference, metrics) if job.alleles else None,
            primers=read_primers(job.primers, reference),
            with_bands=job.gvcf,
            model=model_of(job, reference, names, platform),
            least_depth=job.genome.consensus_min_depth if job.consensus else 0,
            platform=platform,
        )
        plan = plan_workers(resources, alignments, targets, may_fork, reference.packed.nbytes)
        room, shared = PipeRoom(plan.processes or plan.threads), None
        cards = open_cards(backend, plan_card, resources.vram, lambda side, _: side, metrics)
        with closing(room), closing(cards):
            if cards.planned:
                prepare(backend.needed_by)
                pairhmm = backend.step("readwarp.call.likelihoods.pairhmm")
                cards.warm_up(pairhmm.warm_up)
                shared = SharedCard(pairhmm.sum_given, cards.borrow, backend.is_out_of_memory, cards.planned.capacity)
                steps = replace(steps, log_likelihoods=partial(log_likelihoods_by, shared.answer))
            yield CallState(
                steps=steps,
                shared=shared,
                plan=plan,
                room=room,
                targets=targets,
                window=window_of(plan, targets, parameters),
                with_sites=job.bam_output is not None,
                structural=StructuralSteps(reference, alignments, parameters, job.structural, ploidies, metrics),
                tagged=open_haplotag(job, steps),
                circular=circular,
            )
            if shared:
                metrics.note(pairhmm_questions=shared.questions, pairhmm_batches=shared.batches)
                metrics.count("comparisons_on_host", shared.left)
                metrics.append("gpu", [{"command": "call", **facts} for facts in cards.facts()])


def find_given(job: CallJob, reference: Reference, samples: Sequence[str]) -> "GivenFractions":
    """Open the files of population and panel. Raises InputError."""
    from readwarp.somatic.given import open_given

    return open_given(job.population, job.panel_of_normals, job.parameters, reference, tuple(samples))


def window_of(plan: WorkerPlan, targets: Sequence[Target], parameters: CallParameters) -> int:
    """Return the window size, smaller on deep panels so that each worker gets a part."""
    if parameters.fractions is None:
        return plan.window
    return min(plan.window, max(PANEL_WINDOW, -(-bases_of(targets) // (plan.processes or plan.threads))))


def open_haplotag(job: CallJob, steps: CallSteps) -> "HaplotaggedBam | None":
    """Open the haplotag output. Raises UsageError for inputs that cannot be tagged."""
    if job.haplotag is None:
        return None
    from readwarp.call.records.haplotag import HaplotaggedBam

    return HaplotaggedBam(job.haplotag, steps.alignments, job.reference, job.resources.threads, job.command)


def length_of(alignments: AlignmentFiles) -> int:
    """Return the median length of the first reads, the largest over several files."""
    return max(reader.first_length for reader in readers_of(alignments))


def readers_of(alignments: AlignmentFiles) -> list[AlignedReader]:
    return [source.reader for source in alignments.sources]


def check_reads(job: CallJob, command: str, platform: Platform, length: int) -> None:
    """Raise UsageError for options that need other reads. length: typical read length; 0: no reads."""
    fractions = job.parameters.fractions
    given = {
        "haplotag": job.haplotag,
        "sv": job.sv if 0 < length < job.structural.min_span else None,  # contigs of an assembly have no platform
        "mixture": fractions and not fractions.is_somatic,
        "somatic": fractions and fractions.is_somatic,
        "circular": job.circular,
    }
    check_kind(command, platform.is_long, given)


def check_files(job: CallJob, reference: Reference, samples: Sequence[str]) -> None:
    """Read the files that accompany the alignments, so that errors show before hours of aligning. Raises InputError.

    samples: those that the alignments will have.
    """
    job.find_targets(reference)
    find_circular(job.circular, reference)
    read_ploidies(job.ploidies, reference, job.parameters.ploidy, samples)
    read_primers(job.primers, reference)
    if job.alleles:
        read_alleles(job.alleles, reference)
    if job.parameters.fractions:
        find_given(job, reference, samples)


def read_forced(path: Path, reference: Reference, metrics: Metrics) -> Forced:
    """Read the alleles that are always genotyped; those that cannot be are counted and logged."""
    forced = read_alleles(path, reference)
    metrics.count("alleles_asked", len(forced))
    for reason, number in forced.skipped.items():
        metrics.count(f"alleles_skipped_{reason}", number)
        logger.warning("%s: %s left out (%s)", path, counted(number, "allele"), reason)
    return forced
