"""Run the calling job: sorted alignments to a VCF file, by windows of the reference in parallel, written in order."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from readwarp.call.circular.circle import find_circular
from readwarp.call.forced import Forced, read_alleles
from readwarp.call.fractions.given import GivenFractions, open_given
from readwarp.call.fractions.roles import check_roles, warn_of_inherited
from readwarp.call.genome.write import ConsensusGenome
from readwarp.call.inputs import AlignmentFiles, match_files, names_of, open_readers, warn_of_copies
from readwarp.call.mates.primers import read_primers
from readwarp.call.pairhmm.shared import SharedCard
from readwarp.call.platforms import Platform, find_platform, has_long_reads
from readwarp.call.ploidy import Ploidies, read_ploidies
from readwarp.call.qualities import explain_qualities
from readwarp.call.resources import WorkerPlan, open_memory, open_workers, plan_workers, share_cards
from readwarp.call.steps import CallSteps
from readwarp.call.structural.job import STRUCTURAL_FIELDS, write_structural, write_structural_file
from readwarp.call.structural.steps import StructuralSteps
from readwarp.call.targets import bases_of
from readwarp.call.variant_job import FIELDS, FRACTION_FIELDS, GENOMIC_FIELDS, VariantJob
from readwarp.call.warm import warm_up
from readwarp.call.windows import Calling, write_fractions, write_windows
from readwarp.config import CallParameters, GenomeParameters, StructuralParameters
from readwarp.config.combinations import check_kind
from readwarp.device.backend import Backend
from readwarp.errors import UsageError
from readwarp.formats.alignments.regions import AlignedReader, FileForm, ReadFilter
from readwarp.formats.common.files import check_apart, check_output, check_twice, clear_remains
from readwarp.formats.common.regions import Target
from readwarp.formats.variants.vcf import VariantWriter, kind_of
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.stream.choice import CALL, choose_backend
from readwarp.stream.processes import Reply, may_fork
from readwarp.stream.reporter import Reporter, Result
from readwarp.stream.room import PipeRoom
from readwarp.wording import counted

WARNINGS = {  # counter -> noun and the rest of a warning
    "windows_halved": ("window", "too deep for the GPU's memory: split"),
    "windows_on_host": ("window", "too deep for the GPU's memory: called on the CPU"),
    "comparisons_on_host": ("comparison", "of reads with haplotypes too large for the GPU's memory: made on the CPU"),
    "reads_beyond_max_depth": ("read", "left out where the depth exceeds --max-depth"),
    "regions_thinned": ("region", "with too many reads of a sample to compare with haplotypes: some were left out"),
    "regions_short_of_haplotypes": ("region", "with too many haplotypes in a sample: some were left out"),
    "regions_cut": ("region", "too long and split: variants are not phased across the cuts"),
    "alleles_left_out": ("allele", "left out at sites with too many"),
    "reads_without_qualities": ("read", "without base qualities: Q20 is assumed"),
}
LEAST_PRIMED = 0.25  # share of reads at a primer: nearly all are; by chance, 0.1 where amplicons tile a genome
FRACTION_KERNELS = "call.fractions"  # in the manifest
PANEL_WINDOW = 4096  # bases; the margin of a window is read too
if TYPE_CHECKING:
    from readwarp.call.phase.haplotag import HaplotaggedBam

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
                raise UsageError(f"{option} {path}: only BAM is written, so the name must end in .bam")
            if path and "-" in map(str, self.alignments):
                raise UsageError(f"{option} reads the alignments again: give a file with an index, not stdin (-)")

    @property
    def limits(self) -> CallParameters:
        return self.parameters

    @property
    def outputs(self) -> tuple[Path | None, ...]:
        return (self.output, *(path for path in (self.bam_output, self.haplotag, self.sv, self.consensus) if path))


def run_call(job: CallJob, reporter: Reporter) -> Result:
    """Run the job. Raises ReadwarpError."""
    extra = [job.alleles, job.ploidies, job.primers, job.population, job.panel_of_normals]
    check_twice(job.alignments)
    inputs = [job.reference, *job.alignments, *job.places.files, *(path for path in extra if path)]
    clear_remains(*job.outputs)  # before one of them is refused
    for path in (job.bam_output, job.haplotag):
        check_output(path, job.force, job.alignments)
    for path in (job.sv, job.consensus):
        check_output(path, job.force, inputs)
    check_beside(job)
    if not job.gvcf and str(job.output).endswith((".g.vcf.gz", ".g.vcf", ".g.bcf")):
        logger.warning("%s: is a plain VCF, not a gVCF as its name says, since there is no --gvcf", job.output)
    result = job.run(inputs, lambda reference: call_variants(job, reference, reporter), reporter)
    if lost := reporter.metrics.counts.get("reads_without_sample", 0):
        logger.warning("%s without a read group of a sample in the header: left out", counted(lost, "read"))
    return result


def check_beside(job: CallJob) -> None:
    """Check that the outputs go together. Raises UsageError."""
    check_apart(job.outputs)
    if job.sv is None:
        return
    if str(job.sv) == "-" and (job.output is None or str(job.output) == "-"):
        raise UsageError("--sv and --output are both stdout: name a file for one of them (or is it --sv-only?)")
    kind_of(str(job.sv))


def call_variants(job: CallJob, reference: Reference, reporter: Reporter) -> Result:
    """Call variants once the output is checked and locked."""
    if job.sv_only:
        return call_structural_only(job, reference, reporter)
    if job.parameters.fractions:
        return call_fractions(job, reference, reporter)
    metrics, structural = reporter.metrics, None
    with metrics.time("call"), open_calling(job, reference, metrics, may_fork()) as calling:
        steps, kernels, plan = calling.steps, "call", calling.plan
        state, shared = share_calling(calling)
        if steps.platform.is_long:
            kernels = "call.long"
            reporter.prepare(kernels, job.resources.threads)
        with (
            open_workers(state, plan, steps.alignments, kernels, metrics, reply_of(shared)) as workers,
            reporter.progress("calling", "bases") as meter,
            job.open_output(reference, calling.samples, GENOMIC_FIELDS if job.gvcf else FIELDS) as writer,
        ):
            shown = None
            if job.bam_output:
                from readwarp.call.bam_output import RealignedBam

                shown = RealignedBam(job.bam_output, reference, steps.alignments, job.command)
            write_windows(calling, workers, writer, meter, shown)
            if shown:
                with metrics.time("bam_output"):
                    writer.beside.append(shown.write())
            if calling.tagged:
                with metrics.time("haplotag"):
                    writer.beside.append(calling.tagged.write())
            if job.sv:
                given = workers, Calling.gather
                structural = write_structural_file(job, job.sv, calling.structural, calling.targets, given, reporter)
                writer.beside.append(structural.file)
        note_cards(calling, shared, metrics)
    warn_of_limits(job, metrics)
    files = {"variants": job.output, "variants_index": writer.index, "realigned": job.bam_output}
    files["haplotagged"] = job.haplotag
    if structural:
        files |= {"structural": job.sv, "structural_index": structural.index_path}
    return Result.of(metrics, files)


def share_calling(calling: Calling) -> tuple[Calling, SharedCard | None]:
    """Return the workers' calling, and the card that serves them if they are processes, which have none."""
    if calling.plan.processes and calling.cards.planned:
        return calling.in_process(), share_cards(calling.cards)
    return calling, None


