"""merge: alignments of parts and lanes to one file, sorted, marked and indexed."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.errors import UsageError

EPILOG = """\
examples:
  readwarp merge part.*.bam -o sample.bam --sort coordinate --mark-duplicates --write-index
  readwarp merge lane1.bam lane2.bam -o sample.cram --reference ref.fa --sort coordinate --mark-duplicates

Inputs are BAM files that `readwarp align` wrote without --sort. Parts (--part I/N) are put together as if they had been
aligned in one run, lanes in the order given as if they had been its inputs; so the records are those of that run.
"""
SORTS = ("coordinate", "name", "none")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("alignments", nargs="+", type=Path, metavar="BAM", help="parts and lanes, not sorted")
    shared.add_output(parser, "BAM, CRAM or SAM by its ending; - is SAM on stdout")
    group = parser.add_argument_group("output")
    group.add_argument("--sort", choices=SORTS, default="none", help="order of the records [none: as the reads came]")
    group.add_argument("--mark-duplicates", action="store_true", help="flag duplicates; needs --sort coordinate")
    group.add_argument("--write-index", action="store_true", help="write .bai or .crai; needs --sort coordinate")
    group.add_argument("--reference", type=Path, metavar="REF", help="for CRAM")
    group.add_argument("--no-pg", action="store_true", help="no @PG line of this command in the header")
    group = parser.add_argument_group("resources (none of them changes the output)")
    group.add_argument("-t", "--threads", type=shared.count, metavar="N", help="CPU threads [all it may use]")
    group.add_argument("--memory", type=shared.size, metavar="SIZE", help="for sorting [1G]")
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> int:
    from readwarp.align.merge import SORT_BYTES, MergeJob, run_merge
    from readwarp.cli.reporting import CommandReporter
    from readwarp.device.machine import usable_threads

    if options.output is None:
        raise UsageError("merge needs an output file (-o)")
    job = MergeJob(
        alignments=tuple(options.alignments),
        output=options.output,
        sort=options.sort,
        mark_duplicates=options.mark_duplicates,
        write_index=options.write_index,
        reference=options.reference,
        command=None if options.no_pg else options.command_line,
        threads=options.threads or usable_threads(),
        memory=options.memory or SORT_BYTES,
        force=options.force,
    )
    with CommandReporter(options) as reporter:
        run_merge(job, reporter)
    return 0
