rule call:
    """Mutations of a patient's tumours, beside the normals; one job, since a library's errors are learned from all of it."""
    input:
        bams=called_of,
        reference="results/reference/genome.fa",
        targets=config["call"]["targets"] or [],
        population=config["call"]["population"] or [],
        panel=PANEL or [],
    output:
        vcf=report(
            "results/vcf/{patient}.vcf.gz",
            caption="../report/mutations.rst",
            category="Mutations",
        ),
        tbi="results/vcf/{patient}.vcf.gz.tbi",
    log:
        "results/logs/call/{patient}.log",
    benchmark:
        "results/benchmarks/call/{patient}.tsv"
    conda:
        ON_DEVICE
    threads: 16
    resources:
        mem_mb=growing(16000),
        runtime=longer(480),
        gpu=GPUS,
    params:
        normals=normals_of,
        known=KNOWN,
        targets=TARGETS,
        device=config["device"],
        extra=config["call"]["options"],
    shell:
        "readwarp call {input.reference} {input.bams} --somatic {params.normals:q} {params.known:q} {params.targets}"
        " -o {output.vcf} --device {params.device} --threads {threads} --memory $(({resources.mem_mb} * 9 / 10))M {params.extra}"
        " --force --no-progress 2> {log}"


rule normal:
    """A normal by itself, as if it were a tumour: what it shows, others may show too."""
    input:
        bam=CALLED,
        reference="results/reference/genome.fa",
        targets=config["call"]["targets"] or [],
    output:
        vcf="results/normals/{sample}.vcf.gz",
        tbi="results/normals/{sample}.vcf.gz.tbi",
    log:
        "results/logs/normal/{sample}.log",
    benchmark:
        "results/benchmarks/normal/{sample}.tsv"
    conda:
        ON_DEVICE
    threads: 16
    resources:
        mem_mb=growing(16000),
        runtime=longer(480),
        gpu=GPUS,
    params:
        targets=TARGETS,
        device=config["device"],
        extra=config["call"]["options"],
    shell:
        "readwarp call {input.reference} {input.bam} --somatic {params.targets} -o {output.vcf} --device {params.device}"
        " --threads {threads} --memory $(({resources.mem_mb} * 9 / 10))M {params.extra} --force --no-progress 2> {log}"


rule panel:
    """What several normals show."""
    input:
        expand("results/normals/{sample}.vcf.gz", sample=PANEL_SAMPLES),
    output:
        vcf="results/panel_of_normals.vcf.gz",
        tbi="results/panel_of_normals.vcf.gz.tbi",
    log:
        "results/logs/panel.log",
    benchmark:
        "results/benchmarks/panel.tsv"
    conda:
        READWARP
    threads: 4
    resources:
        mem_mb=growing(4000),
        runtime=longer(60),
    shell:
        "readwarp panel {input} -o {output.vcf} --threads {threads} --force --no-progress 2> {log}"
