"""Provide readwarp.call, the command `readwarp call` from Python."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from readwarp.call.options import LIMITS, PRIORS, FilterOptions, PlaceOptions, PriorOptions, places_of, spell_regions
from readwarp.caller.job import run_call
from readwarp.caller.opening import CallJob
from readwarp.config import MAX_PLOIDY, CallParameters, FractionParameters, GenomeParameters, StructuralParameters
from readwarp.config.combinations import check_kind, check_together
from readwarp.formats.common.files import named_files
from readwarp.formats.common.qualities import encoding_of
from readwarp.keywords import (
    AnyPath,
    as_paths,
    as_tuple,
    check_keywords,
    command_line,
    defaults_of,
    path_or_none,
    pick,
)
from readwarp.stream.choice import ResourceOptions, resources_of
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Result


class FractionOptions(TypedDict, total=False):
    """Alleles at any fraction of the molecules, instead of on whole copies; fields of `FractionParameters`."""

    mixture: bool  # of one population of molecules: a mitochondrion, a virus, cell-free DNA, a pool
    somatic: bool  # mutations of a tumour, with or without its normal
    population: AnyPath | None  # VCF file with the frequencies of alleles (INFO AF), with an index
    panel_of_normals: AnyPath | None  # VCF file of alleles that normal tissues show, with an index
    contamination: float | None  # fraction of the molecules that are another person's; None: estimated
    mutation_prior: float  # chance that a base is mutated
    min_probability: float  # that a call is real, to pass
    min_fraction: float  # share of molecules below which a call is filtered
    max_events: int  # mutations of a tumour near each other


class GenomeOptions(TypedDict, total=False):
    """Consensus genome of a mixture's most frequent alleles; the limits are fields of `GenomeParameters`."""

    consensus: AnyPath | None  # FASTA file of what most molecules of a mixture have
    consensus_min_depth: int  # reads, below which its bases are N
    consensus_share: float  # fraction that the bases named at a position must reach together


class ParameterOptions(FilterOptions, PriorOptions, total=False):
    """Fields of `CallParameters`, by the names of the command line."""

    platform: str  # kind of reads: short, hifi, ont or auto
    ploidy: int  # copies of each contig
    ignore_soft_clips: bool
    min_base_quality: int
    min_mapping_quality: int
    max_depth: int  # most reads used at a position
    min_alternate_count: int  # a sample's reads that make an allele worth testing
    min_alternate_fraction: float  # a sample's share of reads that makes a substitution worth testing
    min_indel_fraction: float  # likewise, an insertion or deletion
    min_alternate_quality: int  # sum of base qualities that makes a substitution worth testing
    max_mnp_distance: int  # bases; phased substitutions that are as near are one record


class NormalOptions(TypedDict, total=False):
    normal: str | Sequence[str]  # samples of the tumour's normal tissue, with `somatic`


class CallerOptions(ParameterOptions, FractionOptions, NormalOptions, total=False):
    """Parameters of `readwarp.Caller`."""


class StructuralOptions(TypedDict, total=False):
    """Structural variants of long reads; the limits are fields of `StructuralParameters`."""

    sv: AnyPath | None  # also write them, to this file: .vcf, .vcf.gz or .bcf
    min_sv_length: int  # bases
    max_sv_length: int
    min_sv_support: int  # a sample's reads that show one


class CallingOptions(PlaceOptions, ParameterOptions, StructuralOptions, FractionOptions, GenomeOptions, total=False):
    bam_output: AnyPath | None  # a BAM file of the reads in called regions, aligned to the called haplotypes
    haplotag: AnyPath | None  # a BAM file of all records, with the haplotypes that long reads are of
    gvcf: bool  # also say how sure the reference is, in blocks (one sample)
    alleles: AnyPath | None  # VCF file whose alleles are always genotyped
    ploidy_bed: AnyPath | None  # intervals with a ploidy of their own, in the fourth column; of a sample: the fifth
    primers: AnyPath | None  # BED file of the primers of an amplicon panel
    circular: str | Sequence[str]  # contigs whose end is followed by their beginning