def reply_of(shared: SharedCard | None) -> Reply | None:
    return shared.answer if shared else None


def note_cards(calling: Calling, shared: SharedCard | None, metrics: Metrics) -> None:
    if shared:
        metrics.note(pairhmm_questions=shared.questions, pairhmm_batches=shared.batches)
        metrics.count("comparisons_on_host", shared.left)
    metrics.append("gpu", [{"command": "call", **facts} for facts in calling.cards.facts()])


def warn_of_limits(job: CallJob, metrics: Metrics) -> None:
    for name, (noun, text) in WARNINGS.items():
        if number := metrics.counts.get(name):
            logger.warning("%s %s", counted(number, noun), text)
    at, beside = (metrics.counts.get(f"reads_{where}_primers", 0) for where in ("at", "beside"))
    if at < LEAST_PRIMED * (at + beside):
        text = "%s: only %.0f %% of reads begin at a primer: is it the scheme of this library?"
        logger.warning(text, job.primers, 100 * at / (at + beside))
    if promise := explain_qualities(metrics.counts):
        logger.warning("%s", promise)


def call_fractions(job: CallJob, reference: Reference, reporter: Reporter) -> Result:
    """Call variants for --mixture and --somatic."""
    metrics = reporter.metrics
    with metrics.time("call"), open_calling(job, reference, metrics, may_fork()) as calling:
        check_fractions(job, calling)
        reporter.prepare(FRACTION_KERNELS, job.resources.threads)
        (state, shared), alignments = share_calling(calling), calling.steps.alignments
        with (
            open_workers(state, calling.plan, alignments, FRACTION_KERNELS, metrics, reply_of(shared)) as workers,
            reporter.progress("calling", "bases") as meter,
        ):
            genome, open_output = open_genome(job, calling), partial(open_fractions, job, reference, calling.samples)
            index = write_fractions(calling, workers, open_output, meter, genome)
        note_cards(calling, shared, metrics)
    warn_of_limits(job, metrics)
    warn_of_inherited(calling.steps.given, job.parameters, metrics.counts.get("variants_pass", 0))
    return Result.of(metrics, {"variants": job.output, "variants_index": index, "consensus": job.consensus})


