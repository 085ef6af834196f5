"""The commands that make a job of their arguments and run it."""

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from readwarp.cli import options as shared
from readwarp.config import commands


class JobCommand(NamedTuple):
    """A command, with the room of its `make_job` and the function that runs the job."""

    options: type
    arguments: tuple[dict[str, Any], ...]  # positional ones, as argparse takes them
    maker: str
    runner: str  # room:function


def several(dest: str, metavar: str, text: str) -> dict[str, Any]:
    """Describe an argument for any number of inputs, by name or as @FILE."""
    return {"dest": dest, "metavar": metavar, "help": text, "nargs": "*"}


PARTS = "unsorted parts and lanes of `readwarp align`, BAM or CRAM"
ALIGNMENTS = "sorted, indexed BAM or CRAM; - is sorted BAM, CRAM or SAM on stdin; @FILE lists files"
MOLECULES = "BAM or CRAM with MI tags, sorted by coordinate or grouped by MI"
GVCF = "sorted gVCF of readwarp, GATK, DeepVariant or bcftools; @FILE is a list of files"
NORMALS = "sorted calls of a normal by itself (--somatic or --mixture); @FILE is a list of files"
ONE_BAM = {"dest": "alignments", "type": Path, "metavar": "BAM", "help": MOLECULES}
SOURCE = ({**shared.REFERENCE, "help": "FASTA, GenBank or EMBL, also compressed"},)
READS, BAMS = (shared.REFERENCE, shared.READS), ({**ONE_BAM, "nargs": "+", "help": PARTS},)
ALIGNED = (shared.REFERENCE, several("alignments", "ALIGNMENTS", ALIGNMENTS))
COHORT, CALLS = (shared.REFERENCE, several("inputs", "GVCF", GVCF)), (several("inputs", "VCF", NORMALS),)
JOBS = {
    "index": JobCommand(commands.IndexOptions, SOURCE, "index.api", "index.api:run_index"),
    "align": JobCommand(commands.AlignOptions, READS, "align.api", "align.job:run_align"),
    "merge": JobCommand(commands.MergeOptions, BAMS, "align.merge_api", "align.merge:run_merge"),
    "consensus": JobCommand(commands.ConsensusOptions, (ONE_BAM,), "molecules.api", "molecules.job:run_consensus"),
    "call": JobCommand(commands.CallOptions, ALIGNED, "caller.api", "caller.job:run_call"),
    "genotype": JobCommand(commands.GenotypeOptions, COHORT, "cohort.api", "cohort.job:run_genotype"),
    "panel": JobCommand(commands.PanelOptions, CALLS, "somatic.panel.api", "somatic.panel.job:run_panel"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    job = JOBS[parser.prog.split()[-1]]
    for argument in job.arguments:
        parser.add_argument(**argument)
    shared.add_options(parser, job.options)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.reporting import run_job

    job = JOBS[options.command]
    room, function = job.runner.split(":")
    make, run = import_module(f"readwarp.{job.maker}").make_job, getattr(import_module(f"readwarp.{room}"), function)
    run_job(options, job.options, make, run, *(getattr(options, each["dest"]) for each in job.arguments))
