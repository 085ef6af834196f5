"""call: variants from sorted alignments."""

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from readwarp.cli import options as shared

if TYPE_CHECKING:
    from readwarp.metrics import Metrics

EPILOG = """\
examples:
  readwarp call ref.fa sample.bam -o sample.vcf.gz
  readwarp call ref.fa sample.cram -r chr20:1-1,000,000 > part.vcf
  samtools sort reads.bam | readwarp call ref.fa - -o sample.vcf.gz
  readwarp call mitochondrion.gb sample.bam --ploidy 1 -o sample.bcf
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", type=Path, metavar="REF", help="FASTA, GenBank or EMBL; may be gzipped")
    parser.add_argument(
        "alignments",
        type=Path,
        metavar="ALIGNMENTS",
        help="sorted and indexed BAM or CRAM; - is a sorted stream of BAM, CRAM or SAM",
    )
    shared.add_output(parser, ".vcf, .vcf.gz (with .tbi) or .bcf (with .csi) [VCF to stdout]")
    shared.add_calling(parser)
    parser.add_argument(
        "--sample",
        action="append",
        default=[],
        metavar="NAME",
        help="sample to call; may be repeated [all of them]",
    )
    shared.add_resources(parser)
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> int:
    from readwarp.cli.reporting import Reporter
    from readwarp.formats.common.lock import locked
    from readwarp.formats.variants.vcf import kind_of

    inputs = [options.reference, options.alignments, *shared.extra_inputs(options)]
    shared.check_output(options.output, options.force, inputs)
    shared.check_inputs(inputs)
    kind_of(None if options.output is None else str(options.output))
    parameters, resources = shared.calling(options), shared.resources(options)
    with locked(options.output), Reporter(options) as reporter:
        from readwarp.call.pipeline import call_variants
        from readwarp.cli.device import settled_for
        from readwarp.index.build import read_reference

        with reporter.metrics.time("read_reference"):
            reference = read_reference(options.reference)
        targets = shared.targets(options, reference)
        resources = settled_for(resources, options.alignments, reference, targets)
        with reporter.metrics.time("call"), reporter.progress("calling", "bases") as progress:
            call_variants(
                reference,
                options.alignments,
                options.output,
                parameters,
                resources,
                reporter.metrics,
                regions=targets,
                samples=options.sample,
                **shared.extras(options),
                reference_path=options.reference,
                command=options.command_line,
                progress=progress.reach,
            )
        summarize(reporter.metrics)
    return 0


def summarize(metrics: "Metrics") -> None:
    """One line on what came out."""
    found, passed = metrics.counts.get("variants", 0), metrics.counts.get("variants_pass", 0)
    logger = logging.getLogger("readwarp")
    logger.info("%s variants, %s pass all filters", f"{found:,}", f"{passed:,}")
    if lost := metrics.counts.get("reads_without_sample", 0):
        logger.warning("%s reads have no read group of a sample in the header: left out", f"{lost:,}")
