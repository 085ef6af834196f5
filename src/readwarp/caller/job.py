"""Run the calling job: sorted alignments to a VCF file, by windows of the reference in parallel, written in order."""

import logging
from functools import partial
from pathlib import Path

from readwarp.call.reads.platforms import has_long_reads
from readwarp.call.records.counts import warn_of_limits
from readwarp.call.records.variant_job import FIELDS, GENOMIC_FIELDS
from readwarp.call.windows.resources import open_workers, plan_workers
from readwarp.call.windows.run import write_windows
from readwarp.caller import opening
from readwarp.caller.opening import CallJob, CallState
from readwarp.config.combinations import check_kind
from readwarp.errors import UsageError
from readwarp.formats.common.files import check_apart, check_output, check_twice, clear_remains
from readwarp.formats.variants.vcf import kind_of
from readwarp.index.reference import Reference
from readwarp.stream.processes import may_fork
from readwarp.stream.reporter import Reporter, Result
from readwarp.structural.job import STRUCTURAL_FIELDS, write_structural, write_structural_file
from readwarp.structural.steps import StructuralSteps
from readwarp.wording import counted

logger = logging.getLogger("readwarp")


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
        logger.warning("%s: is a plain VCF, not a gVCF as its name says, because --gvcf is missing", job.output)
    result = job.run(inputs, lambda reference: call_variants(job, reference, reporter), reporter)
    if lost := reporter.metrics.counts.get("reads_without_sample", 0):
        logger.warning("%s left out: no read group in the header names their sample", counted(lost, "read"))
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
        from readwarp.caller.fractions import call_fractions

        return call_fractions(job, reference, reporter)
    metrics, beside = reporter.metrics, dict[str, Path | None]()
    prepare = partial(reporter.prepare, "call", job.resources.threads)
    with metrics.time("call"), opening.open_calling(job, reference, metrics, may_fork(), prepare) as calling:
        steps, kernels = calling.steps, "call"
        if steps.platform.is_long:
            kernels = "call.long"
            reporter.prepare(kernels, job.resources.threads)
        with (
            calling.open_workers(kernels) as workers,
            reporter.progress("calling", "bases") as meter,
            job.open_output(reference, calling.samples, GENOMIC_FIELDS if job.gvcf else FIELDS) as writer,
        ):
            shown = None
            if job.bam_output:
                from readwarp.call.records.bam_output import RealignedBam

                shown = RealignedBam(job.bam_output, reference, steps.alignments, job.command)
            write_windows(calling, workers, writer, meter, shown)
            if shown:
                with metrics.time("bam_output"):
                    writer.beside.append(shown.write())
            if calling.tagged:
                with metrics.time("haplotag"):
                    writer.beside.append(calling.tagged.write())
            if job.sv:
                given = workers, CallState.gather
                file, index = write_structural_file(job, job.sv, calling.structural, calling.targets, given, reporter)
                writer.beside.append(file)
                beside = {"structural": job.sv, "structural_index": index}
    warn_of_limits(job.primers, metrics)
    files = {"variants": job.output, "variants_index": writer.index, "realigned": job.bam_output}
    return Result.of(metrics, {**files, "haplotagged": job.haplotag, **beside})


def call_structural_only(job: CallJob, reference: Reference, reporter: Reporter) -> Result:
    """Call structural variants alone, for --sv-only."""
    metrics = reporter.metrics
    targets = job.find_targets(reference)
    with metrics.time("call"), opening.open_alignments(job, reference, metrics) as (alignments, ploidies):
        readers, is_short = opening.readers_of(alignments), 0 < opening.length_of(alignments) < job.structural.min_span
        check_kind("call", has_long_reads(job.parameters.platform, readers), {"sv_only": is_short})
        steps = StructuralSteps(reference, alignments, job.parameters, job.structural, ploidies, metrics)
        reporter.prepare("call.long", job.resources.threads)
        plan = plan_workers(job.resources, alignments, targets, may_fork(), reference.packed.nbytes)
        with (
            open_workers(steps, plan, alignments, "call.long", metrics) as workers,
            job.open_output(reference, alignments.samples, STRUCTURAL_FIELDS) as writer,
        ):
            write_structural(steps, targets, writer, (workers, StructuralSteps.gather), reporter)
    for name in ("variants", "variants_pass"):
        metrics.count(name, metrics.counts[f"structural_{name}"])
    return Result.of(metrics, {"variants": job.output, "variants_index": writer.index})
