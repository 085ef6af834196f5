"""call: variants from sorted alignments."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared

EPILOG = """\
examples:
  readwarp call ref.fa sample.bam -o sample.vcf.gz
  readwarp call ref.fa father.bam mother.bam child.bam -o trio.vcf.gz
  readwarp call ref.fa -b bams.txt -o cohort.bcf
  readwarp call ref.fa sample.cram -r chr20:1-1,000,000 > part.vcf
  readwarp call ref.fa hifi.bam --sv-only -o structural.vcf.gz
  samtools sort reads.bam | readwarp call ref.fa - -o sample.vcf.gz
  readwarp call ref.fa tumour.bam normal.bam --somatic --normal NAME -o somatic.vcf.gz
  readwarp call virus.fa sample.bam --mixture --primers primers.bed -o mixture.vcf.gz
  readwarp call mitochondrion.gb sample.bam --ploidy 1 -o sample.bcf
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_reference(parser)
    text = "sorted and indexed BAM or CRAM; - is a sorted stream of BAM, CRAM or SAM; @FILE is a list of files"
    parser.add_argument("alignments", nargs="*", metavar="ALIGNMENTS", help=text)
    parser.add_argument("-b", "--list", type=Path, metavar="FILE", help="more alignments, one file per line")
    shared.add_output(parser, ".vcf, .vcf.gz (with .tbi) or .bcf (with .csi) [VCF to stdout]")
    shared.add_calling(parser)
    text = "sample to call, of any file; may be repeated [all samples]"
    parser.add_argument("--sample", action="append", default=[], metavar="NAME", help=text)
    shared.add_fractions(parser)
    text = "call structural variants only, and write them to the output (-o)"
    shared.add_structural(parser).add_argument("--sv-only", action="store_true", help=text)
    shared.add_encoding(parser)
    shared.add_resources(parser)
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> None:
    from readwarp.call.api import CallOptions, make_job
    from readwarp.call.job import run_call
    from readwarp.cli.reporting import run_job

    run_job(options, options.alignments, CallOptions, make_job, run_call)
