"""report: one HTML page on one sample or several."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared

EPILOG = """\
examples:
  readwarp report results
  readwarp report sample1 sample2 sample3 -o cohort.html
  readwarp report --bam sample.bam --vcf sample.vcf.gz --reference ref.fa -o sample.html

The page is self-contained; an IGV session lies beside it. The output of samtools stats, flagstat and idxstats and of
bcftools stats, and the depth, are written beside each BAM and VCF, for MultiQC too; if they are newer, they are used.
"""


FILES = {
    "bam": "sorted, indexed BAM or CRAM; repeat for each sample",
    "vcf": "VCF, VCF.gz or BCF, in the same order",
    "metrics": "metrics.json, in the same order",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR", help="output folders of `readwarp run`")
    shared.add_output(parser, "the page [report.html in DIR, or here for several]")
    group = parser.add_argument_group("samples")
    for name, text in FILES.items():
        dest = f"{name}_files"
        group.add_argument(f"--{name}", dest=dest, action="append", type=Path, default=[], metavar="FILE", help=text)
    text = "FASTA, for mismatches by cycle and CRAM [from metrics.json]"
    group.add_argument("--reference", type=Path, metavar="REF", help=text)
    text = "depth in these intervals: BED, interval list, list of regions or a region; may be repeated"
    group.add_argument("-L", "--targets", action="append", metavar="FILE", help=f"{text} [from metrics.json]")
    group.add_argument("--title", metavar="TEXT", help="heading of the page [the sample's name]")
    group.add_argument("--statistics", type=Path, metavar="DIR", help="folder for the statistics [beside BAM and VCF]")
    shared.add_threads(group)
    shared.add_reporting(parser, metrics=False)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.ending import conclude
    from readwarp.cli.options import pick_keywords
    from readwarp.cli.reporting import CommandReporter
    from readwarp.report.api import ReportOptions, run_report

    given = pick_keywords(options, ReportOptions) | {name: getattr(options, f"{name}_files") for name in FILES}
    with CommandReporter(options) as reporter:
        result = run_report(options.folders, options.output, given, options.command_line, reporter)
        conclude(options, result.paths)
    if not options.quiet:
        print(result.paths["report"])
