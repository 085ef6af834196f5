"""index: a reference to REF.rwx, or another name."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.config import PRESETS

EPILOG = """\
examples:
  readwarp index ref.fa                    ref.fa.rwx, for reads of 75 bases and more
  readwarp index --preset short ref.fa     for shorter reads

align and run build the index if it does not exist.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="REF", type=Path, help="FASTA, GenBank or EMBL, also compressed")
    shared.add_output(parser, "the index [REF.rwx]")
    shared.add_host_resources(parser)
    group = parser.add_argument_group("seeds")
    shared.add_preset(group, PRESETS)
    group.add_argument("-k", type=shared.count, metavar="N", help="seed length, in bases [by the preset]")
    group.add_argument("-s", type=shared.count, metavar="N", help="syncmer word length, in bases [by the preset]")
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.ending import conclude
    from readwarp.cli.options import pick_keywords
    from readwarp.cli.reporting import CommandReporter
    from readwarp.index.api import IndexOptions, make_job, run_index

    with CommandReporter(options) as reporter:
        job = make_job(options.reference, options.output, pick_keywords(options, IndexOptions))
        conclude(options, run_index(job, reporter).paths)
