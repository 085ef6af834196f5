# Config of this workflow, and what the rules of alignment, calling and quality ask of it.

from snakemake.utils import validate

validate(config, schema="../schemas/config.schema.yaml")


include: "../../../germline/workflow/rules/units.smk"
include: "../../../germline/workflow/rules/jobs.smk"
include: "../../../somatic/workflow/rules/patients.smk"


UMI, CONSENSUS = config["umi"], config["consensus"]
ALIGN_OPTIONS = f"--umi {quote(UMI['where'])} {config['align']['options']}"
MERGE_OPTIONS = "--umi tag --mark-duplicates"
CONSENSUS_OPTIONS = f"--min-reads {CONSENSUS['min_reads']} {CONSENSUS['options']}"
if UMI["duplex"]:
    MERGE_OPTIONS += " --umi-duplex"
    CONSENSUS_OPTIONS += " --duplex"
CALLED = "results/consensus/{sample}.bam"  # what mutations are called in


def reported(sample):
    """What the report reads of a sample."""
    return {
        "bam": f"results/consensus/{sample}.bam",
        "vcf": calls_of(sample),
        "metrics": f"results/consensus/{sample}.json",
    }
