"""index: a reference to REF.rwx, or another name."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.config.commands import IndexOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="REF", type=Path, help="FASTA, GenBank or EMBL, also compressed")
    shared.add_options(parser, IndexOptions)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.ending import conclude
    from readwarp.cli.reporting import CommandReporter
    from readwarp.index.api import make_job, run_index

    with CommandReporter(options) as reporter:
        job = make_job(options.reference, options.output, shared.pick_keywords(options, IndexOptions))
        conclude(options, run_index(job, reporter).paths)