SAME: tuple[str, ...] = ("ploidy", "min_base_quality", "min_mapping_quality", "max_depth", "min_alternate_count")
SAME += ("ignore_soft_clips", "min_alternate_fraction", "min_indel_fraction", "min_alternate_quality")
SAME += ("max_mnp_distance", "platform")
STRUCTURAL = {name: name for name in ("min_sv_length", "max_sv_length", "min_sv_support")}
PARAMETERS = LIMITS | PRIORS | {name: name for name in SAME}
FRACTIONS = {
    name: name for name in ("contamination", "mutation_prior", "min_probability", "min_fraction", "max_events")
}
GENOME = {name: name for name in ("consensus_min_depth", "consensus_share")}
DEFAULTS = {
    **defaults_of(CallParameters(), PARAMETERS),
    **defaults_of(FractionParameters(), FRACTIONS),
    **defaults_of(GenomeParameters(), GENOME),
    **defaults_of(StructuralParameters(), STRUCTURAL),
}
OF_FRACTIONS = {  # fields of `CallParameters` where alleles have fractions
    "ploidy": MAX_PLOIDY,
    "max_depth": 100_000,
    "max_region_reads": 1_000_000,
    "min_alternate_fraction": 0.01,
    "min_indel_fraction": 0.01,
}


class CallOptions(CallingOptions, NormalOptions, ResourceOptions, total=False):
    """Long options of `readwarp call`, with its defaults."""

    file_list: AnyPath | None  # file with the names of more alignments, one per line
    sv_only: bool  # `output` is of structural variants, and nothing else is called
    sample: str | Sequence[str]  # to call; without it, all of them
    phred64: bool  # base qualities are Phred+64: convert them
    phred33: bool  # they are Phred+33, even if they look like Phred+64
    force: bool  # replace an existing output


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
    check_keywords("call", options, CallOptions)
    spell_regions(options)
    command = command_line("call", reference, *as_paths(alignments), output=output, **options)
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
    listed = options.get("file_list")
    names = (*as_paths(alignments), *([f"@{listed}"] if listed else ()))
    return CallJob(
        reference=Path(reference),
        alignments=tuple(path for name in names for path in named_files(name, "BAM or CRAM")),
        output=path_or_none(output),
        parameters=call_parameters(options),
        resources=resources_of(options),
        places=places_of(options),
        samples=as_tuple(options.get("sample")),
        gvcf=options.get("gvcf", False),
        alleles=path_or_none(options.get("alleles")),
        ploidies=path_or_none(options.get("ploidy_bed")),
        primers=path_or_none(options.get("primers")),
        circular=as_tuple(options.get("circular")),
        bam_output=path_or_none(options.get("bam_output")),
        haplotag=path_or_none(options.get("haplotag")),
        structural=StructuralParameters(**pick(options, STRUCTURAL)),
        consensus=path_or_none(options.get("consensus")),
        population=path_or_none(options.get("population")),
        panel_of_normals=path_or_none(options.get("panel_of_normals")),
        genome=GenomeParameters(**pick(options, GENOME)),
        sv=path_or_none(options.get("sv")),
        sv_only=options.get("sv_only", False),
        phred=encoding_of(options.get("phred33", False), options.get("phred64", False)),
        command=command,
        force=options.get("force", False),
    )


def call_parameters(options: CallingOptions | CallerOptions) -> CallParameters:
    """Make the parameters. Raises UsageError, also for options that cannot be combined."""
    check_together("call", options)
    if (platform := options.get("platform", "auto")) != "auto":
        check_kind("call", platform != "short", {**options, "sv": None, "sv_only": None})
    every: Any = options
    given, is_somatic = pick(options, PARAMETERS), options.get("somatic", False)
    if not (is_somatic or options.get("mixture")):
        return CallParameters(**given)
    known = FractionParameters(is_somatic=is_somatic, normals=as_tuple(every.get("normal")), **pick(options, FRACTIONS))
    return CallParameters(**OF_FRACTIONS | given, fractions=known)


def parameters_of(options: CallerOptions) -> CallParameters:
    """Make parameters by names as on the command line or in `CallParameters`. Raises UsageError, TypeError."""
    check_keywords("Caller", options, CallerOptions, CallParameters)
    own: dict[str, Any] = {name: value for name, value in options.items() if name not in CallerOptions.__annotations__}
    return replace(call_parameters(options), **own)
