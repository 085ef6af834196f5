"""genotype: one VCF of a cohort from the gVCFs of its samples."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared

EPILOG = """\
examples:
  readwarp genotype ref.fa a.g.vcf.gz b.g.vcf.gz c.g.vcf.gz -o cohort.vcf.gz
  readwarp genotype ref.fa --list gvcfs.txt -r chr20:1-1,000,000 -o part.bcf
  readwarp genotype ref.fa @gvcfs.txt | bcftools view -i 'FILTER="PASS"' -o cohort.vcf.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", type=Path, metavar="REF", help="FASTA, GenBank or EMBL; may be gzipped")
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="GVCF",
        help="VCF.gz, BCF or VCF of `readwarp call --gvcf`, sorted; @FILE is a list of them, one per line",
    )
    parser.add_argument("--list", type=Path, metavar="FILE", help="more inputs, one per line")
    shared.add_output(parser, ".vcf, .vcf.gz (with .tbi) or .bcf (with .csi) [VCF to stdout]")
    group = parser.add_argument_group("genotyping")
    group.add_argument(
        "-r",
        "--region",
        action="append",
        metavar="R",
        help="NAME, NAME:FROM (to its end) or NAME:FROM-TO; may be repeated; inputs need an index [everything]",
    )
    group.add_argument(
        "-L", "--targets", type=Path, metavar="BED", help="genotype in the intervals of a BED file, likewise"
    )
    group.add_argument(
        "--ploidy", type=int, default=2, metavar="N", help="highest ploidy of the samples; limits alleles of a site [2]"
    )
    group.add_argument(
        "--max-alleles",
        type=int,
        default=8,
        metavar="N",
        help="most ALT alleles of a site; the rarest are left out [8]",
    )
    shared.add_filters(parser)
    resources = parser.add_argument_group("resources (none of them changes the output)")
    resources.add_argument("-t", "--threads", type=shared.count, metavar="N", help="threads [all this process may use]")
    resources.add_argument(
        "--memory", type=shared.size, metavar="SIZE", help="memory budget, such as 8G [what is free less a margin]"
    )
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> int:
    from readwarp.call.joint.api import GenotypeOptions, make_job
    from readwarp.call.joint.job import run_genotype
    from readwarp.cli.reporting import CommandReporter

    with CommandReporter(options) as reporter:
        given = shared.keywords(options, GenotypeOptions)
        run_genotype(make_job(options.reference, options.inputs, options.output, given, options.command_line), reporter)
    return 0
