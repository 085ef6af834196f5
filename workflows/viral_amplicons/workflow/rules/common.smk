# Config of this workflow, and what the rules of alignment, calling and quality ask of it.

from snakemake.utils import validate

validate(config, schema="../schemas/config.schema.yaml")


include: "../../../germline/workflow/rules/units.smk"
include: "../../../germline/workflow/rules/jobs.smk"


check_short_reads()
SAMPLES = sorted(set(units["sample"]))
ALIGN_OPTIONS = config["align"]["options"]
MERGE_OPTIONS = (
    ""  # all fragments of an amplicon share start and end without being duplicates
)
PRIMERS = f"--primers {quote(config['primers'])}" if config["primers"] else ""


def reported(sample):
    """What the report reads of a sample."""
    return {
        "bam": f"results/bam/{sample}.bam",
        "vcf": f"results/vcf/{sample}.vcf.gz",
    }
