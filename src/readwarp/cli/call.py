"""call: variants from sorted alignments."""

import argparse

from readwarp.cli import options as shared
from readwarp.config.commands import CallOptions

EPILOG = """\
examples:
  readwarp call ref.fa sample.bam -o sample.vcf.gz
  readwarp call ref.fa father.bam mother.bam child.bam -o trio.vcf.gz
  readwarp call ref.fa tumour.bam normal.bam --somatic --normal NAME -o out.vcf.gz
  readwarp call virus.fa sample.bam --mixture --primers primers.bed -o out.vcf.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_reference(parser)
    text = "sorted, indexed BAM or CRAM; - is sorted BAM, CRAM or SAM on stdin; @FILE lists files"
    parser.add_argument("alignments", nargs="*", metavar="ALIGNMENTS", help=text)
    shared.add_options(parser, CallOptions)


def run(options: argparse.Namespace) -> None:
    from readwarp.caller.api import make_job
    from readwarp.caller.job import run_call
    from readwarp.cli.reporting import run_job

    run_job(options, CallOptions, make_job, run_call, options.reference, options.alignments)
