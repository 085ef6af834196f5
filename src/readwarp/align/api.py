"""readwarp.align: the command `readwarp align` in Python."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from readwarp import config
from readwarp.align.alternates import find_alternates
from readwarp.align.inputs import open_inputs
from readwarp.align.insert_models import InsertSizes
from readwarp.align.job import AlignJob, run_align
from readwarp.align.pair import given
from readwarp.align.trim.options import parameters_of
from readwarp.config.combinations import check_together
from readwarp.config.commands import AlignOptions
from readwarp.config.declare import chosen
from readwarp.config.options import AlignmentOptions, RecordOptions
from readwarp.errors import UsageError
from readwarp.formats.common.files import check_inputs
from readwarp.python.keywords import AnyPath, command_line, path_or_none
from readwarp.stream.choice import resources_of
from readwarp.stream.display import Listener, reporting
from readwarp.stream.parts import WHOLE, parse_part
from readwarp.stream.reporter import Result

ALTERNATES = {"alt", "no_alt"}  # options that are not parameters


def align(
    reference: AnyPath,
    *reads: AnyPath,
    output: AnyPath,
    progress: Listener | bool | None = None,
    **options: Unpack[AlignOptions],
) -> Result:
    """Align reads to a file of alignments, as `readwarp align` does.

    reference: FASTA, GenBank or EMBL, whose index is built if absent, or an index. reads: FASTQ, BAM or CRAM; two FASTQ
    files are mates, more are further pairs. progress: called now and then in this thread with a `Progress`; an
    exception from it ends the job. output: .sam, .bam, .cram or .paf. options: the long options of the command with
    underscores, such as sort="coordinate", mark_duplicates=True, write_index=True, threads=8 (`AlignOptions`).

        readwarp.align("ref.fa", "reads_1.fq.gz", "reads_2.fq.gz", output="out.bam", sort="coordinate")

    Returns the paths written (alignments, alignments_index) and the metrics. Raises UsageError, InputError,
    DeviceError, MemoryBudgetError, each a ReadwarpError; there is no output then.
    """
    command = command_line("align", AlignOptions, options, reference, *reads, output=output)
    with reporting(command, progress) as reporter:
        return run_align(make_job(reference, reads, output, options, command), reporter)


def make_job(
    reference: AnyPath, reads: Sequence[AnyPath], output: AnyPath | None, options: AlignOptions, command: str
) -> AlignJob:
    """Make the job that these options ask for. Raises InputError and UsageError."""
    if not reads:
        raise UsageError("no files of reads are given")
    part = options.get("part")
    parameters, sorting = alignment_parameters(options), chosen(RecordOptions(), options)
    return AlignJob(
        reference=Path(reference),
        inputs=open_inputs(Path(reference), [str(path) for path in reads], options),
        output=path_or_none(output),
        paf=options.get("paf", False),
        parameters=parameters,
        resources=resources_of(options),
        index=path_or_none(options.get("index")),
        alternates=alternates_of(Path(reference), options),
        seeds=parameters.seed if options.get("preset") else None,
        sort=sorting.order,
        mark_duplicates=sorting.mark_duplicates,
        write_index=sorting.write_index,
        bgzf=sorting.bgzf,
        insert_sizes=given_sizes(options),
        command=None if sorting.no_pg else command,
        part=parse_part(part) if part else WHOLE,
        resume=options.get("resume", False),
        force=options.get("force", False),
    )


def alignment_parameters(options: Mapping[str, Any]) -> config.AlignParameters:
    """Return the parameters for these options of aligning, scoring and trimming. Raises UsageError."""
    check_together("align", options)
    own = config.PRESETS[config.find_preset(options.get("preset") or "standard")].parameters
    return replace(
        own,
        seed=seeds_of(own.seed, options),
        scoring=chosen(own.scoring, options),
        records=records_of(own.records, options),
        pair=pairs_of(own, options),
        trim=parameters_of(options),
    )


def alternates_of(reference: Path | None, options: Mapping[str, Any]) -> Path | None:
    """Return the file of ALT contigs: the given one, or the one beside the reference. Raises InputError."""
    asked = chosen(AlignmentOptions(), options)
    if asked.alt:
        check_inputs([asked.alt])
        return Path(asked.alt)
    return None if asked.no_alt or reference is None else find_alternates(reference)


def given_sizes(options: Mapping[str, Any]) -> InsertSizes | None:
    """Return the given insert sizes, if any."""
    size = options.get("insert_size")
    sizes: tuple[Any, ...] = size if isinstance(size, tuple) else (size,)
    return None if size is None else given(*sizes)


def seeds_of(preset: config.SeedParameters, options: Mapping[str, Any]) -> config.SeedParameters:
    """Look for other places, however much worse, if all hits are asked for."""
    wants_hits = options.get("all_hits") or options.get("secondary") is not None
    return replace(preset, margin=config.MAX_INTEGER) if wants_hits else preset


def records_of(preset: config.RecordParameters, options: Mapping[str, Any]) -> config.RecordParameters:
    """Return the record parameters for these options. Raises UsageError."""
    records = chosen(preset, options)
    if options.get("all_hits"):
        return replace(records, max_secondary=config.MAX_PLACES, secondary_ratio=0.0)
    return records if options.get("secondary") is None else replace(records, secondary_records=True)


def pairs_of(preset: config.AlignParameters, options: Mapping[str, Any]) -> config.PairParameters:
    """Look at as many places as were asked for and can be found."""
    wanted = config.MAX_PLACES if options.get("all_hits") else 1 + (options.get("secondary") or 0)
    most = max(preset.pair.max_candidates, min(wanted, preset.chain.max_chains))
    return replace(chosen(preset.pair, options), max_candidates=most)
