rule call:
    """Variants at any allele fraction, and the majority consensus."""
    input:
        bam="results/bam/{sample}.bam",
        reference="results/reference/genome.fa",
        primers=config["primers"] or [],
        targets=config["call"]["targets"] or [],
    output:
        vcf="results/vcf/{sample}.vcf.gz",
        tbi="results/vcf/{sample}.vcf.gz.tbi",
        consensus="results/consensus/{sample}.fa",
    log:
        "results/logs/call/{sample}.log",
    benchmark:
        "results/benchmarks/call/{sample}.tsv"
    conda:
        ON_DEVICE
    threads: 4
    resources:
        mem_mb=growing(8000),
        runtime=longer(60),
        gpu=GPUS,
    params:
        primers=PRIMERS,
        targets=TARGETS,
        fraction=config["call"]["min_fraction"],
        depth=config["consensus"]["min_depth"],
        share=config["consensus"]["share"],
        device=config["device"],
        extra=config["call"]["options"],
    shell:
        "readwarp call {input.reference} {input.bam} --mixture {params.primers} {params.targets} -o {output.vcf}"
        " --min-fraction {params.fraction}"
        " --consensus {output.consensus} --consensus-min-depth {params.depth} --consensus-share {params.share}"
        " --device {params.device} --threads {threads} --memory $(({resources.mem_mb} * 9 / 10))M {params.extra} --force --no-progress"
        " 2> {log}"


rule genomes:
    """All consensus genomes in one file, named after their samples, for Pangolin and Nextclade."""
    input:
        expand("results/consensus/{sample}.fa", sample=SAMPLES),
    output:
        report(
            "results/consensus.fa",
            caption="../report/consensus.rst",
            category="Genomes",
        ),
    log:
        "results/logs/genomes.log",
    benchmark:
        "results/benchmarks/genomes.tsv"
    conda:
        READWARP
    resources:
        mem_mb=growing(1000),
        runtime=longer(10),
    params:
        samples=SAMPLES,
    script:
        "../scripts/genomes.py"
