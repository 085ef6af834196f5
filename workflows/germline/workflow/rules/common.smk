# Config and tables of this workflow, and what the rules of alignment and quality ask of it.

from snakemake.utils import validate

validate(config, schema="../schemas/config.schema.yaml")


include: "units.smk"
include: "jobs.smk"


samples = table(config["samples"], "samples", ["sample", "ploidy"])
samples = samples.set_index("sample", drop=False)
check_samples(samples)

SAMPLES = list(samples.index)
ALIGN_OPTIONS = config["align"]["options"]
MERGE_OPTIONS = "--mark-duplicates"


scattergather:
    region=config["call"]["scatter"],


def reported(sample):
    """What the report reads of a sample."""
    return {
        "bam": f"results/bam/{sample}.bam",
        "vcf": f"results/gvcf/{sample}.g.vcf.gz",
    }


def ploidy_of_sample(sample):
    return int(samples.loc[sample].get("ploidy") or 2)


def ploidy_of(wildcards):
    return ploidy_of_sample(wildcards.sample)
