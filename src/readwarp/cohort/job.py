"""Genotype the gVCFs of a cohort into one VCF, by windows of the reference in parallel, written in order."""

import logging
from collections.abc import Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from readwarp.call.places.targets import TargetStretch, bases_of
from readwarp.call.records.variant_job import FIELDS, VariantJob, count_calls
from readwarp.cohort.reading import WindowReader, plan_windows
from readwarp.cohort.records import COHORT_FIELDS
from readwarp.cohort.steps import Cohort
from readwarp.config import CallParameters, JointParameters
from readwarp.errors import InputError, UsageError
from readwarp.formats.common.files import allow_files, check_twice
from readwarp.formats.common.names import sample_problem
from readwarp.formats.common.regions import Contigs
from readwarp.formats.variants.genomic import GenomicFile
from readwarp.formats.variants.genomic_lines import Lines
from readwarp.formats.variants.vcf import lines_of
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.stream.processes import may_fork
from readwarp.stream.reporter import Reporter, Result
from readwarp.stream.workers import ItemResult, map_counted, open_workers
from readwarp.system.machine import free_memory
from readwarp.wording import counted

logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenotypeJob(VariantJob):
    """Genotyping job. Raises UsageError without a gVCF. Regions and targets need an index of each file."""

    name = "genotype"
    inputs: tuple[Path, ...]  # sorted gVCFs
    parameters: JointParameters = field(default_factory=JointParameters)
    calling: CallParameters = field(default_factory=CallParameters)  # only its priors and filters are used
    command: str = "readwarp genotype"

    def __post_init__(self) -> None:
        if not self.inputs:
            raise UsageError("no gVCF is given")
        if "-" in map(str, self.inputs):
            raise UsageError("gVCFs are read from files, not from stdin (-)")

    @property
    def limits(self) -> CallParameters:
        return self.calling


def run_genotype(job: GenotypeJob, reporter: Reporter) -> Result:
    """Genotype all samples at the sites where any of them has a variant. Raises ReadwarpError."""
    check_twice(job.inputs)
    inputs = [job.reference, *job.places.files, *job.inputs]
    result = job.run(inputs, lambda reference: genotype_cohort(job, reference, reporter), reporter)
    if cut := reporter.metrics.counts.get("sites_with_alleles_left_out", 0):
        logger.warning("%s with more alleles than --max-alleles: the rarest are left out", counted(cut, "site"))
    return result


def genotype_cohort(job: GenotypeJob, reference: Reference, reporter: Reporter) -> Result:
    """Genotype the cohort once the output is checked and locked."""
    metrics, resources = reporter.metrics, job.resources
    with metrics.time("genotype"), ExitStack() as stack:
        targets = job.find_targets(reference)
        wanted = {target.contig for target in targets} if job.places.is_partial else None
        memory, most = resources.memory or free_memory() // 2, resources.threads if may_fork() else 0
        plan = plan_windows(memory, reference, len(job.inputs), resources.threads, most)
        files = open_files(job.inputs, reference, wanted, stack, plan.chunk, resources.threads)
        samples = [name for file in files for name in file.samples]
        owner = np.repeat(np.arange(len(files)), [len(file.samples) for file in files])
        cohort = Cohort(reference, files, owner, job.calling, job.parameters, metrics, plan.work)
        with (
            open_workers(cohort, plan.processes, resources.threads, [job.name], metrics) as workers,
            reporter.progress("genotyping", "bases") as meter,
            job.open_output(reference, samples, FIELDS._replace(genotypes=COHORT_FIELDS)) as writer,
        ):
            items = WindowReader(cohort, plan, job.places.is_partial, resources.threads).windows(targets)
            whole = bases_of(targets)
            with closing(map_counted(workers, write_window, items, metrics, plan.in_flight)) as results:
                for text, bases in results:
                    writer.write(text)
                    meter.reach(meter.done + bases, whole)
    return Result.of(metrics, {"variants": job.output, "variants_index": writer.index})


def open_files(
    inputs: Sequence[Path],
    reference: Reference,
    wanted: Collection[int] | None,
    stack: ExitStack,
    chunk: int,
    beside: int,
) -> tuple[GenomicFile, ...]:
    """Open the files, which the stack closes. `wanted`, `chunk`: see GenomicFile. beside: number of other open files.

    If the system does not allow that many open files, each is opened when it is read. Raises InputError, also for a
    sample in two files.
    """
    is_held = may_open(len(inputs) + beside)
    contigs = Contigs(reference.names, np.diff(reference.contig_offsets).tolist())
    files: list[GenomicFile] = []
    owner: dict[str, Path] = {}
    for path in inputs:
        files.append(stack.enter_context(closing(GenomicFile(path, contigs, wanted, chunk, is_held))))
        for name in files[-1].samples:
            if problem := sample_problem(name):
                raise InputError(path, f"the name of its sample {name} {problem}")
            if name in owner:
                raise InputError(path, f"its sample {name!r} is in {owner[name]} too")
            owner[name] = path
    return tuple(files)


def may_open(number: int) -> bool:
    """Return whether that many files may be open at once; the limit is raised as far as needed."""
    try:
        allow_files(number, "")
    except InputError:
        logger.info("this system does not allow %s open files: each is opened when it is read", f"{number:,}")
        return False
    return True


def write_window(cohort: Cohort, item: tuple[TargetStretch, list[Lines]]) -> ItemResult[tuple[bytes, int]]:
    """Return the lines of a window, and the bases that are called in it."""
    (window, lines), metrics = item, Metrics()
    texts = []
    for calls in replace(cohort, metrics=metrics).call(window, lines):
        count_calls(calls, metrics)
        texts.append(lines_of(calls, cohort.reference.names))
    return ItemResult((b"".join(texts), bases_of(window.targets)), metrics)
