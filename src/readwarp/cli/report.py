"""report: one HTML page on one sample or several."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.config.commands import ReportOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR", help="output folders of `readwarp run`")
    shared.add_options(parser, ReportOptions, metrics=False)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.ending import conclude
    from readwarp.cli.reporting import CommandReporter
    from readwarp.report.api import run_report

    given = shared.pick_keywords(options, ReportOptions)
    with CommandReporter(options) as reporter:
        result = run_report(options.folders, options.output, given, options.command_line, reporter)
        conclude(options, result.paths)
    if not options.quiet:
        print(result.paths["report"])
