"""genotype: one VCF of a cohort from the gVCFs of its samples."""

import argparse
import logging
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.errors import InputError, UsageError

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
        default=[],
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
    from readwarp.cli.reporting import Reporter
    from readwarp.config import CallParameters, JointParameters, Resources
    from readwarp.formats.common.lock import locked
    from readwarp.formats.variants.vcf import kind_of

    inputs = inputs_of(options)
    others = [options.reference, *([options.targets] if options.targets else [])]
    shared.check_output(options.output, options.force, [*inputs, *others])
    shared.check_inputs([*others, *inputs])
    kind_of(None if options.output is None else str(options.output))
    calling = CallParameters(**shared.given_fields(options, shared.FILTER_LIMITS))
    joint = JointParameters(options.max_alleles, options.ploidy)
    with locked(options.output), Reporter(options) as reporter:
        from readwarp.call.joint.pipeline import genotype_cohort
        from readwarp.device.machine import usable_threads
        from readwarp.index.build import read_reference

        resources = Resources(options.threads or usable_threads(), memory=options.memory)
        with reporter.metrics.time("read_reference"):
            reference = read_reference(options.reference)
        with reporter.metrics.time("genotype"), reporter.progress("genotyping", "bases") as progress:
            genotype_cohort(
                *(reference, inputs, options.output, resources, reporter.metrics),
                calling=calling,
                joint=joint,
                regions=shared.targets(options, reference),
                reference_path=options.reference,
                command=options.command_line,
                progress=progress.reach,
            )
        found, passed = (reporter.metrics.counts.get(name, 0) for name in ("variants", "variants_pass"))
        logger = logging.getLogger("readwarp")
        logger.info("%s variants, %s pass all filters", f"{found:,}", f"{passed:,}")
        if cut := reporter.metrics.counts.get("sites_with_alleles_left_out", 0):
            logger.warning("at %s sites alleles are left out (--max-alleles)", f"{cut:,}")
    return 0


def inputs_of(options: argparse.Namespace) -> list[Path]:
    """Files of the command line and of lists, in order. Raises UsageError and InputError."""
    inputs: list[Path] = []
    for text in (*options.inputs, *([f"@{options.list}"] if options.list else [])):
        inputs += listed(Path(text[1:])) if text.startswith("@") else [Path(text)]
    if not inputs:
        raise UsageError("no gVCF is given")
    if "-" in map(str, inputs):
        raise UsageError("gVCFs are read from files, not from stdin (-)")
    return inputs


def listed(path: Path) -> list[Path]:
    """The names in a file, but for lines that are blank or begin with #; relative ones as on the command line."""
    try:
        names = [line.strip() for line in path.read_text().splitlines()]
    except UnicodeDecodeError:
        raise InputError(path, "is not a list of file names (is it a gVCF? then leave out the @)") from None
    except OSError as error:
        raise InputError(path, (error.strerror or "cannot be read").lower()) from None
    return [Path(name) for name in names if name and not name.startswith("#")]
