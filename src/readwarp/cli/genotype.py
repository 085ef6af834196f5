"""genotype: one VCF of a cohort from the gVCFs of its samples."""

import argparse

from readwarp.cli import options as shared
from readwarp.config.commands import GenotypeOptions

EPILOG = """\
examples:
  readwarp genotype ref.fa a.g.vcf.gz b.g.vcf.gz c.g.vcf.gz -o cohort.vcf.gz
  readwarp genotype ref.fa --file-list gvcfs.txt -r chr20:1-1,000,000 -o part.bcf
  readwarp genotype ref.fa @gvcfs.txt | bcftools view -i 'FILTER="PASS"' -o cohort.vcf.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_reference(parser)
    text = "sorted gVCF of readwarp, GATK, DeepVariant or bcftools; @FILE is a list of files"
    parser.add_argument("inputs", nargs="*", metavar="GVCF", help=text)
    shared.add_options(parser, GenotypeOptions)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.reporting import run_job
    from readwarp.cohort.api import make_job
    from readwarp.cohort.job import run_genotype

    run_job(options, GenotypeOptions, make_job, run_genotype, options.reference, options.inputs)
