"""pairwise: align pairs of sequences."""

import argparse

from readwarp.cli import options as shared
from readwarp.config.commands import PairwiseOptions
from readwarp.config.options import PairOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("queries", metavar="QUERIES", help="FASTA or FASTQ")
    parser.add_argument("targets", metavar="TARGETS", help="FASTA or FASTQ")
    shared.add_options(parser, PairwiseOptions, metrics=False)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.ending import conclude
    from readwarp.cli.reporting import CommandReporter
    from readwarp.config import Scoring
    from readwarp.config.declare import chosen
    from readwarp.pairwise.job import PairwiseJob, run_pairwise
    from readwarp.stream.choice import resources_of

    given = shared.pick_keywords(options, PairwiseOptions)
    resources = resources_of(given)
    job = PairwiseJob(
        queries=options.queries,
        targets=options.targets,
        output=options.output,
        **vars(chosen(PairOptions(), given)),
        scoring=chosen(Scoring(), given),
        device=resources.device,
        threads=resources.threads,
        command=options.command_line,
        force=bool(options.force),
    )
    with CommandReporter(options):
        run_pairwise(job)
        conclude(options, {"alignments": options.output} if options.output else {})
