"""genotype: one VCF of a cohort from the gVCFs of its samples."""

import argparse

from readwarp.cli import options as shared

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
    shared.add_file_list(parser, "more gVCFs")
    shared.add_output(parser, ".vcf, .vcf.gz or .bcf; with .tbi or .csi [VCF to stdout]")
    group = parser.add_argument_group("genotyping")
    shared.add_places(group, "genotype", "; inputs need an index")
    text = "highest ploidy of the samples [2]"
    group.add_argument("--ploidy", type=int, default=2, metavar="N", help=text)
    text = "maximum ALT alleles per site; the rarest are dropped [8]"
    group.add_argument("--max-alleles", type=int, default=8, metavar="N", help=text)
    shared.add_priors(group)
    shared.add_fields(group, (shared.MNPS,))
    shared.add_filters(parser)
    shared.add_host_resources(parser)
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.reporting import run_job
    from readwarp.cohort.api import GenotypeOptions, make_job
    from readwarp.cohort.job import run_genotype

    run_job(options, options.inputs, GenotypeOptions, make_job, run_genotype)