def open_fractions(
    job: CallJob, reference: Reference, samples: Sequence[str], extra: Sequence[str]
) -> AbstractContextManager[VariantWriter]:
    return job.open_output(reference, samples, FRACTION_FIELDS._replace(extra=extra))


def open_genome(job: CallJob, calling: Calling) -> ConsensusGenome | None:
    if job.consensus is None:
        return None
    return ConsensusGenome(job.consensus, calling.steps.reference, calling.targets, job.genome.consensus_share)


def check_fractions(job: CallJob, calling: Calling) -> None:
    """Raise UsageError for samples that do not fit the mode."""
    assert job.parameters.fractions is not None
    if job.consensus and len(calling.samples) > 1:
        raise UsageError(f"--consensus takes one sample; choose it with --sample: {', '.join(calling.samples)}")
    check_roles(job.parameters.fractions, calling.samples, bool(job.samples))
    warn_of_inherited(calling.steps.given, job.parameters)


def call_structural_only(job: CallJob, reference: Reference, reporter: Reporter) -> Result:
    """Call structural variants alone, for --sv-only."""
    metrics = reporter.metrics
    targets = job.find_targets(reference)
    with metrics.time("call"), open_alignments(job, reference, metrics) as (alignments, ploidies):
        readers, is_short = readers_of(alignments), 0 < length_of(alignments) < job.structural.min_span
        check_kind("call", has_long_reads(job.parameters.platform, readers), {"sv_only": is_short})
        steps = structural_steps(job, reference, alignments, ploidies, metrics)
        reporter.prepare("call.long", job.resources.threads)
        plan = plan_workers(job.resources, alignments, Backend("cpu"), targets, may_fork(), reference.packed.nbytes)
        with (
            open_workers(steps, plan, alignments, "call.long", metrics) as workers,
            job.open_output(reference, alignments.samples, STRUCTURAL_FIELDS) as writer,
        ):
            write_structural(steps, targets, writer, (workers, StructuralSteps.gather), reporter)
    for name in ("variants", "variants_pass"):
        metrics.count(name, metrics.counts[f"structural_{name}"])
    return Result.of(metrics, {"variants": job.output, "variants_index": writer.index})


def structural_steps(
    job: CallJob, reference: Reference, alignments: AlignmentFiles, ploidies: Ploidies, metrics: Metrics
) -> StructuralSteps:
    return StructuralSteps(reference, alignments, job.parameters, job.structural, ploidies, metrics)


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
def open_calling(job: CallJob, reference: Reference, metrics: Metrics, may_fork: bool) -> Iterator[Calling]:
    """Open the calling. may_fork: allow processes. Raises InputError, UsageError, DeviceError, MemoryBudgetError."""
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
            backend=backend,
            metrics=metrics,
            ploidies=ploidies,
            forced=read_forced(job.alleles, reference, metrics) if job.alleles else None,
            primers=read_primers(job.primers, reference),
            with_bands=job.gvcf,
            given=find_given(job, reference, names) if parameters.fractions else None,
            least_depth=job.genome.consensus_min_depth if job.consensus else 0,
            platform=platform,
        )
        plan = plan_workers(resources, alignments, backend, targets, may_fork, reference.packed.nbytes)
        room = PipeRoom(plan.processes or plan.threads)
        with closing(room), closing(open_memory(resources, backend, plan, metrics)) as cards:
            if cards.planned:
                cards.warm_up(lambda placed: warm_up(placed, parameters))
            yield Calling(
                steps=steps,
                cards=cards,
                plan=plan,
                room=room,
                targets=targets,
                window=window_of(plan, targets, parameters),
                with_sites=job.bam_output is not None,
                structural=structural_steps(job, reference, alignments, ploidies, metrics),
                tagged=open_haplotag(job, steps),
                circular=circular,
            )


def find_given(job: CallJob, reference: Reference, samples: Sequence[str]) -> GivenFractions:
    """Open the files of population and panel. Raises InputError."""
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
    from readwarp.call.phase.haplotag import HaplotaggedBam

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
    find_given(job, reference, samples)


def read_forced(path: Path, reference: Reference, metrics: Metrics) -> Forced:
    """Read the alleles that are always genotyped; those that cannot be are counted and logged."""
    forced = read_alleles(path, reference)
    metrics.count("alleles_asked", len(forced))
    for reason, number in forced.skipped.items():
        metrics.count(f"alleles_skipped_{reason}", number)
        logger.warning("%s: %s left out (%s)", path, counted(number, "allele"), reason)
    return forced
