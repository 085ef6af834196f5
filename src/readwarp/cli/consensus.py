"""consensus: the reads of each molecule to one read."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.config.commands import ConsensusOptions

EPILOG = """\
examples:
  readwarp consensus sample.bam -o consensus.bam --min-reads 2
  readwarp consensus sample.bam -o duplex.bam --duplex --min-reads 3,2,1
  readwarp align ref.fa consensus.bam -o consensus.aligned.bam --sort coordinate

The input has molecules in the tag MI, as `readwarp align --umi ... --mark-duplicates` and fgbio GroupReadsByUmi write
it. Options are those of fgbio CallMolecularConsensusReads, CallDuplexConsensusReads and FilterConsensusReads.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "BAM or CRAM with MI tags, sorted by coordinate or grouped by MI"
    parser.add_argument("alignments", type=Path, metavar="BAM", help=text)
    shared.add_options(parser, ConsensusOptions)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.reporting import run_job
    from readwarp.molecules.api import make_job
    from readwarp.molecules.job import run_consensus

    run_job(options, ConsensusOptions, make_job, run_consensus, options.alignments)
