"""panel: the alleles that several normal tissues show, for `call --panel-of-normals`."""

import argparse

from readwarp.cli import options as shared

EPILOG = """\
examples:
  readwarp call ref.fa normal1.bam --somatic -o normal1.vcf.gz      (and each other normal)
  readwarp panel normal1.vcf.gz normal2.vcf.gz normal3.vcf.gz -o pon.vcf.gz
  readwarp call ref.fa tumour.bam --somatic --panel-of-normals pon.vcf.gz -o somatic.vcf.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "sorted calls of a normal by itself (--somatic or --mixture); @FILE is a list of files"
    parser.add_argument("inputs", nargs="*", metavar="VCF", help=text)
    shared.add_file_list(parser, "more VCFs")
    shared.add_output(parser, ".vcf, .vcf.gz or .bcf; with .tbi or .csi [VCF to stdout]")
    text = "keep alleles found in at least N normals [2]"
    parser.add_argument("--min-samples", type=shared.count, default=2, metavar="N", help=text)
    shared.add_threads(parser.add_argument_group("resources (none of them changes the output)"))
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.ending import conclude
    from readwarp.cli.options import pick_keywords
    from readwarp.cli.reporting import CommandReporter
    from readwarp.somatic.panel.api import PanelOptions, make_job
    from readwarp.somatic.panel.job import run_panel

    given = pick_keywords(options, PanelOptions)
    job = make_job(options.inputs, options.output, given, options.command_line)
    with CommandReporter(options) as reporter:
        conclude(options, run_panel(job, reporter).paths)
