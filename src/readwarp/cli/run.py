"""run: reads to sorted, duplicate-marked alignments and variants, with a summary."""

import argparse
import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from readwarp.cli import options as shared
from readwarp.cli.align import add_alignment, job_of
from readwarp.errors import UsageError

if TYPE_CHECKING:
    from readwarp.call.targets import Target
    from readwarp.cli.align_job import AlignJob
    from readwarp.cli.reporting import Reporter
    from readwarp.index.reference import Reference
    from readwarp.report.inputs import Sample
    from readwarp.report.statistics import Statistics

EPILOG = """\
example:
  readwarp run ref.fa sample_1.fq.gz sample_2.fq.gz -o results

makes results/sample.bam and .bai, results/sample.vcf.gz and .tbi (sample.g.vcf.gz with --gvcf), results/metrics.json,
and results/report.html with the texts of samtools and bcftools that it is made from; `sample` is the SM of the read
group, by default from the file's name. The index REF.rwx is built when it is absent.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_inputs(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", required=True, help="folder of the results")
    parser.add_argument("-f", "--force", action="store_true", help="replace results that exist")
    parser.add_argument("--no-pg", action="store_true", help="no @PG line in the header of the BAM file")
    parser.add_argument("--no-report", action="store_true", help="no report.html and none of the texts it is made from")
    shared.add_resume(parser)
    add_alignment(parser)
    shared.add_scoring(parser, short=False)
    shared.add_calling(parser)
    shared.add_resources(parser)
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> int:
    from readwarp import report
    from readwarp.cli.align_job import align, open_index
    from readwarp.cli.aligned import is_aligned, note_of, set_aligned
    from readwarp.cli.reporting import Reporter
    from readwarp.cli.summary import show
    from readwarp.formats.common.lock import locked
    from readwarp.report.inputs import Sample
    from readwarp.report.statistics import texts_of

    options.sort, options.mark_duplicates, options.write_index = "coordinate", True, True
    shared.calling(options)  # before hours of aligning
    folder: Path = options.output
    job = job_of(options)
    stem = folder / sample_of(job)
    vcf = Path(f"{stem}.g.vcf.gz" if options.gvcf else f"{stem}.vcf.gz")
    bam, metrics, page = Path(f"{stem}.bam"), folder / "metrics.json", folder / "report.html"
    made = make_folder(folder)
    try:
        goes_on = options.resume and (note_of(bam).exists() or not metrics.exists())  # else the results are complete
        for output in (bam, vcf, metrics, page):
            shared.check_output(output, options.force or goes_on, [options.reference, *options.reads])
        shared.check_resume(options.resume, [bam], options.reads)
        with locked(bam), Reporter(options) as reporter:
            is_reported = wants_report(options)
            index = open_index(job, reporter)
            targets = shared.targets(options, index.reference)
            check_calling_files(options, index.reference)
            job = replace(job, output=str(bam), stages=("formats", "calling"))
            if not is_aligned(bam, job, index, reporter.metrics):
                align(job, reporter, index)
                if options.resume:
                    set_aligned(bam, job, index, reporter.metrics)
            made_before = (vcf, Path(f"{vcf}.tbi"), metrics, page, *texts_of(bam, vcf))  # --force was given
            for stale in made_before:
                stale.unlink(missing_ok=True)
            call(options, index.reference, targets, bam, vcf, reporter)
            sample = Sample(bam.stem, bam, vcf, metrics, options.reference, options.targets)
            texts = statistics_of(sample, options, reporter) if is_reported else []
            reporter.write_metrics(metrics)
            if is_reported:
                report.write([sample], texts, page, sample.name)
            note_of(bam).unlink(missing_ok=True)
        show(reporter.metrics, (bam, vcf, metrics, *((page,) if is_reported else ())), quiet=options.quiet)
    except BaseException:
        if made and not any(folder.iterdir()):
            folder.rmdir()
        raise
    return 0


def call(
    options: argparse.Namespace,
    reference: "Reference",
    targets: "list[Target] | None",
    bam: Path,
    vcf: Path,
    reporter: "Reporter",
) -> None:
    from readwarp.call.pipeline import call_variants
    from readwarp.cli.device import settled_for

    metrics = reporter.metrics
    resources = settled_for(shared.resources(options), bam, reference, targets)
    with metrics.time("call"), reporter.progress("calling", "bases") as progress:
        call_variants(
            reference,
            bam,
            vcf,
            shared.calling(options),
            resources,
            metrics,
            regions=targets,
            **shared.extras(options),
            reference_path=options.reference,
            command=options.command_line,
            progress=progress.reach,
        )
    metrics.lap("call")
    bases = sum(t.stop - t.start for t in targets) if targets else int(reference.contig_offsets[-1])
    files = {name: str(path.resolve()) for name in ("reference", "targets") if (path := getattr(options, name))}
    metrics.note(mean_depth=round(metrics.counts.get("bases_counted", 0) / max(1, bases), 2), **files)


def wants_report(options: argparse.Namespace) -> bool:
    """Whether there will be a page; where its libraries are missing that is said at once."""
    from readwarp import report

    if options.no_report:
        return False
    if lacking := report.missing():
        said = f"there will be no report.html: it needs {' and '.join(lacking)} ({report.REMEDY}, or say --no-report)"
        logging.getLogger("readwarp").warning("%s", said)
    return not lacking


def statistics_of(sample: "Sample", options: argparse.Namespace, reporter: "Reporter") -> "list[Statistics]":
    """The texts that the page is made from; their time is a phase of the run."""
    from readwarp.report import statistics

    with reporter.progress("statistics", "tools") as progress:
        texts = statistics.make([sample], None, shared.resources(options).threads, progress.reach)
    reporter.metrics.lap("statistics")
    return texts


def check_calling_files(options: argparse.Namespace, reference: "Reference") -> None:
    """Read the files that calling needs, so that a bad one is known before hours of aligning."""
    from readwarp.call.forced import read_alleles
    from readwarp.call.pipeline import ploidies_of

    ploidies_of(options.ploidy_bed, reference, options.ploidy)
    if options.alleles:
        read_alleles(options.alleles, reference)


def sample_of(job: "AlignJob") -> str:
    """The one sample that all read groups belong to."""
    from readwarp.formats.alignments.header import field

    samples = sorted({field(line, "SM") or field(line, "ID") or "sample" for line in job.inputs.read_groups})
    if len(samples) > 1:
        raise UsageError(f"run takes the reads of one sample; these are of {', '.join(samples)} (name it with -R)")
    return samples[0].replace("/", "_")


def make_folder(folder: Path) -> bool:
    """Make the folder of the results; whether it was not there before."""
    try:
        there = folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        return not there
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({(error.strerror or 'unknown').lower()})") from None
