rule consensus:
    """One read of all reads of a molecule, not aligned."""
    input:
        "results/bam/{sample}.bam",
    output:
        bam=temp("results/consensus/{sample}.unaligned.bam"),
        metrics="results/consensus/{sample}.json",
    log:
        "results/logs/consensus/{sample}.log",
    benchmark:
        "results/benchmarks/consensus/{sample}.tsv"
    conda:
        READWARP
    threads: 8
    resources:
        mem_mb=growing(8000),
        runtime=longer(120),
    params:
        extra=CONSENSUS_OPTIONS,
    shell:
        "readwarp consensus {input} -o {output.bam} --metrics {output.metrics} --threads {threads} {params.extra}"
        " --force --no-progress 2> {log}"


rule realign:
    """Align the consensus reads, whose indels may lie elsewhere than those of the reads."""
    input:
        reads="results/consensus/{sample}.unaligned.bam",
        reference="results/reference/genome.fa",
        index="results/reference/genome.fa.rwx",
    output:
        bam="results/consensus/{sample}.bam",
        bai="results/consensus/{sample}.bam.bai",
    log:
        "results/logs/realign/{sample}.log",
    benchmark:
        "results/benchmarks/realign/{sample}.tsv"
    conda:
        ON_DEVICE
    threads: 16
    resources:
        mem_mb=growing(16000),
        runtime=longer(240),
        gpu=GPUS,
    params:
        device=config["device"],
        extra=config["align"]["options"],
    shell:
        "readwarp align {input.reference} {input.reads} -o {output.bam} --write-index --device {params.device}"
        " --threads {threads} --memory $(({resources.mem_mb} * 9 / 10))M {params.extra} --force --no-progress 2> {log}"
