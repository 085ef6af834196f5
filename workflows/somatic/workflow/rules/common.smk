# Config of this workflow, and what the rules of alignment, calling and quality ask of it.

from snakemake.utils import validate

validate(config, schema="../schemas/config.schema.yaml")


include: "../../../germline/workflow/rules/units.smk"
include: "../../../germline/workflow/rules/jobs.smk"
include: "patients.smk"


ALIGN_OPTIONS = config["align"]["options"]
MERGE_OPTIONS = "--mark-duplicates"
CALLED = "results/bam/{sample}.bam"  # what mutations are called in


def reported(sample):
    """What the report reads of a sample."""
    return {
        "bam": f"results/bam/{sample}.bam",
        "vcf": calls_of(sample),
    }
