"""`readwarp call`: variants of one sample from sorted alignments."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.config import CallParameters

EPILOG = """\
examples:
  readwarp call ref.fa sample.bam -o sample.vcf.gz
  readwarp call ref.fa sample.cram -r chr20:1-1,000,000 > part.vcf
  readwarp call mitochondrion.gb sample.bam --ploidy 1 -o sample.bcf
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default = CallParameters()
    parser.add_argument("reference", metavar="REF", help="reference: FASTA, GenBank or EMBL; plain, gzip or bgzip")
    parser.add_argument("alignments", metavar="ALIGNMENTS", help="BAM or CRAM, sorted by coordinate and indexed")
    shared.add_output(parser, "output: .vcf, .vcf.gz (with .tbi) or .bcf (with .csi) [VCF to stdout]")
    group = parser.add_argument_group("calling")
    group.add_argument(
        "-r",
        "--region",
        action="append",
        default=[],
        metavar="R",
        help="NAME, NAME:FROM or NAME:FROM-TO; may be repeated",
    )
    group.add_argument("-L", "--targets", type=Path, metavar="BED", help="call in the intervals of a BED file")
    group.add_argument("--sample", metavar="NAME", help="sample to call, where the header names several")
    for name, value, text in (
        ("ploidy", default.ploidy, "copies of each contig"),
        ("min-base-quality", default.min_base_quality, "bases below it are not used"),
        ("min-mapping-quality", default.min_mapping_quality, "reads below it are not used"),
        ("max-depth", default.max_depth, "most reads used at a position"),
    ):
        group.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"{text} [{value}]")
    shared.add_resources(parser)
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> int:
    shared.check_inputs((options.reference, options.alignments))
    shared.check_output(options.output, options.force, (options.reference, options.alignments))
    parameters = CallParameters(
        ploidy=options.ploidy,
        min_base_quality=options.min_base_quality,
        min_mapping_quality=options.min_mapping_quality,
        max_depth=options.max_depth,
    )
    resources = shared.resources(options)

    from readwarp.call.pipeline import call_variants
    from readwarp.call.targets import parse_region, read_bed
    from readwarp.index.build import read_reference
    from readwarp.metrics import Metrics

    metrics = Metrics()
    with metrics.time("read_reference"):
        reference = read_reference(options.reference)
    lengths = (reference.contig_offsets[1:] - reference.contig_offsets[:-1]).tolist()
    targets = [parse_region(text, reference.names, lengths) for text in options.region]
    if options.targets:
        targets += read_bed(options.targets, reference.names, lengths)
    call_variants(
        reference,
        Path(options.alignments),
        options.output,
        parameters,
        resources,
        metrics,
        regions=targets if options.region or options.targets else None,
        sample=options.sample,
        reference_path=Path(options.reference),
        command=options.command_line,
    )
    if options.metrics:
        metrics.write(options.metrics)
    return 0
