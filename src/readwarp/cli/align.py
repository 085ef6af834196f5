"""align: reads to alignments."""

import argparse
from math import isfinite
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.config import PRESETS

EPILOG = """\
examples:
  readwarp align ref.fa reads_1.fq.gz reads_2.fq.gz -o out.bam --mark-duplicates --write-index
  readwarp align ref.fa lane1_1.fq lane1_2.fq lane2_1.fq lane2_2.fq -o out.cram
  bcl2fastq ... | readwarp align --interleaved ref.fa - | samtools view -b > out.bam
  readwarp align ref.fa reads_1.fq.gz reads_2.fq.gz --part 2/8 --resume -o part.2.bam

The index REF.rwx is built if it does not exist.
"""

HABITS = {  # of users of bwa and minimap2
    "-L": "the penalty for clipping is --clip; -L is --targets in call, run, genotype and report",
    "-k": "the length of seeds is a matter of the index: `readwarp index -k`",
    "-x": "presets are --preset",
    "-H": "give read groups by --read-group; other header lines are added by `samtools reheader`",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_inputs(parser)
    shared.add_output(parser, "SAM, BAM or CRAM, by its ending [SAM to stdout]")
    shared.add_sorting(parser).add_argument("--no-pg", action="store_true", help="no @PG line in the header")
    add_alignment(parser)
    shared.add_scoring(parser)
    shared.add_trimming(parser)
    group = parser.add_argument_group("clusters")
    text = "align every N-th block of reads, from the I-th; `readwarp merge` joins the parts"
    group.add_argument("--part", metavar="I/N", help=text)
    shared.add_resume(group)
    shared.add_resources(parser)
    shared.add_reporting(parser)


def add_alignment(parser: argparse.ArgumentParser) -> None:
    """--index --preset -I --min-score -Y --eqx."""
    default = PRESETS["standard"].parameters.records
    group = parser.add_argument_group("alignment")
    text = "index of REF, built there if it does not exist [REF.rwx, or in a cache folder if that cannot be written]"
    group.add_argument("--index", type=Path, metavar="FILE", help=text)
    text = f"{shared.describe_presets()} [standard, with the seeds of an index that exists]"
    group.add_argument("--preset", choices=PRESETS, help=text)
    group.add_argument(
        "-I",
        "--insert-size",
        type=insert_size,
        metavar="MEAN[,SD[,MAX[,MIN]]]",
        help="insert sizes of forward-reverse pairs; without SD a tenth of MEAN, without MAX and MIN four SD around it "
        "[estimated from the first pairs of each input]",
    )
    text = f"lowest score to report [{default.min_score}]"
    group.add_argument("--min-score", type=shared.natural, metavar="N", help=text)
    text = "soft-clip supplementary alignments instead of hard-clipping them"
    group.add_argument("-Y", "--soft-clip", action="store_true", default=None, help=text)  # None: as the preset has it
    group.add_argument("--eqx", action="store_true", default=None, help="= and X in CIGARs instead of M")


def insert_size(text: str) -> tuple[float | int, ...]:
    """MEAN[,SD[,MAX[,MIN]]] -> numbers."""
    parts = text.split(",")
    try:
        numbers = (*map(float, parts[:2]), *map(int, parts[2:]))
        if len(parts) <= 4 and all(map(isfinite, numbers)):
            return numbers
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not MEAN[,SD[,MAX[,MIN]]]")


def run(options: argparse.Namespace) -> None:
    from readwarp.align.api import AlignOptions, make_job
    from readwarp.align.job import run_align
    from readwarp.cli.reporting import run_job

    run_job(options, options.reads, AlignOptions, make_job, run_align)
