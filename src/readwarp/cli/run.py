"""run: reads to sorted, duplicate-marked alignments and variants, with a summary."""

import argparse

from readwarp.cli import options as shared
from readwarp.config.commands import RunOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for argument in (shared.REFERENCE, shared.READS):
        parser.add_argument(**argument)
    shared.add_options(parser, RunOptions)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.reporting import run_job
    from readwarp.cli.summary import SummaryScope, show_summary
    from readwarp.run.api import make_job
    from readwarp.run.job import run_sample

    result = run_job(options, RunOptions, make_job, run_sample, options.reference, options.reads)
    if result and not options.quiet:
        is_targeted = bool(options.region or options.targets or options.exclude_regions)
        asked = SummaryScope(is_targeted, options.ploidy == 1, options.mixture or options.somatic)
        show_summary(result, asked)
