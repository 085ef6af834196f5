"""panel: the alleles that several normal tissues show, for `call --panel-of-normals`."""

import argparse

from readwarp.cli import options as shared
from readwarp.config.commands import PanelOptions

EPILOG = """\
examples:
  readwarp call ref.fa normal1.bam --somatic -o normal1.vcf.gz      (and each other normal)
  readwarp panel normal1.vcf.gz normal2.vcf.gz normal3.vcf.gz -o pon.vcf.gz
  readwarp call ref.fa tumour.bam --somatic --panel-of-normals pon.vcf.gz -o somatic.vcf.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "sorted calls of a normal by itself (--somatic or --mixture); @FILE is a list of files"
    parser.add_argument("inputs", nargs="*", metavar="VCF", help=text)
    shared.add_options(parser, PanelOptions)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.reporting import run_job
    from readwarp.somatic.panel.api import make_job
    from readwarp.somatic.panel.job import run_panel

    run_job(options, PanelOptions, make_job, run_panel, options.inputs)
