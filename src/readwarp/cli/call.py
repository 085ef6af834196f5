"""call: variants from sorted alignments."""

import argparse

from readwarp.cli import options as shared

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
    shared.add_file_list(parser, "alignments", "-b")
    shared.add_output(parser, ".vcf, .vcf.gz or .bcf; with .tbi or .csi [VCF to stdout]")
    shared.add_calling(parser)
    text = "sample to call; may be repeated [all samples]"
    parser.add_argument("--sample", action="append", default=[], metavar="NAME", help=text)
    text = "matched normal sample, for --somatic; may be repeated"
    group = shared.add_fractions(parser)
    group.add_argument("--normal", action="append", default=[], metavar="NAME", help=text)
    text = "call structural variants only, to the output (-o)"
    shared.add_structural(parser).add_argument("--sv-only", action="store_true", help=text)
    shared.add_encoding(parser)
    shared.add_resources(parser)
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> None:
    from readwarp.caller.api import CallOptions, make_job
    from readwarp.caller.job import run_call
    from readwarp.cli.reporting import run_job

    run_job(options, options.alignments, CallOptions, make_job, run_call)
