"""Options that several commands share."""

import argparse
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any

from readwarp.config import PRESETS, CallParameters, Scoring

CALLING = (  # fields of `CallParameters`
    ("ploidy", "copies of each contig"),
    ("min_base_quality", "bases below it are not used"),
    ("min_mapping_quality", "reads below it are not used"),
    ("max_depth", "most reads used at a position"),
)
FILTER_LIMITS = (  # likewise; which filter fails a call, and when
    ("min_quality", "LowQual: QUAL below it"),
    ("max_strand_bias", "StrandBias: FS of a substitution above it"),
    ("max_indel_strand_bias", "StrandBias: FS of an insertion or deletion above it"),
    ("min_end_distance", "ReadEnds: ED below it"),
    ("min_allele_fraction", "LowFraction: ALT alleles' share of the reads, times the ploidy, below it"),
    ("min_haploid_fraction", "LowFraction: that share below it where the ploidy is 1"),
    ("min_alt_mapping_quality", "LowMapping: AMQ below it, and that share low for the genotype"),
    ("min_expected_fraction", "LowMapping: what is low, as a part of the ALT alleles' share of the genotype"),
)
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def keywords(options: argparse.Namespace, known: type) -> Any:
    """The options that are keywords of a job (`known`, a TypedDict), by their long names."""
    return {name: getattr(options, name) for name in known.__annotations__ if hasattr(options, name)}


def size(text: str) -> int:
    """`4G`, `500M`, `1.5g` or plain bytes -> bytes."""
    number, unit = text.strip().upper().removesuffix("B").removesuffix("I"), ""
    if number[-1:] in ("K", "M", "G", "T"):
        number, unit = number[:-1], number[-1]
    try:
        value = int(float(number) * UNITS[unit])
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500M or 4G") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be more than nothing")
    return value


def count(text: str) -> int:
    """A whole number from 1 up; 20M is 20 million."""
    number, unit = text.strip().upper(), 1
    if number[-1:] in ("K", "M", "G"):
        number, unit = number[:-1], {"K": 10**3, "M": 10**6, "G": 10**9}[number[-1]]
    try:
        value = int(number) * unit
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be at least 1")
    return value


def natural(text: str) -> int:
    """A whole number from 0 up."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 up")
    return int(text)


def number(text: str) -> float:
    """A number from 0 up."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return value


def kinds_of_reads() -> str:
    """Which presets there are, for a help text."""
    return "; ".join(f"{name}: {preset.reads}" for name, preset in PRESETS.items())


def add_resources(parser: argparse.ArgumentParser) -> None:
    """-t --device --memory --vram --batch-bases."""
    group = parser.add_argument_group("resources (none of them changes the output)")
    group.add_argument("-t", "--threads", type=count, metavar="N", help="CPU threads [all this process may use]")
    group.add_argument(
        "--device",
        default="auto",
        metavar="D",
        help="auto, cpu, cuda (a free GPU) or cuda:0,1 [auto: a GPU when one works and the job is large enough]",
    )
    group.add_argument(
        "--memory", type=size, metavar="SIZE", help="memory budget, such as 8G [what is free less a margin]"
    )
    group.add_argument(
        "--vram",
        type=size,
        metavar="SIZE",
        help="memory budget of each GPU, such as 4G, besides 0.5G for CUDA [what is free less a margin]",
    )
    group.add_argument(
        "--batch-bases", type=count, metavar="N", help="most read bases in one batch [by the memory budget]"
    )


def add_reporting(parser: argparse.ArgumentParser, metrics: bool = True) -> None:
    """--no-progress -q -v --log --metrics; read by `readwarp.cli.reporting`."""
    group = parser.add_argument_group("messages")
    group.add_argument("--no-progress", action="store_true", help="log lines instead of a progress bar")
    group.add_argument("-q", "--quiet", action="store_true", help="warnings and errors only")
    group.add_argument("-v", "--verbose", action="store_true", help="more log lines; the traceback of an error")
    group.add_argument("--log", type=Path, metavar="FILE", help="write log lines to FILE too")
    if metrics:
        group.add_argument("--metrics", type=Path, metavar="FILE", help="write counts and times as JSON to FILE")
    else:
        parser.set_defaults(metrics=None)


