"""Run the job of `readwarp panel`: combine calls of normals into a panel."""

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from readwarp.errors import UsageError
from readwarp.formats.common.files import allow_files, check_inputs, check_output, check_twice, locked
from readwarp.formats.common.silence import quiet_htslib
from readwarp.formats.variants.vcf import Header, VariantWriter, kind_of
from readwarp.somatic.panel.collect import INFORMATION, NormalFile, collect, format_allele, open_normals
from readwarp.stream.reporter import Reporter, Result
from readwarp.wording import counted

TOLD = 1000  # alleles between two reports of progress
logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelJob:
    """Panel job. Raises UsageError."""

    inputs: tuple[Path, ...]  # sorted VCF, VCF.gz or BCF files of normals
    output: Path | None = None  # .vcf, .vcf.gz or .bcf; None: VCF to stdout
    min_samples: int  # normals that show an allele
    threads: int = 1
    command: str = "readwarp panel"
    force: bool = False  # replace an existing output

    def __post_init__(self) -> None:
        if not self.inputs:
            raise UsageError("no calls of normals are given")
        if "-" in map(str, self.inputs):
            raise UsageError("calls are read from files, not from stdin (-)")


def run_panel(job: PanelJob, reporter: Reporter) -> Result:
    """Run the job. Raises ReadwarpError."""
    check_twice(job.inputs)
    check_output(job.output, job.force, job.inputs)
    check_inputs(job.inputs)
    kind_of(None if job.output is None else str(job.output))
    allow_files(len(job.inputs), "make panels of fewer files")
    metrics = reporter.metrics
    with locked(job.output), metrics.time("panel"), ExitStack() as stack:
        reporter.prepare("panel", job.threads)
        stack.enter_context(quiet_htslib())
        files = open_normals(job.inputs, stack)
        samples = sum(len(file.samples) for file in files)
        if samples < job.min_samples:
            raise UsageError(f"--min-samples {job.min_samples}: only {counted(samples, 'normal')} given")
        index = write_panel(job, files, samples, reporter)
    metrics.count("samples", samples)
    if plain := [file.path for file in files if "AF" not in file.records.header.formats]:
        text = "%s without allele fractions (FORMAT AF), first %s: calls without --somatic show few artefacts"
        logger.warning(text, counted(len(plain), "file"), plain[0])
    shown = counted(metrics.counts["variants"], "allele"), counted(samples, "normal"), job.min_samples
    logger.info("%s of %s: in at least %d", *shown)
    return Result.of(metrics, {"variants": job.output, "variants_index": index})


def write_panel(job: PanelJob, files: list[NormalFile], samples: int, reporter: Reporter) -> Path | None:
    """Write the panel; return its index, if there is one."""
    first, output = files[0], None if job.output is None else str(job.output)
    names, metrics = list(first.contigs), reporter.metrics
    metrics.count("variants", 0)
    longest = max(first.contigs.values(), default=1)
    with (
        VariantWriter(output, header_of(job, first), longest, job.threads) as writer,
        reporter.progress("collecting", "alleles") as meter,
    ):
        for allele in collect(files, job.min_samples):
            writer.write(format_allele(allele, names, samples))
            metrics.count("variants", 1)
            if metrics.counts["variants"] % TOLD == 0:
                meter.advance(TOLD)
    return writer.index


def header_of(job: PanelJob, first: NormalFile) -> str:
    """Make the header; contigs and reference are the first file's."""
    contigs = [(name, length, first.sums.get(name, "")) for name, length in first.contigs.items()]
    inputs = [f"##normals={path}" for path in job.inputs]
    return Header(contigs, (), job.command, first.reference, INFORMATION, (), (), inputs).text()
