"""pairwise: align pairs of sequences."""

import argparse

from readwarp.cli import options as shared
from readwarp.config import Scoring
from readwarp.keywords import pick

EPILOG = """\
QUERIES and TARGETS are FASTA or FASTQ, plain or compressed. The i-th query is aligned with the i-th target; a single
record is aligned with every record of the other file. Columns of the TSV: query, target, score, query start
and stop, target start and stop (0-based, half-open), CIGAR; without --traceback the starts and the CIGAR are left out.
"""
MODES = ("local", "global", "semiglobal")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("queries", metavar="QUERIES", help="FASTA or FASTQ")
    parser.add_argument("targets", metavar="TARGETS", help="FASTA or FASTQ")
    text = "local, global, or semiglobal: all of the query in part of the target [local]"
    parser.add_argument("--mode", choices=MODES, default="local", metavar="MODE", help=text)
    shared.add_output(parser, "write to FILE [stdout]")
    parser.add_argument("--format", choices=("tsv", "sam"), default="tsv", help="format of the output [tsv]")
    text = "write CIGARs and starts, not only scores [yes]"
    parser.add_argument("--traceback", action=argparse.BooleanOptionalAction, default=True, help=text)
    shared.add_scores(parser.add_argument_group("scoring (a gap of n bases costs O + n * E)"), shared.SCORES)
    shared.add_threads(parser)
    parser.add_argument("--device", default="auto", metavar="D", help="auto, cpu, cuda or cuda:0,1 [auto]")
    shared.add_reporting(parser, metrics=False)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.ending import conclude
    from readwarp.cli.reporting import CommandReporter
    from readwarp.device.machine import usable_threads
    from readwarp.pairwise.job import PairwiseJob, run_pairwise

    job = PairwiseJob(
        queries=options.queries,
        targets=options.targets,
        output=options.output,
        format=options.format,
        mode=options.mode,
        traceback=options.traceback,
        scoring=Scoring(**pick(vars(options), {field: field for _, _, field, _ in shared.SCORES})),
        device=options.device,
        threads=options.threads or usable_threads(),
        command=options.command_line,
        force=options.force,
    )
    with CommandReporter(options):
        run_pairwise(job)
        conclude(options, {"alignments": options.output} if options.output else {})
