rule align:
    """Align one lane, in the order of its reads; goes on where a killed attempt stopped."""
    input:
        reads=reads_of,
        reference="results/reference/genome.fa",
        index="results/reference/genome.fa.rwx",
    output:
        temp("results/units/{sample}/{unit}.bam"),
    log:
        "results/logs/align/{sample}/{unit}.log",
    benchmark:
        "results/benchmarks/align/{sample}/{unit}.tsv"
    conda:
        ON_DEVICE
    threads: 16
    resources:
        mem_mb=growing(16000),
        runtime=longer(240),
        gpu=GPUS,
    params:
        read_group=read_group,
        preset=preset_of,
        device=config["device"],
        extra=ALIGN_OPTIONS,
        work=lambda wildcards: f"results/work/{wildcards.sample}/{wildcards.unit}.bam",
    shell:
        # Snakemake removes the outputs of a failed job, so what --resume needs is beside a file that is not an output
        "mkdir -p results/work/{wildcards.sample} && "
        "readwarp align {input.reference} {input.reads:q} -R {params.read_group:q} -o {params.work} --force --resume"
        " --device {params.device} --threads {threads} --memory $(({resources.mem_mb} * 9 / 10))M {params.preset} {params.extra}"
        " --no-progress 2>> {log} && mv {params.work} {output}"


rule merge:
    """Merge all lanes of a sample: sort, mark duplicates across lanes, index."""
    input:
        units_of,
    output:
        bam="results/bam/{sample}.bam",
        bai="results/bam/{sample}.bam.bai",
    log:
        "results/logs/merge/{sample}.log",
    benchmark:
        "results/benchmarks/merge/{sample}.tsv"
    conda:
        READWARP
    threads: 8
    resources:
        mem_mb=growing(8000),
        runtime=longer(120),
    params:
        extra=MERGE_OPTIONS,
    shell:
        "readwarp merge {input:q} -o {output.bam} --sort coordinate {params.extra} --write-index --force"
        " --threads {threads} --no-progress 2> {log}"
