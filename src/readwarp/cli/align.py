"""align: reads to alignments."""

import argparse
from collections.abc import Mapping
from math import isfinite
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.config import CS_FORMS, PRESETS, Preset

EPILOG = """\
examples:
  readwarp align ref.fa reads_1.fq.gz reads_2.fq.gz -o out.bam --mark-duplicates --write-index
  readwarp align ref.fa lane1_1.fq lane1_2.fq lane2_1.fq lane2_2.fq -o out.cram
  bcl2fastq ... | readwarp align --interleaved ref.fa - | samtools view -b > out.bam
  readwarp align ref.fa reads_1.fq.gz reads_2.fq.gz --part 2/8 --resume -o part.2.bam

The index REF.rwx is built if it does not exist.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_inputs(parser)
    shared.add_output(parser, "SAM, BAM, CRAM or PAF, by its ending [SAM to stdout]")
    group = shared.add_sorting(parser)
    group.add_argument("--no-pg", action="store_true", help="no @PG line in the header")
    group.add_argument("--paf", action="store_true", help="PAF with CIGARs, as of `minimap2 -c`, instead of SAM")
    add_alignment(parser, PRESETS)
    shared.add_scoring(parser)
    shared.add_trimming(parser)
    group = parser.add_argument_group("clusters")
    text = "align every N-th block of reads, from the I-th; `readwarp merge` joins the parts"
    group.add_argument("--part", metavar="I/N", help=text)
    shared.add_resume(group)
    shared.add_resources(parser)
    shared.add_reporting(parser)


def add_alignment(parser: argparse.ArgumentParser, presets: Mapping[str, Preset]) -> None:
    """--index --alt --no-alt --preset -I --min-score -Y --eqx --cs -a --secondary -M -5 -S -P."""
    default = PRESETS["standard"].parameters.records
    group = parser.add_argument_group("alignment")
    text = "index of REF, built there if it does not exist [REF.rwx, or in a cache folder if that cannot be written]"
    group.add_argument("--index", type=Path, metavar="FILE", help=text)
    text = "ALT contigs of REF, a SAM file as bwa takes it [REF.alt or REF.64.alt, if it exists]"
    group.add_argument("--alt", type=Path, metavar="FILE", help=text)
    text = "treat ALT contigs as all others, even if there is such a file"
    group.add_argument("--no-alt", action="store_true", help=text)
    text = f"{shared.describe_presets(presets)} [standard, with the seeds of an index that exists]"
    group.add_argument("--preset", choices=presets, help=text)
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
    text = "write the tag cs of minimap2, with numbers of equal bases (short) or their letters (long) [none]"
    group.add_argument("--cs", choices=CS_FORMS, help=text)
    add_places(group)


def add_places(group: "argparse._ArgumentGroup") -> None:
    """-a --secondary -M -5 -S -P."""
    text = "write all places of a read: the others are secondary records, not named in XA"
    group.add_argument("-a", "--all-hits", action="store_true", help=text)
    text = "likewise N of them at most, the best ones, with 0.8 of the best score or more"
    group.add_argument("--secondary", type=shared.natural, metavar="N", help=text)
    text = "mark parts of split reads as secondary instead of supplementary"
    group.add_argument("-M", "--split-secondary", action="store_true", default=None, help=text)
    text = "the part of a split read that was sequenced first is primary, not the best one; for Hi-C: -5SP"
    group.add_argument("-5", "--five-prime", action="store_true", default=None, help=text)
    group.add_argument("-S", "--no-rescue", action="store_true", help="do not look for a mate near the other")
    text = "place each mate by itself; no pair is marked as proper"
    group.add_argument("-P", "--no-pairing", action="store_true", help=text)


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
