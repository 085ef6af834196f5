"""Provide readwarp.genotype, the command `readwarp genotype` from Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from readwarp.call.options import LIMITS, PRIORS, FilterOptions, PlaceOptions, PriorOptions, places_of, spell_regions
from readwarp.cohort.job import GenotypeJob, run_genotype
from readwarp.config import CallParameters, JointParameters
from readwarp.config.combinations import check_together
from readwarp.formats.common.files import named_files
from readwarp.keywords import AnyPath, check_keywords, command_line, defaults_of, path_or_none, pick
from readwarp.stream.choice import resources_of
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Result

JOINT = {"max_alleles": "max_alts", "ploidy": "max_ploidy"}
DEFAULTS = {**defaults_of(JointParameters(), JOINT), "max_mnp_distance": CallParameters().max_mnp_distance}


class GenotypeOptions(PlaceOptions, FilterOptions, PriorOptions, total=False):
    """Long options of `readwarp genotype`, with its defaults."""

    file_list: AnyPath | None  # file with the names of more gVCFs, one per line
    ploidy: int  # the highest of the samples
    max_alleles: int  # ALT alleles of a site; the rarest beyond them are left out
    max_mnp_distance: int  # bases; phased substitutions that are as near are one record
    force: bool  # replace an existing output
    threads: int | None  # None: all that this process may use
    memory: int | str | None  # bytes, or a text such as "8G"; None: what is free, less a margin


def genotype(
    reference: AnyPath,
    *gvcfs: AnyPath,
    output: AnyPath,
    progress: Listener | bool | None = None,
    **options: Unpack[GenotypeOptions],
) -> Result:
    """Genotype a cohort from the gVCF of each sample, as `readwarp genotype` does.

    reference: FASTA, GenBank, EMBL or an index. gvcfs: VCF.gz, BCF or VCF of `readwarp.call(..., gvcf=True)`, GATK,
    DeepVariant or bcftools; @FILE is a list of them. output: .vcf, .vcf.gz or .bcf. progress: called now and then, in
    this thread, with a `Progress`; an exception it raises ends the job. options: the long options of the command with
    underscores, such as region="chr20", threads=8 (`GenotypeOptions`).

        readwarp.genotype("ref.fa", "a.g.vcf.gz", "b.g.vcf.gz", output="cohort.vcf.gz")

    Returns the paths that were written (variants, variants_index) and the metrics. Raises UsageError, InputError and
    MemoryBudgetError, each a ReadwarpError; there is no output then.
    """
    check_keywords("genotype", options, GenotypeOptions)
    spell_regions(options)
    command = command_line("genotype", reference, *gvcfs, output=output, **options)
    with reporting(command, progress) as reporter:
        return run_genotype(make_job(reference, gvcfs, output, options, command), reporter)


def make_job(
    reference: AnyPath, gvcfs: Sequence[AnyPath], output: AnyPath | None, options: GenotypeOptions, command: str
) -> GenotypeJob:
    """Make the job. Raises UsageError, and InputError for a list that cannot be read."""
    check_together("genotype", options)
    listed = options.get("file_list")
    names = [*map(str, gvcfs), *([f"@{listed}"] if listed else [])]
    return GenotypeJob(
        reference=Path(reference),
        inputs=tuple(path for name in names for path in named_files(name, "a gVCF")),
        output=path_or_none(output),
        parameters=JointParameters(**pick(options, JOINT)),
        calling=CallParameters(**pick(options, LIMITS | PRIORS | {"max_mnp_distance": "max_mnp_distance"})),
        resources=resources_of({"threads": options.get("threads"), "memory": options.get("memory"), "device": "cpu"}),
        places=places_of(options),
        command=command,
        force=options.get("force", False),
    )
