"""consensus: the reads of each molecule to one read."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.config import ConsensusParameters

EPILOG = """\
examples:
  readwarp consensus sample.bam -o consensus.bam --min-reads 2
  readwarp consensus sample.bam -o duplex.bam --duplex --min-reads 3,2,1
  readwarp align ref.fa consensus.bam -o consensus.aligned.bam --sort coordinate

The input has molecules in the tag MI, as `readwarp align --umi ... --mark-duplicates` and fgbio GroupReadsByUmi write
it. Options are those of fgbio CallMolecularConsensusReads, CallDuplexConsensusReads and FilterConsensusReads.
"""
QUALITIES = (  # fields of `ConsensusParameters`
    ("min_input_base_quality", "ignore input bases with quality < Q"),
    ("error_rate_pre_umi", "Phred-scaled error rate before the UMI was attached"),
    ("error_rate_post_umi", "Phred-scaled error rate after that, before sequencing"),
)
RATES = (
    ("max_read_error_rate", "drop reads if more than this fraction of their bases differs from the consensus"),
    ("max_base_error_rate", "mask bases (N) on which more than this fraction of the reads differs"),
    ("max_no_calls", "drop reads with more than this fraction of N"),
)


def whole_numbers(text: str) -> list[int]:
    """Parse `3,2,1` or `3 2 1`."""
    return [shared.natural(number) for number in text.replace(",", " ").split()]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "BAM or CRAM with MI tags, sorted by coordinate or grouped by MI"
    parser.add_argument("alignments", type=Path, metavar="BAM", help=text)
    shared.add_output(parser, "unaligned reads, interleaved: .bam, .sam, .fq.gz or .fq; - is SAM on stdout")
    add_molecules(parser.add_argument_group("molecules"))
    add_filters(parser.add_argument_group("filters"))
    group = parser.add_argument_group("output")
    text = "write per-base tags [yes]"
    group.add_argument("--output-per-base-tags", action=argparse.BooleanOptionalAction, default=True, help=text)
    group.add_argument("--read-group-id", metavar="ID", help="ID of the output's read group [A]")
    text = "prefix of read names, NAME:MI [libraries and read groups, LB.ID]"
    group.add_argument("--read-name-prefix", metavar="NAME", help=text)
    text = "FASTA or index (.rwx), for CRAM input [found by M5: UR, REF_CACHE, REF_PATH]"
    group.add_argument("--reference", type=Path, metavar="REF", help=text)
    group.add_argument("--no-pg", action="store_true", help="write no @PG line of this command")
    shared.add_host_resources(parser)
    shared.add_reporting(parser)


def add_molecules(group: "argparse._ArgumentGroup") -> None:
    default = ConsensusParameters()
    text = "join both strands of a molecule (MI ends in /A and /B)"
    group.add_argument("--duplex", action="store_true", help=text)
    text = "minimum reads per molecule; with --duplex TOTAL,LARGER,SMALLER of both strands and of each [1]"
    group.add_argument("--min-reads", type=whole_numbers, metavar="N", help=text)
    text = "use at most N reads per strand, chosen by hashes of their names [all]"
    group.add_argument("--max-reads", "--max-reads-per-strand", type=shared.count, metavar="N", help=text)
    for field, text in QUALITIES:
        value = getattr(default, field)
        group.add_argument(f"--{field.replace('_', '-')}", type=shared.natural, metavar="Q", help=f"{text} [{value}]")
    text = "first reconcile the bases that both mates have read [yes]"
    group.add_argument(
        "--consensus-call-overlapping-bases", action=argparse.BooleanOptionalAction, default=True, help=text
    )


def add_filters(group: "argparse._ArgumentGroup") -> None:
    default = ConsensusParameters()
    text = f"mask (N) bases with quality < Q [{default.min_consensus_base_quality}]"
    group.add_argument("--min-consensus-base-quality", type=shared.natural, metavar="Q", help=text)
    for field, text in RATES:
        value = getattr(default, field)
        group.add_argument(f"--{field.replace('_', '-')}", type=shared.number, metavar="X", help=f"{text} [{value:g}]")
    text = "mask (N) bases on which the strands differ (--duplex)"
    group.add_argument("--require-single-strand-agreement", action="store_true", help=text)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.ending import conclude
    from readwarp.cli.options import pick_keywords
    from readwarp.cli.reporting import CommandReporter
    from readwarp.molecules.api import ConsensusOptions, make_job
    from readwarp.molecules.job import run_consensus

    given = pick_keywords(options, ConsensusOptions)
    job = make_job(options.alignments, options.output, given, options.command_line)
    with CommandReporter(options) as reporter:
        conclude(options, run_consensus(job, reporter).paths)
