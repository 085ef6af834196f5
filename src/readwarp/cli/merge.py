"""merge: alignments of parts and lanes to one file, sorted, marked and indexed."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.errors import UsageError

EPILOG = """\
examples:
  readwarp merge part.*.bam -o sample.bam --mark-duplicates --write-index
  readwarp merge lane1.bam lane2.bam -o sample.cram --reference ref.fa --mark-duplicates

Inputs are BAM files that `readwarp align` wrote without --sort. The records are those of a single run of `align`, as if
parts (--part I/N) had never been split, and lanes, in the order given, had been its inputs.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("alignments", nargs="+", type=Path, metavar="BAM", help="parts and lanes, not sorted")
    shared.add_output(parser, "BAM, CRAM or SAM, by its ending; - is SAM on stdout")
    group = shared.add_sorting(parser)
    group.add_argument("--reference", type=Path, metavar="REF", help="for CRAM; FASTA or its index (.rwx)")
    group.add_argument("--no-pg", action="store_true", help="no @PG line of this command in the header")
    shared.add_host_resources(parser, "memory for sorting [1G]")
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> None:
    from readwarp.align.merge import SORT_BYTES, MergeJob, run_merge
    from readwarp.cli.reporting import CommandReporter
    from readwarp.device.machine import usable_threads
    from readwarp.formats.alignments.output import sort_for

    if options.output is None:
        raise UsageError("merge needs an output file (-o)")
    job = MergeJob(
        alignments=tuple(options.alignments),
        output=options.output,
        sort=sort_for(options.sort, options.mark_duplicates, options.write_index),
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
