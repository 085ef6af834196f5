"""`readwarp pairwise`: align pairs of sequences."""

import argparse

from readwarp.cli import options as shared
from readwarp.config import Scoring

EPILOG = """\
QUERIES and TARGETS are FASTA or FASTQ, plain or gzip. The i-th query is aligned with the i-th target; a file with a
single record is paired with every record of the other. Columns of the TSV: query, target, score, query start and
stop, target start and stop (0-based, half-open), CIGAR; without --traceback the starts and the CIGAR are left out.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("queries", metavar="QUERIES", help="FASTA or FASTQ")
    parser.add_argument("targets", metavar="TARGETS", help="FASTA or FASTQ")
    parser.add_argument(
        "--mode", choices=("local", "global", "semiglobal"), default="local",
        help="semiglobal: the whole query in a part of the target [local]",
    )  # fmt: skip
    shared.add_output(parser, "write to FILE [stdout]")
    parser.add_argument("--format", choices=("tsv", "sam"), default="tsv", help="[tsv]")
    parser.add_argument(
        "--traceback", action=argparse.BooleanOptionalAction, default=True, help="CIGARs, or scores alone [yes]"
    )
    scores, group = Scoring(), parser.add_argument_group("scoring (a gap of n bases costs O + n * E)")
    for short, name, default in (
        ("-A", "match", scores.match), ("-B", "mismatch", scores.mismatch),
        ("-O", "gap-open", scores.gap_open), ("-E", "gap-extend", scores.gap_extend),
    ):  # fmt: skip
        group.add_argument(short, f"--{name}", type=int, default=default, metavar="N", help=f"[{default}]")
    parser.add_argument(
        "-t", "--threads", type=shared.count, metavar="N", help="CPU threads [all this process may use]"
    )
    parser.add_argument("--device", default="auto", metavar="D", help="auto, cpu, cuda or cuda:0,1 [auto]")
    parser.add_argument("-v", "--verbose", action="store_true", help="the traceback of an error")


def run(options: argparse.Namespace) -> int:
    from readwarp.device.machine import usable_threads
    from readwarp.pairwise.job import PairwiseJob, run_pairwise

    job = PairwiseJob(
        queries=options.queries,
        targets=options.targets,
        output=options.output,
        format=options.format,
        mode=options.mode,
        traceback=options.traceback,
        scoring=Scoring(options.match, options.mismatch, options.gap_open, options.gap_extend),
        device=options.device,
        threads=options.threads or usable_threads(),
        command=options.command_line,
        force=options.force,
    )
    run_pairwise(job)
    return 0
