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
  readwarp align --preset ont ref.fa reads.fq.gz --sort coordinate -o out.bam
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_inputs(parser)
    shared.add_output(parser, ".sam, .bam, .cram or .paf [SAM to stdout]")
    group = shared.add_sorting(parser)
    group.add_argument("--no-pg", action="store_true", help="write no @PG line")
    group.add_argument("--paf", action="store_true", help="write PAF with CIGARs, as `minimap2 -c`")
    add_alignment(parser, PRESETS)
    shared.add_scoring(parser)
    shared.add_trimming(parser)
    group = parser.add_argument_group("clusters")
    text = "align the I-th of every N blocks of reads; `readwarp merge` joins the parts"
    group.add_argument("--part", metavar="I/N", help=text)
    shared.add_resume(group)
    shared.add_resources(parser)
    shared.add_reporting(parser)


def add_alignment(parser: argparse.ArgumentParser, presets: Mapping[str, Preset]) -> None:
    """Add --index --alt --no-alt --preset -I --min-score -Y --eqx --cs -a --secondary -M -5 -S -P."""
    default = PRESETS["standard"].parameters.records
    group = parser.add_argument_group("alignment")
    text = "index of REF, built if missing [REF.rwx, or in a cache folder if that location is not writable]"
    group.add_argument("--index", type=Path, metavar="FILE", help=text)
    text = "ALT contigs of REF, a SAM file as for bwa [REF.alt or REF.64.alt, if present]"
    group.add_argument("--alt", type=Path, metavar="FILE", help=text)
    text = "treat ALT contigs like any other, even with such a file"
    group.add_argument("--no-alt", action="store_true", help=text)
    shared.add_preset(group, presets)
    group.add_argument(
        "-I",
        "--insert-size",
        type=insert_size,
        metavar="MEAN[,SD[,MAX[,MIN]]]",
        help="insert size of FR pairs; SD is MEAN / 10 if left out, MAX and MIN are 4 SD off [estimated from the "
        "first pairs of each input]",
    )
    text = f"leave reads with a lower score unmapped [{default.min_score}]"
    group.add_argument("--min-score", type=shared.natural, metavar="N", help=text)
    text = "soft-clip supplementary alignments, not hard-clip"
    group.add_argument("-Y", "--soft-clip", action="store_true", default=None, help=text)  # None: the preset's
    group.add_argument("--eqx", action="store_true", default=None, help="write = and X in CIGARs, not M")
    text = "write minimap2's cs tag in its short or long form [none]"
    group.add_argument("--cs", choices=CS_FORMS, help=text)
    add_places(group)


def add_places(group: "argparse._ArgumentGroup") -> None:
    """Add -a --secondary -M -5 -S -P."""
    text = "write all hits of a read, as secondary records instead of XA"
    group.add_argument("-a", "--all-hits", action="store_true", help=text)
    text = "at most N secondary records per read, with 0.8 of the best score or more"
    group.add_argument("--secondary", type=secondary, metavar="N", help=text)
    text = "mark split alignments as secondary, not supplementary"
    group.add_argument("-M", "--split-secondary", action="store_true", default=None, help=text)
    text = "take the 5' part of a split read as primary, not the best one (Hi-C: -5SP)"
    group.add_argument("-5", "--five-prime", action="store_true", default=None, help=text)
    group.add_argument("-S", "--no-rescue", action="store_true", help="skip mate rescue")
    text = "skip pairing: no pair is proper"
    group.add_argument("-P", "--no-pairing", action="store_true", help=text)


def secondary(text: str) -> int | None:
    """Parse a number; `no`, as in minimap2, is the default."""
    return None if text == "no" else shared.natural(text)


def insert_size(text: str) -> tuple[float | int, ...]:
    """Parse MEAN[,SD[,MAX[,MIN]]]."""
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
