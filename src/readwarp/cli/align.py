"""align: reads to alignments."""

import argparse
from math import isfinite

from readwarp.cli import options as shared
from readwarp.config import PRESETS

EPILOG = """\
examples:
  readwarp align ref.fa reads_1.fq.gz reads_2.fq.gz -o out.bam --sort coordinate --write-index
  readwarp align ref.fa lane1_1.fq lane1_2.fq lane2_1.fq lane2_2.fq -o out.cram
  bcl2fastq ... | readwarp align --interleaved ref.fa - | samtools view -b > out.bam
  readwarp align ref.fa reads_1.fq.gz reads_2.fq.gz --part 2/8 --resume -o part.2.bam

The index REF.rwx is built when it is absent.
"""
SORTS = ("coordinate", "name", "none")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_inputs(parser)
    shared.add_output(parser, "SAM, BAM or CRAM by its ending [SAM to stdout]")
    group = parser.add_argument_group("output")
    group.add_argument("--sort", choices=SORTS, default="none", help="order of the records [none: as the reads come]")
    group.add_argument("--mark-duplicates", action="store_true", help="flag duplicates; needs --sort coordinate")
    group.add_argument("--write-index", action="store_true", help="write .bai or .crai; needs --sort coordinate")
    group.add_argument("--no-pg", action="store_true", help="no @PG line in the header")
    add_alignment(parser)
    shared.add_scoring(parser)
    group = parser.add_argument_group("clusters")
    group.add_argument(
        "--part", metavar="I/N", help="align every N-th block of reads, from the I-th; `readwarp merge` joins the parts"
    )
    shared.add_resume(group)
    shared.add_resources(parser)
    shared.add_reporting(parser)


def add_alignment(parser: argparse.ArgumentParser) -> None:
    """--preset -I --min-score -Y --eqx."""
    default = PRESETS["standard"].parameters.records
    group = parser.add_argument_group("alignment")
    group.add_argument(
        "--preset",
        choices=PRESETS,
        help=f"{shared.kinds_of_reads()} [standard, with the seeds of the index that is there]",
    )
    group.add_argument(
        "-I",
        "--insert-size",
        type=insert_size,
        metavar="MEAN[,SD[,MAX[,MIN]]]",
        help="insert sizes of forward-reverse pairs; without SD a tenth of MEAN, without MAX and MIN four SD around it "
        "[estimated from the first pairs of each input]",
    )
    group.add_argument(
        "--min-score",
        type=shared.natural,
        metavar="N",
        help=f"lowest score to report [{default.min_score}]",
    )
    group.add_argument(
        "-Y",
        "--soft-clip",
        action="store_true",
        default=None,  # like --eqx, it is the preset's
        help="soft clips in supplementary alignments instead of hard ones",
    )
    group.add_argument("--eqx", action="store_true", default=None, help="= and X in CIGARs instead of M")


def insert_size(text: str) -> tuple[float | int, ...]:
    """MEAN[,SD[,MAX[,MIN]]] -> numbers."""
    parts = text.split(",")
    try:
        if not 1 <= len(parts) <= 4:
            raise ValueError
        numbers = (*map(float, parts[:2]), *map(int, parts[2:]))
        if not all(map(isfinite, numbers)):
            raise ValueError
        return numbers
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not MEAN[,SD[,MAX[,MIN]]]") from None


def run(options: argparse.Namespace) -> int:
    from readwarp.align.api import AlignOptions, make_job
    from readwarp.align.job import run_align
    from readwarp.cli.reporting import CommandReporter

    with CommandReporter(options) as reporter:
        given = shared.keywords(options, AlignOptions)
        run_align(make_job(options.reference, options.reads, options.output, given, options.command_line), reporter)
    return 0
