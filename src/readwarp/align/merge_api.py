"""readwarp.merge: the command `readwarp merge` in Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from readwarp.align.merge import SORT_BYTES, MergeJob, run_merge
from readwarp.config import DuplicateRules
from readwarp.config.combinations import check_together
from readwarp.config.commands import MergeOptions
from readwarp.config.declare import chosen
from readwarp.config.options import RecordOptions
from readwarp.errors import UsageError
from readwarp.python.keywords import AnyPath, command_line, path_or_none
from readwarp.stream.choice import resources_of
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Result


def merge(
    *alignments: AnyPath, output: AnyPath, progress: Listener | bool | None = None, **options: Unpack[MergeOptions]
) -> Result:
    """Merge parts and lanes of `readwarp.align` into one file, sorted, marked and indexed, like `readwarp merge`.

    alignments: BAM and CRAM files written without sorting. output: .sam, .bam or .cram. progress: a function called
    with a `Progress`, True for a bar, False for none; None: a bar in a notebook.

        readwarp.merge("lane1.bam", "lane2.bam", output="sample.bam", mark_duplicates=True, write_index=True)

    Returns the paths written (alignments, alignments_index) and the metrics. Raises UsageError and InputError, each a
    ReadwarpError; there is no output then.
    """
    command = command_line("merge", MergeOptions, options, *alignments, output=output)
    with reporting(command, progress) as reporter:
        return run_merge(make_job(alignments, output, options, command), reporter)


def make_job(alignments: Sequence[AnyPath], output: AnyPath | None, options: MergeOptions, command: str) -> MergeJob:
    """Make the job that these options ask for. Raises UsageError."""
    if output is None:
        raise UsageError("merge needs an output file: name it with -o")
    if not alignments:
        raise UsageError("no alignments are given")
    sorting, resources = chosen(RecordOptions(), options), resources_of(options)
    return MergeJob(
        alignments=tuple(map(Path, alignments)),
        output=Path(output),
        sort=sorting.order,
        mark_duplicates=sorting.mark_duplicates,
        duplicates=rules_of(options),
        write_index=sorting.write_index,
        reference=path_or_none(options.get("reference")),
        command=None if sorting.no_pg else command,
        threads=resources.threads,
        memory=resources.memory or SORT_BYTES,
        force=options.get("force", False),
    )


def rules_of(options: MergeOptions) -> DuplicateRules:
    """Return the duplicate rules of the options. Raises UsageError."""
    check_together("merge", options)
    if (umi := options.get("umi")) not in (None, "tag"):
        raise UsageError(f"--umi {umi}: files of `readwarp align` have their UMIs in RX: --umi tag")
    return DuplicateRules(umi is not None, options.get("umi_duplex", False))
