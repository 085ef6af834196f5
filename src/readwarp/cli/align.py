"""align: reads to alignments."""

import argparse

from readwarp.cli import options as shared
from readwarp.config.commands import AlignOptions

EPILOG = """\
examples:
  readwarp align ref.fa reads_1.fq.gz reads_2.fq.gz -o out.bam --mark-duplicates --write-index
  readwarp align ref.fa lane1_1.fq lane1_2.fq lane2_1.fq lane2_2.fq -o out.cram
  readwarp align --preset ont ref.fa reads.fq.gz --sort coordinate -o out.bam
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_reads(parser)
    shared.add_options(parser, AlignOptions)


def run(options: argparse.Namespace) -> None:
    from readwarp.align.api import make_job
    from readwarp.align.job import run_align
    from readwarp.cli.reporting import run_job

    run_job(options, AlignOptions, make_job, run_align, options.reference, options.reads)
