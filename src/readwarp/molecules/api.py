"""Provide readwarp.consensus, the command `readwarp consensus` from Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from readwarp.config import ConsensusParameters
from readwarp.config.combinations import check_together
from readwarp.device.machine import usable_threads
from readwarp.errors import UsageError
from readwarp.formats.common.names import text_problem
from readwarp.keywords import AnyPath, bytes_of, check_keywords, command_line, defaults_of, path_or_none, pick
from readwarp.molecules.job import GROUP, ConsensusJob, run_consensus
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Result

PARAMETERS = {  # options, fields of ConsensusParameters
    "max_reads": "max_reads",
    "min_input_base_quality": "min_input_base_quality",
    "error_rate_pre_umi": "error_rate_pre_umi",
    "error_rate_post_umi": "error_rate_post_umi",
    "min_consensus_base_quality": "min_consensus_base_quality",
    "consensus_call_overlapping_bases": "overlapping",
    "duplex": "duplex",
    "require_single_strand_agreement": "strand_agreement",
    "max_read_error_rate": "max_read_error_rate",
    "max_base_error_rate": "max_base_error_rate",
    "max_no_calls": "max_no_calls",
}


DEFAULTS = {
    **defaults_of(ConsensusParameters(), PARAMETERS),
    "min_reads": ConsensusParameters().min_reads,
    "output_per_base_tags": True,
    "read_group_id": GROUP,
}


class ConsensusOptions(TypedDict, total=False):
    """Long options of `readwarp consensus`, with its defaults."""

    duplex: bool  # both strands of a molecule to one read; MI ends in /A or /B
    min_reads: int | Sequence[int]  # of a family; of duplexes [total, larger strand, smaller strand]
    max_reads: int | None  # of a family
    min_input_base_quality: int  # bases of lower quality say nothing
    error_rate_pre_umi: int  # Phred
    error_rate_post_umi: int  # Phred
    consensus_call_overlapping_bases: bool  # mates agree on the bases that both have read
    min_consensus_base_quality: int  # bases of lower quality become N
    require_single_strand_agreement: bool  # of duplexes: bases on which the strands differ become N
    max_base_error_rate: float  # bases of which a larger share of the reads differs become N
    max_read_error_rate: float  # reads of whose bases a larger share differs are left out
    max_no_calls: float  # reads with a larger share of N are left out
    output_per_base_tags: bool  # cd, ce and their like
    read_group_id: str
    read_name_prefix: str | None  # None: the libraries and read groups
    reference: AnyPath | None  # FASTA, for CRAM
    no_pg: bool  # no @PG line in the header
    threads: int | None  # None: all that this process may use
    memory: int | str | None  # bytes, or a text such as "8G"; None: what is free, less a margin
    force: bool  # replace an output that exists


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
    check_keywords("consensus", options, ConsensusOptions)
    command = command_line("consensus", alignments, output=output, **options)
    with reporting(command, progress) as reporter:
        return run_consensus(make_job(alignments, output, options, command), reporter)


def make_job(alignments: AnyPath, output: AnyPath | None, options: ConsensusOptions, command: str) -> ConsensusJob:
    """Make the job. Raises UsageError."""
    check_together("consensus", options)
    if output is None:
        raise UsageError("consensus needs an output file (-o)")
    for name in ("read_group_id", "read_name_prefix"):
        if problem := text_problem(str(options.get(name) or GROUP)):
            raise UsageError(f"--{name.replace('_', '-')}: {problem}")
    memory = options.get("memory")
    return ConsensusJob(
        alignments=Path(alignments),
        output=Path(output),
        parameters=make_parameters(options),
        reference=path_or_none(options.get("reference")),
        read_group_id=options.get("read_group_id") or GROUP,
        read_name_prefix=options.get("read_name_prefix"),
        per_base_tags=options.get("output_per_base_tags", True),
        command=None if options.get("no_pg") else command,
        threads=options.get("threads") or usable_threads(),
        memory=None if memory is None else bytes_of(memory),
        force=options.get("force", False),
    )


def make_parameters(options: ConsensusOptions) -> ConsensusParameters:
    given: dict[str, Any] = pick(options, PARAMETERS)
    reads = options.get("min_reads")
    if reads is not None:
        given["min_reads"] = (reads,) if isinstance(reads, int) else tuple(reads)
    return ConsensusParameters(**given)
