"""align: reads to alignments."""

import argparse

from readwarp.cli import options as shared
from readwarp.cli.inputs import add_inputs
from readwarp.config import AlignParameters, RecordParameters

EPILOG = """\
examples:
  readwarp align ref.fa reads_1.fq.gz reads_2.fq.gz -o out.bam --sort coordinate --write-index
  readwarp align ref.fa lane1_1.fq lane1_2.fq lane2_1.fq lane2_2.fq -o out.cram
  bcl2fastq ... | readwarp align --interleaved ref.fa - | samtools view -b > out.bam

The index REF.rwx is built when it is absent.
"""
SORTS = ("coordinate", "name", "none")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser)
    shared.add_output(parser, "SAM, BAM or CRAM by its ending [SAM to stdout]")
    group = parser.add_argument_group("output")
    group.add_argument("--sort", choices=SORTS, default="none", help="order of the records [none: as the reads come]")
    group.add_argument("--mark-duplicates", action="store_true", help="flag duplicates")
    group.add_argument("--write-index", action="store_true", help="write .bai or .crai; needs --sort coordinate")
    group.add_argument("--no-pg", action="store_true", help="no @PG line in the header")
    add_alignment(parser)
    shared.add_scoring(parser)
    shared.add_resources(parser)
    shared.add_reporting(parser)


def add_alignment(parser: argparse.ArgumentParser) -> None:
    """-I --min-score -Y --eqx; read by `parameters`."""
    default = RecordParameters()
    group = parser.add_argument_group("alignment")
    group.add_argument(
        "-I",
        "--insert-size",
        type=insert_size,
        metavar="MEAN[,SD[,MAX[,MIN]]]",
        help="insert sizes of forward-reverse pairs [estimated from the first pairs of each input]",
    )
    group.add_argument(
        "--min-score",
        type=int,
        default=default.min_score,
        metavar="N",
        help=f"lowest score to report [{default.min_score}]",
    )
    group.add_argument(
        "-Y", "--soft-clip", action="store_true", help="soft clips in supplementary alignments instead of hard ones"
    )
    group.add_argument("--eqx", action="store_true", help="= and X in CIGARs instead of M")


def insert_size(text: str) -> tuple[float | int, ...]:
    """MEAN[,SD[,MAX[,MIN]]] -> numbers."""
    parts = text.split(",")
    try:
        if not 1 <= len(parts) <= 4:
            raise ValueError
        return (*map(float, parts[:2]), *map(int, parts[2:]))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not MEAN[,SD[,MAX[,MIN]]]") from None


def parameters(options: argparse.Namespace) -> AlignParameters:
    records = RecordParameters(min_score=options.min_score, soft_clip_supplementary=options.soft_clip, eqx=options.eqx)
    return AlignParameters(scoring=shared.scoring(options), records=records)


def run(options: argparse.Namespace) -> int:
    from readwarp.cli.jobs import AlignJob, align
    from readwarp.cli.reporting import Reporter

    job = AlignJob.of(options, output=options.output, sort=options.sort)
    with Reporter(options) as reporter:
        align(job, reporter)
    return 0
