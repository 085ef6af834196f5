"""report: one HTML page on one sample or several."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.config.commands import ReportOptions

EPILOG = """\
examples:
  readwarp report results
  readwarp report sample1 sample2 sample3 -o cohort.html
  readwarp report --bam sample.bam --vcf sample.vcf.gz --reference ref.fa -o sample.html

The page is self-contained; an IGV session lies beside it. The output of samtools stats, flagstat and idxstats and of
bcftools stats, and the depth, are written beside each BAM and VCF, for MultiQC too; if they are newer, they are used.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR", help="output folders of `readwarp run`")
    shared.add_options(parser, ReportOptions, metrics=False)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.ending import conclude
    from readwarp.cli.options import pick_keywords
    from readwarp.cli.reporting import CommandReporter
    from readwarp.report.api import run_report

    given = pick_keywords(options, ReportOptions)
    with CommandReporter(options) as reporter:
        result = run_report(options.folders, options.output, given, options.command_line, reporter)
        conclude(options, result.paths)
    if not options.quiet:
        print(result.paths["report"])
