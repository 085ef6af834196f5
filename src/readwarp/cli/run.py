"""run: reads to sorted, duplicate-marked alignments and variants, with a summary."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.cli.align import add_alignment
from readwarp.config import CALLED_PRESETS

EPILOG = """\
example:
  readwarp run ref.fa sample_1.fq.gz sample_2.fq.gz -o results
makes sample.bam, sample.vcf.gz, metrics.json and report.html in results.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_inputs(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", required=True, help="folder for the results")
    parser.add_argument("-f", "--force", action="store_true", help="overwrite existing results")
    parser.add_argument("--no-pg", action="store_true", help="write no @PG line")
    text = "do not mark duplicates, as for amplicons; implied by --primers"
    parser.add_argument("--no-mark-duplicates", action="store_true", help=text)
    parser.add_argument("--no-report", action="store_true", help="write no report.html, nor the texts it is made from")
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
    """Return whether only a part of the reference is called."""
    return bool(options.region or options.targets or options.exclude_regions)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.reporting import run_job
    from readwarp.cli.summary import SummaryScope, show_summary
    from readwarp.run.api import RunOptions, make_job
    from readwarp.run.job import run_sample

    result = run_job(options, options.reads, RunOptions, make_job, run_sample)
    if result and not options.quiet:
        asked = SummaryScope(is_targeted(options), options.ploidy == 1, options.mixture or options.somatic)
        show_summary(result, asked)
