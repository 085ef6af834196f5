"""Provide readwarp.genotype, the command `readwarp genotype` from Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from readwarp.call.places.targets import places_of, spell_regions
from readwarp.cohort.job import GenotypeJob, run_genotype
from readwarp.config import CallParameters, JointParameters
from readwarp.config.combinations import check_together
from readwarp.config.commands import GenotypeOptions
from readwarp.config.declare import chosen
from readwarp.config.options import FileOptions
from readwarp.formats.common.files import named_files
from readwarp.python.keywords import AnyPath, command_line, path_or_none
from readwarp.stream.choice import resources_of
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Result


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
    spell_regions(options)
    command = command_line("genotype", GenotypeOptions, options, reference, *gvcfs, output=output)
    with reporting(command, progress) as reporter:
        return run_genotype(make_job(reference, gvcfs, output, options, command), reporter)


def make_job(
    reference: AnyPath, gvcfs: Sequence[AnyPath], output: AnyPath | None, options: GenotypeOptions, command: str
) -> GenotypeJob:
    """Make the job. Raises UsageError, and InputError for a list that cannot be read."""
    check_together("genotype", options)
    names = chosen(FileOptions(), options).names(gvcfs)
    return GenotypeJob(
        reference=Path(reference),
        inputs=tuple(path for name in names for path in named_files(name, "a gVCF")),
        output=path_or_none(output),
        parameters=chosen(JointParameters(), options),
        calling=chosen(CallParameters(), {**options, "ploidy": None}),
        resources=resources_of({**options, "device": "cpu"}),
        places=places_of(options),
        command=command,
        force=options.get("force", False),
    )
