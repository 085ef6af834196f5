"""Provide readwarp.call, the command `readwarp call` from Python."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, cast

from readwarp.call.places.targets import places_of, spell_regions
from readwarp.caller.job import run_call
from readwarp.caller.opening import CallJob
from readwarp.config import MAX_PLOIDY, CallParameters, FractionParameters, GenomeParameters, StructuralParameters
from readwarp.config.combinations import check_kind, check_together
from readwarp.config.commands import CallerOptions, CallOptions
from readwarp.config.declare import chosen, keywords_of
from readwarp.config.options import CallingOptions, FileOptions
from readwarp.formats.common.files import named_files
from readwarp.formats.common.qualities import encoding_of
from readwarp.python.keywords import AnyPath, as_paths, as_texts, check_keywords, command_line, path_or_none
from readwarp.stream.choice import resources_of
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Result

FILES = "alleles", "primers", "bam_output", "haplotag", "sv", "consensus", "population", "panel_of_normals"
OF_FRACTIONS: dict[str, Any] = {  # fields of `CallParameters` where alleles have fractions
    "ploidy": MAX_PLOIDY,
    "max_depth": 100_000,
    "max_region_reads": 1_000_000,
    "min_alternate_fraction": 0.01,
    "min_indel_fraction": 0.01,
}


def call(
    reference: AnyPath,
    alignments: AnyPath | Sequence[AnyPath],
    *,
    output: AnyPath,
    progress: Listener | bool | None = None,
    **options: Unpack[CallOptions],
) -> Result:
    """Call variants in sorted alignments, as `readwarp call` does; `readwarp.Caller` gives them one by one instead.

    reference: FASTA, GenBank, EMBL or an index. alignments: sorted and indexed BAM or CRAM, one or several files of one
    or more samples; @FILE is a list of them. output: .vcf, .vcf.gz or .bcf. progress: called now and then, in this
    thread, with a `Progress`; an exception it raises ends the job. options: the long options of the command with
    underscores, such as region=["chr20:1-1,000,000"], ploidy=1, gvcf=True, threads=8 (`CallOptions`).

        readwarp.call("ref.fa", "sample.bam", output="sample.vcf.gz")
        readwarp.call("ref.fa", ["father.bam", "mother.bam", "child.bam"], output="trio.vcf.gz")

    Returns the paths that were written (variants, variants_index) and the metrics. Raises UsageError, InputError,
    DeviceError, MemoryBudgetError, each a ReadwarpError; there is no output then.
    """
    spell_regions(options)
    command = command_line("call", CallOptions, options, reference, *as_paths(alignments), output=output)
    with reporting(command, progress) as reporter:
        return run_call(make_job(reference, alignments, output, options, command), reporter)


def make_job(
    reference: AnyPath,
    alignments: AnyPath | Sequence[AnyPath],
    output: AnyPath | None,
    options: CallOptions,
    command: str,
) -> CallJob:
    """Make the job. Raises UsageError, and InputError for a list that cannot be read."""
    names, contigs = chosen(FileOptions(), options).names(as_paths(alignments)), chosen(CallingOptions(), options)
    given = cast(Mapping[str, Any], options)
    return CallJob(
        reference=Path(reference),
        alignments=tuple(path for name in names for path in named_files(name, "BAM or CRAM")),
        output=path_or_none(output),
        parameters=call_parameters(options),
        resources=resources_of(options),
        places=places_of(options),
        samples=as_texts(options.get("sample")),
        gvcf=options.get("gvcf", False),
        ploidies=path_or_none(contigs.ploidy_bed),
        circular=as_texts(contigs.circular),
        structural=chosen(StructuralParameters(), options),
        genome=chosen(GenomeParameters(), options),
        sv_only=options.get("sv_only", False),
        phred=encoding_of(options.get("phred33", False), options.get("phred64", False)),
        command=command,
        force=options.get("force", False),
        **{name: path_or_none(given.get(name)) for name in FILES},
    )


def call_parameters(options: Mapping[str, Any]) -> CallParameters:
    """Make the parameters. Raises UsageError, also for options that cannot be combined."""
    check_together("call", options)
    if (platform := options.get("platform", "auto")) != "auto":
        check_kind("call", platform != "short", {**options, "sv": None, "sv_only": None})
    is_somatic = options.get("somatic", False)
    if not (is_somatic or options.get("mixture")):
        return chosen(CallParameters(), options)
    fractions = FractionParameters(is_somatic=is_somatic, normals=as_texts(options.get("normal")))
    return chosen(CallParameters(**OF_FRACTIONS, fractions=chosen(fractions, options)), options)


def parameters_of(options: Mapping[str, Any]) -> CallParameters:
    """Make parameters by names as on the command line or in `CallParameters`. Raises UsageError, TypeError."""
    check_keywords("Caller", options, CallerOptions, CallParameters)
    known = keywords_of(CallerOptions)
    return replace(call_parameters(options), **{name: options[name] for name in options.keys() - known.keys()})
