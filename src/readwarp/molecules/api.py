"""Provide readwarp.consensus, the command `readwarp consensus` from Python."""

from pathlib import Path
from typing import Unpack

from readwarp.config import ConsensusParameters
from readwarp.config.combinations import check_together
from readwarp.config.commands import ConsensusOptions
from readwarp.config.declare import chosen
from readwarp.config.options import TagOptions
from readwarp.errors import UsageError
from readwarp.formats.common.names import text_problem
from readwarp.molecules.job import GROUP, ConsensusJob, run_consensus
from readwarp.python.keywords import AnyPath, command_line, path_or_none
from readwarp.stream.choice import resources_of
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Result


def consensus(
    alignments: AnyPath,
    *,
    output: AnyPath,
    progress: Listener | bool | None = None,
    **options: Unpack[ConsensusOptions],
) -> Result:
    """Merge all reads of a molecule into one, as `readwarp consensus` does.

    alignments: BAM or CRAM with molecules (MI), sorted by coordinate or grouped by MI. output: unaligned reads, .bam,
    .sam, .fq.gz or .fq, mates side by side. progress: a function that is called with a `Progress`, True for a bar,
    False for none; None: a bar in a notebook.

        readwarp.consensus("sample.bam", output="consensus.bam", duplex=True, min_reads=[3, 2, 1])

    Returns the path that was written (reads) and the metrics. Raises UsageError, InputError and
    MemoryBudgetError, each a ReadwarpError; there is no output then.
    """
    command = command_line("consensus", ConsensusOptions, options, alignments, output=output)
    with reporting(command, progress) as reporter:
        return run_consensus(make_job(alignments, output, options, command), reporter)


def make_job(alignments: AnyPath, output: AnyPath | None, options: ConsensusOptions, command: str) -> ConsensusJob:
    """Make the job. Raises UsageError."""
    check_together("consensus", options)
    if output is None:
        raise UsageError("consensus needs an output file: name it with -o")
    tags, resources = chosen(TagOptions(), options), resources_of(options)
    for flag, text in (("--read-group-id", tags.read_group_id), ("--read-name-prefix", tags.read_name_prefix)):
        if problem := text_problem(text or GROUP):
            raise UsageError(f"{flag}: {problem}")
    return ConsensusJob(
        alignments=Path(alignments),
        output=Path(output),
        parameters=chosen(ConsensusParameters(), options),
        reference=path_or_none(options.get("reference")),
        read_group_id=tags.read_group_id or GROUP,
        read_name_prefix=tags.read_name_prefix,
        per_base_tags=tags.output_per_base_tags,
        command=None if options.get("no_pg") else command,
        threads=resources.threads,
        memory=resources.memory,
        force=options.get("force", False),
    )
