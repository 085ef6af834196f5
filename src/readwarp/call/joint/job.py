"""The genotyping job: the gVCFs of a cohort to one VCF. Windows of the reference through threads, written in order."""

import logging
import resource
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from readwarp.call.inputs import contig_length
from readwarp.call.joint.records import COHORT_FIELDS
from readwarp.call.joint.steps import Cohort, span
from readwarp.call.output import count_calls, describe, open_variants
from readwarp.call.targets import Region, Target, find_targets, split_targets, targets_in
from readwarp.config import CallParameters, JointParameters, Resources
from readwarp.device.machine import free_memory
from readwarp.errors import InputError, UsageError
from readwarp.formats.common.files import check_inputs, check_output, locked
from readwarp.formats.variants.genomic import GenomicFile
from readwarp.formats.variants.genomic_kernels import Lines
from readwarp.formats.variants.vcf import VariantWriter, kind_of, lines_of
from readwarp.index.build import read_reference
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.stream.reporter import Meter, Reporter, Result
from readwarp.stream.runner import ordered

WINDOW = 1 << 17  # most reference bases at a time
SMALLEST = 1 << 10
BYTES_PER_BASE = 16  # of memory, for each sample and base of a window
SPARE_FILES = 32  # open files besides the inputs
logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenotypeJob:
    """Raises UsageError where no gVCF is given."""

    reference: Path
    inputs: tuple[Path, ...]  # sorted gVCFs
    output: Path | None = None  # .vcf, .vcf.gz or .bcf; None: VCF to stdout
    parameters: JointParameters = field(default_factory=JointParameters)
    calling: CallParameters = field(default_factory=CallParameters)  # of which priors and filters are used
    resources: Resources = field(default_factory=Resources)
    regions: tuple[Region, ...] | None = None  # to genotype, which needs an index; neither they nor targets: everything
    targets: Path | None = None  # BED file of more of them
    command: str = "readwarp genotype"  # for the header
    force: bool = False  # replace an output that exists

    def __post_init__(self) -> None:
        if not self.inputs:
            raise UsageError("no gVCF is given")
        if "-" in map(str, self.inputs):
            raise UsageError("gVCFs are read from files, not from stdin (-)")


def run_genotype(job: GenotypeJob, reporter: Reporter) -> Result:
    """Run the job: sites where any sample has a variant, and all samples there. Raises ReadwarpError."""
    metrics, others = reporter.metrics, [job.reference, *([job.targets] if job.targets else [])]
    check_output(job.output, job.force, [*job.inputs, *others])
    check_inputs([*others, *job.inputs])
    kind_of(None if job.output is None else str(job.output))
    with locked(job.output):
        with metrics.time("read_reference"):
            reference = read_reference(job.reference)
        with metrics.time("genotype"), reporter.progress("genotyping", "bases") as meter:
            result = genotype_cohort(job, reference, metrics, meter)
    summarize(metrics)
    return result


def genotype_cohort(job: GenotypeJob, reference: Reference, metrics: Metrics, meter: Meter) -> Result:
    """`run_genotype` once the output is checked and locked."""
    found = find_targets(job.regions, job.targets, reference)
    if found == [] and job.targets:
        logger.warning("%s holds no interval: nothing is called", job.targets)
    files = open_files(job.inputs, reference, found is not None)
    try:
        samples = [name for file in files for name in file.samples]
        owner = np.repeat(np.arange(len(files)), [len(file.samples) for file in files])
        cohort = Cohort(reference, files, owner, job.calling, job.parameters, metrics)
        header = describe(reference, samples, job.command, str(job.reference), genotype_fields=COHORT_FIELDS)
        with open_variants(job.output, header, reference, job.resources.threads) as writer:
            write_windows(cohort, found, job.resources, writer, meter)
    finally:
        for file in files:
            file.close()
    return Result.of(metrics, {"variants": job.output, "variants_index": writer.index})


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


def write_windows(
    cohort: Cohort, found: Sequence[Target] | None, resources: Resources, writer: VariantWriter, meter: Meter
) -> None:
    """found: parts to genotype; None: everything."""
    targets = targets_in(cohort.reference, found)
    total, done = sum(target.stop - target.start for target in targets), 0
    contigs = cohort.reference.names

    def work(item: tuple[Target, list[Lines]]) -> tuple[bytes, int]:
        window, lines = item
        calls = cohort.call(window, lines)
        count_calls(calls, cohort.metrics)
        return lines_of(calls, contigs), window.stop - window.start

    in_flight = resources.threads + 2
    size = window_size(cohort.owner.size, resources.memory or free_memory() // 2, in_flight)
    items = read_windows(cohort, targets, found is not None, size, resources.threads)
    with closing(ordered(items, work, resources.threads, in_flight)) as results:
        for text, bases in results:
            writer.write(text)
            done += bases
            meter.reach(done, total)


def window_size(samples: int, memory: int, in_flight: int) -> int:
    """Reference bases of a window, so that so many fit; two more are read ahead."""
    return max(SMALLEST, min(WINDOW, memory // (BYTES_PER_BASE * samples * (in_flight + 2))))


def read_windows(
    cohort: Cohort, targets: Sequence[Target], is_part: bool, size: int, threads: int
) -> Iterator[tuple[Target, list[Lines]]]:
    """Each window with the lines of each file that have a say in it; files are read by several threads."""
    with ThreadPoolExecutor(threads, "readwarp reader") as pool:
        for target in targets:
            if is_part:
                low = max(0, span(target)[0])
                list(pool.map(lambda file, t=target, p=low: file.go_to(t.contig, p), cohort.files))
            for window in split_targets([target], size):
                low, high = span(window)
                with cohort.metrics.time("read"):
                    lines = list(pool.map(lambda f, c=window.contig, a=low, b=high: f.lines(c, a, b), cohort.files))
                yield window, lines


def summarize(metrics: Metrics) -> None:
    """One line on what came out."""
    found, passed = (metrics.counts.get(name, 0) for name in ("variants", "variants_pass"))
    logger.info("%s variants, %s pass all filters", f"{found:,}", f"{passed:,}")
    if cut := metrics.counts.get("sites_with_alleles_left_out", 0):
        logger.warning("at %s sites alleles are left out (--max-alleles)", f"{cut:,}")
