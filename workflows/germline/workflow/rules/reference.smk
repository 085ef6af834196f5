rule reference:
    """The reference as plain FASTA with its .fai, whatever its format was."""
    input:
        config["reference"]["fasta"],
    output:
        fasta="results/reference/genome.fa",
        fai="results/reference/genome.fa.fai",
    log:
        "results/logs/reference.log",
    benchmark:
        "results/benchmarks/reference.tsv"
    conda:
        READWARP
    resources:
        mem_mb=growing(2000),
        runtime=longer(30),
    script:
        "../scripts/reference.py"


rule index:
    input:
        "results/reference/genome.fa",
    output:
        "results/reference/genome.fa.rwx",
    log:
        "results/logs/index.log",
    benchmark:
        "results/benchmarks/index.tsv"
    conda:
        READWARP
    threads: 8
    resources:
        mem_mb=growing(24000),
        runtime=longer(60),
    params:
        preset=config["reference"]["preset"],
    shell:
        "readwarp index {input} -o {output} --preset {params.preset} --threads {threads} --force --no-progress 2> {log}"
