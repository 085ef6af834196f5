"""Join FASTA files to one; a genome is named after its sample, and its segments SAMPLE|CONTIG if there are several."""

from contextlib import redirect_stderr

import pysam

with open(snakemake.log[0], "w") as log, redirect_stderr(log), open(snakemake.output[0], "w") as out:  # noqa: F821
    for sample, path in zip(snakemake.params.samples, snakemake.input, strict=True):  # noqa: F821
        with pysam.FastxFile(path) as file:
            contigs = [(record.name, record.sequence) for record in file]
        for name, sequence in contigs:
            out.write(f">{sample}\n" if len(contigs) == 1 else f">{sample}|{name}\n")
            out.writelines(f"{sequence[at : at + 60]}\n" for at in range(0, len(sequence), 60))
