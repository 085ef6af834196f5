"""index: a reference to REF.rwx, or another name."""

import argparse
import logging
import time
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.config import PRESETS, SeedParameters
from readwarp.errors import UsageError
from readwarp.wording import counted

EPILOG = """\
examples:
  readwarp index ref.fa                    ref.fa.rwx, for reads of 75 bases and more
  readwarp index --preset short ref.fa     for shorter reads

align and run build the index if it does not exist.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="REF", type=Path, help="FASTA, GenBank or EMBL; may be compressed")
    shared.add_output(parser, "the index [REF.rwx]")
    shared.add_threads(parser)
    group = parser.add_argument_group("seeds")
    group.add_argument("--preset", choices=PRESETS, default="standard", help=f"{shared.describe_presets()} [standard]")
    group.add_argument("-k", type=shared.count, metavar="N", help="length of a seed, in bases [by the preset]")
    group.add_argument("-s", type=shared.count, metavar="N", help="length of the words in a seed [by the preset]")
    shared.add_reporting(parser)


def choose_seeds(options: argparse.Namespace) -> SeedParameters:
    preset = PRESETS[options.preset].parameters.seed
    k, s = options.k or preset.k, options.s or preset.s
    if (k - s) % 2:
        raise UsageError(f"-k {k} -s {s}: k - s must be even")
    return SeedParameters(k=k, s=s, t=(k - s) // 2)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.reporting import CommandReporter
    from readwarp.device.machine import usable_threads
    from readwarp.formats.common.files import check_inputs, check_output
    from readwarp.formats.common.index_file import is_index
    from readwarp.index import Index, index_path

    started = time.perf_counter()
    parameters = choose_seeds(options)
    check_inputs([options.reference])
    if options.output is None and is_index(options.reference):
        raise UsageError(f"{options.reference}: is an index already (-o FILE makes one with other seeds from it)")
    output = options.output or index_path(options.reference)
    check_output(output, options.force, [options.reference])
    with CommandReporter(options) as reporter:
        with reporter.metrics.time("index_build"), reporter.compiling():
            index = Index.build(options.reference, parameters, options.threads or usable_threads())
        with reporter.metrics.time("index_save"):
            index.save(output, options.reference, force=True)
        contigs, bases = len(index.reference.names), int(index.reference.contig_offsets[-1])
        for name, number in (("contigs", contigs), ("bases", bases), ("seeds", index.positions.size)):
            reporter.metrics.count(f"index_{name}", number)
        logging.getLogger("readwarp").info(
            "%s: %s, %s, %s (k=%d, s=%d), %.1f s",
            output, counted(contigs, "contig"), counted(bases, "base"), counted(index.positions.size, "seed"),
            parameters.k, parameters.s, time.perf_counter() - started,
        )  # fmt: skip