def add_output(parser: argparse.ArgumentParser, text: str) -> None:
    """-o -f."""
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=text)
    parser.add_argument("-f", "--force", action="store_true", help="replace an output that exists")


def add_resume(group: "argparse._ActionsContainer") -> None:
    """--resume."""
    group.add_argument(
        "--resume",
        action="store_true",
        help="keep what is done in a folder beside the output, and go on from there when this is run again",
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """REF, READS and how reads are to be taken."""
    parser.add_argument("reference", type=Path, metavar="REF", help="FASTA, GenBank or EMBL; may be gzipped")
    parser.add_argument(
        "reads",
        nargs="+",
        metavar="READS",
        help="FASTQ (plain or gzip), BAM, uBAM or CRAM, - is stdin. Two FASTQ files are mates; more are further pairs",
    )
    group = parser.add_argument_group("reads")
    group.add_argument(
        "-R",
        "--read-group",
        action="append",
        metavar="LINE",
        help=r"'@RG\tID:x\tSM:y'; once for all inputs or once for each [ID and SM from the file name]",
    )
    group.add_argument(
        "-p", "--interleaved", action="store_true", help="each FASTQ file holds mates one after the other"
    )
    group.add_argument("--single", action="store_true", help="FASTQ files hold single reads, even when there are two")
    group.add_argument("-C", "--comments", action="store_true", help="FASTQ comments are SAM tags: keep them")


def add_scoring(parser: argparse.ArgumentParser, short: bool = True) -> None:
    """-A -B -O -E -L as in bwa mem."""
    default = Scoring()
    group = parser.add_argument_group("scores (as in bwa mem)")
    for letter, name, field, text in (
        ("-A", "--match", "match", "score of a match"),
        ("-B", "--mismatch", "mismatch", "penalty of a mismatch"),
        ("-O", "--gap-open", "gap_open", "penalty of opening a gap"),
        ("-E", "--gap-extend", "gap_extend", "penalty of each base in a gap"),
        ("-L", "--clip", "end_bonus", "penalty of clipping a read end"),
    ):
        value = getattr(default, field)
        names = (letter, name) if short else (name,)
        group.add_argument(*names, type=natural, metavar="N", help=f"{text} [{value}]")


def add_calling(parser: argparse.ArgumentParser) -> None:
    """-r -L --ploidy --gvcf --alleles, qualities, and limits of filters."""
    group = parser.add_argument_group("calling")
    group.add_argument(
        "-r",
        "--region",
        action="append",
        metavar="R",
        help="NAME, NAME:FROM (to its end) or NAME:FROM-TO; may be repeated [everything]",
    )
    group.add_argument("-L", "--targets", type=Path, metavar="BED", help="call in the intervals of a BED file")
    group.add_argument("--gvcf", action="store_true", help="also say how sure the reference is, in blocks (one sample)")
    group.add_argument("--alleles", type=Path, metavar="VCF", help="genotype the alleles of this file in any case")
    _add_fields(group, CALLING)
    group.add_argument(
        "--ploidy-bed", type=Path, metavar="BED", help="intervals with a ploidy of their own, in the fourth column"
    )
    add_filters(parser)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Limits of filters."""
    _add_fields(parser.add_argument_group("filters (a call that fails one is written with its name)"), FILTER_LIMITS)


def _add_fields(group: "argparse._ArgumentGroup", rows: Iterable[tuple[str, str]]) -> None:
    """An option for each field of `CallParameters`."""
    default = CallParameters()
    for field, text in rows:
        value = getattr(default, field)
        kind, help_text = natural if isinstance(value, int) else number, f"{text} [{value:g}]"
        group.add_argument(f"--{field.replace('_', '-')}", type=kind, metavar="N", help=help_text)
