"""merge: alignments of parts and lanes to one file, sorted, marked and indexed."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.config.commands import MergeOptions

EPILOG = """\
examples:
  readwarp merge part.*.bam -o sample.bam --mark-duplicates --write-index
  readwarp merge lane1.bam lane2.bam -o sample.cram --reference ref.fa --mark-duplicates

Inputs are BAM or CRAM files that `readwarp align` wrote without --sort. The output is that of a single run of `align`
on the undivided input of the parts (--part I/N), or on the inputs of all lanes in the order given.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "unsorted parts and lanes of `readwarp align`, BAM or CRAM"
    parser.add_argument("alignments", nargs="+", type=Path, metavar="BAM", help=text)
    shared.add_options(parser, MergeOptions)


def run(options: argparse.Namespace) -> None:
    from readwarp.align.merge import run_merge
    from readwarp.align.merge_api import make_job
    from readwarp.cli.reporting import run_job

    run_job(options, MergeOptions, make_job, run_merge, options.alignments)
