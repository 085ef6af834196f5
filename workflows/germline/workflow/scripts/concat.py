"""Join the VCF files of neighbouring pieces, in order, and index the result."""

import sys
from contextlib import redirect_stderr

import pysam
import pysam.bcftools

with open(snakemake.log[0], "w") as log, redirect_stderr(log):  # noqa: F821
    try:
        pysam.bcftools.concat("-Oz", "-o", snakemake.output[0], *snakemake.input, catch_stdout=False)  # noqa: F821
        pysam.tabix_index(snakemake.output[0], preset="vcf", force=True)  # noqa: F821
    except (pysam.SamtoolsError, OSError) as error:
        sys.exit(f"{snakemake.output[0]}: {error}")  # noqa: F821
