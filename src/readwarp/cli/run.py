"""run: reads to sorted, duplicate-marked alignments and variants, with a summary."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.cli.align import add_alignment
from readwarp.config import CALLED_PRESETS

EPILOG = """\
example:
  readwarp run ref.fa sample_1.fq.gz sample_2.fq.gz -o results

makes results/sample.bam and .bai, results/sample.vcf.gz and .tbi (sample.g.vcf.gz with --gvcf), results/metrics.json,
and results/report.html with the texts of samtools and bcftools that it is made from; `sample` is the SM of the read
group, by default taken from the file name. The index REF.rwx is built if it does not exist.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_inputs(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", required=True, help="folder of the results")
    parser.add_argument("-f", "--force", action="store_true", help="replace existing results")
    parser.add_argument("--no-pg", action="store_true", help="no @PG line in the header of the BAM file")
    text = "mark no duplicates, as for amplicons, whose fragments begin alike; --primers implies it"
    parser.add_argument("--no-mark-duplicates", action="store_true", help=text)
    parser.add_argument(
        "--no-report", action="store_true", help="no report.html, and none of the texts it is made from"
    )
    shared.add_resume(parser)
    add_alignment(parser, CALLED_PRESETS)
    shared.add_scoring(parser, short=False)
    shared.add_trimming(parser)
    shared.add_calling(parser)
    shared.add_fractions(parser)
    shared.add_structural(parser)
    shared.add_resources(parser)
    shared.add_reporting(parser)


def is_targeted(options: argparse.Namespace) -> bool:
    """Whether a part of the reference is called."""
    return bool(options.region or options.targets or options.exclude_regions)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.reporting import run_job
    from readwarp.cli.summary import show_summary
    from readwarp.run.api import RunOptions, make_job
    from readwarp.run.job import run_sample

    result = run_job(options, options.reads, RunOptions, make_job, run_sample)
    if not options.quiet:
        show_summary(result, is_targeted(options), options.ploidy == 1)
