rule regions:
    """The genome in pieces with about the same number of covered bases, as BED files."""
    input:
        fai="results/reference/genome.fa.fai",
        bams=expand("results/bam/{sample}.bam", sample=SAMPLES),
        targets=config["call"]["targets"] or [],
    output:
        scatter.region("results/regions/{scatteritem}.bed"),
    log:
        "results/logs/regions.log",
    benchmark:
        "results/benchmarks/regions.tsv"
    conda:
        READWARP
    resources:
        mem_mb=growing(2000),
        runtime=longer(30),
    script:
        "../scripts/regions.py"


rule call:
    """Call one sample in one piece of the genome."""
    input:
        bam="results/bam/{sample}.bam",
        bai="results/bam/{sample}.bam.bai",
        reference="results/reference/genome.fa",
        region="results/regions/{scatteritem}.bed",
    output:
        vcf=temp("results/scattered/{sample}/{scatteritem}.g.vcf.gz"),
        tbi=temp("results/scattered/{sample}/{scatteritem}.g.vcf.gz.tbi"),
    log:
        "results/logs/call/{sample}.{scatteritem}.log",
    benchmark:
        "results/benchmarks/call/{sample}.{scatteritem}.tsv"
    conda:
        ON_DEVICE
    threads: 4
    resources:
        mem_mb=growing(8000),
        runtime=longer(120),
        gpu=GPUS,
    params:
        device=config["device"],
        ploidy=ploidy_of,
        extra=config["call"]["options"],
    shell:
        "readwarp call {input.reference} {input.bam} --gvcf -L {input.region} --ploidy {params.ploidy} -o {output.vcf}"
        " --device {params.device} --threads {threads} --memory $(({resources.mem_mb} * 9 / 10))M {params.extra} --force --no-progress 2> {log}"


rule gather:
    """The gVCF of a sample."""
    input:
        gather.region("results/scattered/{{sample}}/{scatteritem}.g.vcf.gz"),
    output:
        "results/gvcf/{sample}.g.vcf.gz",
        "results/gvcf/{sample}.g.vcf.gz.tbi",
    log:
        "results/logs/gather/{sample}.log",
    benchmark:
        "results/benchmarks/gather/{sample}.tsv"
    conda:
        READWARP
    resources:
        mem_mb=growing(1000),
        runtime=longer(60),
    script:
        "../scripts/concat.py"


rule vcf:
    """The variants of one sample, from its gVCF."""
    input:
        gvcf="results/gvcf/{sample}.g.vcf.gz",
        tbi="results/gvcf/{sample}.g.vcf.gz.tbi",
        reference="results/reference/genome.fa",
    output:
        vcf="results/vcf/{sample}.vcf.gz",
        tbi="results/vcf/{sample}.vcf.gz.tbi",
    log:
        "results/logs/vcf/{sample}.log",
    benchmark:
        "results/benchmarks/vcf/{sample}.tsv"
    conda:
        READWARP
    threads: 2
    resources:
        mem_mb=growing(8000),
        runtime=longer(120),
    params:
        ploidy=ploidy_of,
        extra=config["genotype"]["options"],
    shell:
        "readwarp genotype {input.reference} {input.gvcf} -o {output.vcf} --ploidy {params.ploidy} {params.extra}"
        " --threads {threads} --memory $(({resources.mem_mb} * 9 / 10))M --force --no-progress 2> {log}"


rule genotype:
    """Genotype all samples together in one piece of the genome."""
    input:
        gvcfs=expand("results/gvcf/{sample}.g.vcf.gz", sample=SAMPLES),
        indexes=expand("results/gvcf/{sample}.g.vcf.gz.tbi", sample=SAMPLES),
        reference="results/reference/genome.fa",
        region="results/regions/{scatteritem}.bed",
    output:
        vcf=temp("results/genotyped/{scatteritem}.vcf.gz"),
        tbi=temp("results/genotyped/{scatteritem}.vcf.gz.tbi"),
    log:
        "results/logs/genotype/{scatteritem}.log",
    benchmark:
        "results/benchmarks/genotype/{scatteritem}.tsv"
    conda:
        READWARP
    threads: 2
    resources:
        mem_mb=growing(8000),
        runtime=longer(120),
    params:
        ploidy=max(map(ploidy_of_sample, SAMPLES)),
        extra=config["genotype"]["options"],
    shell:
        "readwarp genotype {input.reference} {input.gvcfs} -L {input.region} -o {output.vcf} --ploidy {params.ploidy}"
        " {params.extra} --threads {threads} --memory $(({resources.mem_mb} * 9 / 10))M --force --no-progress 2> {log}"


rule cohort:
    input:
        gather.region("results/genotyped/{scatteritem}.vcf.gz"),
    output:
        report(
            "results/cohort.vcf.gz",
            caption="../report/cohort.rst",
            category="Variants",
        ),
        "results/cohort.vcf.gz.tbi",
    log:
        "results/logs/cohort.log",
    benchmark:
        "results/benchmarks/cohort.tsv"
    conda:
        READWARP
    resources:
        mem_mb=growing(1000),
        runtime=longer(60),
    script:
        "../scripts/concat.py"
