"""readwarp.merge: the command `readwarp merge` in Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from readwarp.align.merge import SORT_BYTES, MergeJob, run_merge
from readwarp.config import DuplicateRules
from readwarp.config.combinations import check_together
from readwarp.device.machine import usable_threads
from readwarp.errors import UsageError
from readwarp.formats.alignments.output import sort_for
from readwarp.keywords import AnyPath, bytes_of, check_keywords, command_line, path_or_none
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Result


class MergeOptions(TypedDict, total=False):
    """Long options of `readwarp merge`, with its defaults."""

    sort: str | None  # coordinate, name, none; None: coordinate if that is needed to mark duplicates or write an index
    mark_duplicates: bool
    write_index: bool
    umi: str | None  # tag: duplicates are copies of one molecule, by the UMIs that align --umi wrote to RX
    umi_duplex: bool  # UMIs have two parts, swapped on the other strand of a molecule
    reference: AnyPath | None  # for CRAM input and output
    no_pg: bool  # no @PG line in the header
    threads: int | None  # None: all that this process may use
    memory: int | str | None  # bytes, or a text such as "8G", for sorting; None: 1 GiB
    force: bool  # replace an existing output


def merge(
    *alignments: AnyPath,
    output: AnyPath,
    progress: Listener | bool | None = None,
    **options: Unpack[MergeOptions],
) -> Result:
    """Merge parts and lanes of `readwarp.align` into one file, sorted, marked and indexed, like `readwarp merge`.

    alignments: BAM and CRAM files written without sorting. output: .sam, .bam or .cram. progress: a function called
    with a `Progress`, True for a bar, False for none; None: a bar in a notebook.

        readwarp.merge("lane1.bam", "lane2.bam", output="sample.bam", mark_duplicates=True, write_index=True)

    Returns the paths written (alignments, alignments_index) and the metrics. Raises UsageError and InputError, each a
    ReadwarpError; there is no output then.
    """
    check_keywords("merge", options, MergeOptions)
    command = command_line("merge", *alignments, output=output, **options)
    with reporting(command, progress) as reporter:
        return run_merge(make_job(alignments, output, options, command), reporter)


def make_job(alignments: Sequence[AnyPath], output: AnyPath | None, options: MergeOptions, command: str) -> MergeJob:
    """Make the job that these options ask for. Raises UsageError."""
    if output is None:
        raise UsageError("merge needs an output file (-o)")
    if not alignments:
        raise UsageError("no alignments are given")
    marks, indexes = options.get("mark_duplicates", False), options.get("write_index", False)
    return MergeJob(
        alignments=tuple(map(Path, alignments)),
        output=Path(output),
        sort=sort_for(options.get("sort"), marks, indexes),
        mark_duplicates=marks,
        duplicates=rules_of(options),
        write_index=indexes,
        reference=path_or_none(options.get("reference")),
        command=None if options.get("no_pg") else command,
        threads=options.get("threads") or usable_threads(),
        memory=bytes_of(options.get("memory") or SORT_BYTES),
        force=options.get("force", False),
    )


def rules_of(options: MergeOptions) -> DuplicateRules:
    """Return the duplicate rules of the options. Raises UsageError."""
    check_together("merge", options)
    if (umi := options.get("umi")) not in (None, "tag"):
        raise UsageError(f"--umi {umi}: files of `readwarp align` have their UMIs in RX: --umi tag")
    return DuplicateRules(umi is not None, options.get("umi_duplex", False))
