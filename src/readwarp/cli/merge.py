"""merge: alignments of parts and lanes to one file, sorted, marked and indexed."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared

EPILOG = """\
examples:
  readwarp merge part.*.bam -o sample.bam --mark-duplicates --write-index
  readwarp merge lane1.bam lane2.bam -o sample.cram --reference ref.fa --mark-duplicates

Inputs are BAM or CRAM files that `readwarp align` wrote without --sort. The output is that of a single run of `align`
on the undivided input of the parts (--part I/N), or on the inputs of all lanes in the order given.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "alignments",
        nargs="+",
        type=Path,
        metavar="BAM",
        help="unsorted parts and lanes of `readwarp align`, BAM or CRAM",
    )
    shared.add_output(parser, ".bam, .cram or .sam; - is SAM on stdout")
    group = shared.add_sorting(parser)
    text = "tag: duplicates must share the UMI that `align --umi` wrote to RX"
    group.add_argument("--umi", metavar="tag", help=text)
    shared.add_duplex(group)
    text = "FASTA or index (.rwx), for CRAM output and input [input: found by M5: UR, REF_CACHE, REF_PATH]"
    group.add_argument("--reference", type=Path, metavar="REF", help=text)
    group.add_argument("--no-pg", action="store_true", help="write no @PG line of this command")
    shared.add_host_resources(parser, "memory for sorting [1G]")
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> None:
    from readwarp.align.merge import run_merge
    from readwarp.align.merge_api import MergeOptions, make_job
    from readwarp.cli.ending import conclude
    from readwarp.cli.options import pick_keywords
    from readwarp.cli.reporting import CommandReporter

    given = pick_keywords(options, MergeOptions)
    job = make_job(options.alignments, options.output, given, options.command_line)
    with CommandReporter(options) as reporter:
        conclude(options, run_merge(job, reporter).paths)
