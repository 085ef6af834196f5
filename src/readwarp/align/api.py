"""readwarp.align: the command `readwarp align` in Python."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from readwarp.align.alternates import find_alternates
from readwarp.align.inputs import ReadOptions, open_inputs
from readwarp.align.job import AlignJob, run_align
from readwarp.align.pair import given
from readwarp.align.trim.options import TrimOptions, parameters_of
from readwarp.batches import InsertSizes
from readwarp.config import (
    MAX_INTEGER,
    MAX_PLACES,
    PRESETS,
    AlignParameters,
    PairParameters,
    RecordParameters,
    Scoring,
    SeedParameters,
    find_preset,
)
from readwarp.config.combinations import check_together
from readwarp.errors import UsageError
from readwarp.formats.alignments.output import sort_for
from readwarp.formats.common.files import check_inputs
from readwarp.keywords import AnyPath, check_keywords, command_line, defaults_of, path_or_none, pick
from readwarp.stream.choice import ResourceOptions, resources_of
from readwarp.stream.display import Listener, reporting
from readwarp.stream.parts import WHOLE, parse_part
from readwarp.stream.reporter import Result

SCORES = {name: name for name in ("match", "mismatch", "gap_open", "gap_extend")} | {"clip": "end_bonus"}
RECORDS = {"min_score": "min_score", "soft_clip": "soft_clip_supplementary", "eqx": "eqx", "cs": "cs"}
RECORDS |= {"five_prime": "five_prime_primary", "split_secondary": "splits_as_secondary"}

DEFAULTS = defaults_of(Scoring(), SCORES) | defaults_of(RecordParameters(), RECORDS)
ALTERNATES = {"alt", "no_alt"}  # options that are not parameters


class IndexPathOptions(TypedDict, total=False):
    index: AnyPath | None  # of the reference, built there if absent; None: REF.rwx, or in the cache folder


class AlignmentOptions(TypedDict, total=False):
    preset: str | None  # of `config.PRESETS`; None: standard, with the seeds of the existing index
    insert_size: float | tuple[float | int, ...] | None  # mean[, deviation[, max[, min]]]; None: estimated
    min_score: int  # lowest score to report
    soft_clip: bool  # in supplementary alignments, instead of hard clips
    eqx: bool  # = and X in CIGARs instead of M
    cs: str  # minimap2's cs tag: short, long, or none
    all_hits: bool  # all other places of a read are secondary records
    secondary: int | None  # maximum number of secondary records, best first; None: such places go to XA if they are few
    split_secondary: bool  # parts of a split read other than the primary are secondary, not supplementary
    five_prime: bool  # the part of a split read that was sequenced first is primary
    alt: AnyPath | None  # bwa's file of ALT contigs; None: REF.alt or REF.64.alt beside the reference, if there is one
    no_alt: bool  # treat ALT contigs like any other
    no_rescue: bool  # do not search for mates near each other
    no_pairing: bool  # place each mate on its own


class ScoringOptions(TypedDict, total=False):
    """Scores and penalties, all as magnitudes. A gap of n bases costs gap_open + n * gap_extend."""

    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
    clip: int  # cost of clipping a read end


class AlignOptions(
    ReadOptions, IndexPathOptions, AlignmentOptions, ScoringOptions, TrimOptions, ResourceOptions, total=False
):
    """Long options of `readwarp align`, with its defaults."""

    sort: str | None  # coordinate, name, none; None: coordinate if that is needed to mark duplicates or write an index
    mark_duplicates: bool
    write_index: bool
    paf: bool  # PAF instead of SAM; also by the output's name
    no_pg: bool  # no @PG line in the header
    part: str | None  # I/N: every N-th block of reads, from the I-th
    resume: bool  # keep intermediate results beside the output, and continue from them
    force: bool  # replace an existing output


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
    check_keywords("align", options, AlignOptions)
    command = command_line("align", reference, *reads, output=output, **options)
    with reporting(command, progress) as reporter:
        return run_align(make_job(reference, reads, output, options, command), reporter)


def make_job(
    reference: AnyPath, reads: Sequence[AnyPath], output: AnyPath | None, options: AlignOptions, command: str
) -> AlignJob:
    """Make the job that these options ask for. Raises InputError and UsageError."""
    if not reads:
        raise UsageError("no files of reads are given")
    part, parameters = options.get("part"), alignment_parameters(options)
    marks, indexes = options.get("mark_duplicates", False), options.get("write_index", False)
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
        sort=sort_for(options.get("sort"), marks, indexes),
        mark_duplicates=marks,
        write_index=indexes,
        insert_sizes=given_sizes(options),
        command=None if options.get("no_pg") else command,
        part=parse_part(part) if part else WHOLE,
        resume=options.get("resume", False),
        force=options.get("force", False),
    )


def alignment_parameters(options: AlignmentOptions) -> AlignParameters:
    """Return the parameters for these options of aligning, scoring and trimming. Raises UsageError."""
    check_together("align", options)
    every: Any = options
    own = PRESETS[find_preset(options.get("preset") or "standard")].parameters
    return replace(
        own,
        seed=seeds_of(own.seed, options),
        scoring=replace(own.scoring, **pick(every, SCORES)),
        records=records_of(own.records, options),
        pair=pairs_of(own, options),
        trim=parameters_of(every),
    )


def alternates_of(reference: Path | None, options: AlignmentOptions) -> Path | None:
    """Return the file of ALT contigs: the given one, or the one beside the reference. Raises InputError."""
    if given := options.get("alt"):
        check_inputs([given])
        return Path(given)
    return None if options.get("no_alt") or reference is None else find_alternates(reference)


def given_sizes(options: AlignmentOptions) -> InsertSizes | None:
    """Return the given insert sizes, if any."""
    size = options.get("insert_size")
    sizes: tuple[Any, ...] = size if isinstance(size, tuple) else (size,)
    return None if size is None else given(*sizes)


def seeds_of(preset: SeedParameters, options: AlignmentOptions) -> SeedParameters:
    """Look for other places, however much worse, if all hits are asked for."""
    wants_hits = options.get("all_hits") or options.get("secondary") is not None
    return replace(preset, margin=MAX_INTEGER) if wants_hits else preset


def records_of(preset: RecordParameters, options: AlignmentOptions) -> RecordParameters:
    """Return the record parameters for these options. Raises UsageError."""
    records = replace(preset, **pick(options, RECORDS))
    number = options.get("secondary")
    if options.get("all_hits"):
        return replace(records, secondary_records=True, max_secondary=MAX_PLACES, secondary_ratio=0.0)
    if number is None:
        return records
    if not 0 <= number <= MAX_PLACES:
        raise UsageError(f"--secondary must be 0 to {MAX_PLACES}")
    return replace(records, secondary_records=True, max_secondary=number)


def pairs_of(preset: AlignParameters, options: AlignmentOptions) -> PairParameters:
    """Look at as many places as were asked for and can be found."""
    rescue, pairing = not options.get("no_rescue"), not options.get("no_pairing")
    wanted = MAX_PLACES if options.get("all_hits") else 1 + (options.get("secondary") or 0)
    most = max(preset.pair.max_candidates, min(wanted, preset.chain.max_chains))
    return replace(preset.pair, rescue=rescue, pairing=pairing, max_candidates=most)
