rule statistics:
    """samtools and bcftools statistics, readwarp's own numbers, and a page on one sample."""
    input:
        unpack(files_of),
        reference="results/reference/genome.fa",
    output:
        page="results/qc/{sample}.html",
        texts="results/qc/texts/{sample}.stats.txt",
    log:
        "results/logs/statistics/{sample}.log",
    benchmark:
        "results/benchmarks/statistics/{sample}.tsv"
    conda:
        READWARP
    threads: 2
    resources:
        mem_mb=growing(2000),
        runtime=longer(120),
    params:
        files=named,
        folder=lambda wildcards, output: str(Path(output.texts).parent),
        targets=TARGETS,
    shell:
        "readwarp report {params.files} --reference {input.reference} {params.targets}"
        " --statistics {params.folder} -o {output.page} --threads {threads} --force -q 2> {log}"


rule page:
    """All samples side by side."""
    input:
        unpack(files_of),
        texts=expand("results/qc/texts/{sample}.stats.txt", sample=SAMPLES),
        reference="results/reference/genome.fa",
    output:
        report(
            "results/qc/report.html",
            caption="../report/readwarp.rst",
            category="Quality",
        ),
    log:
        "results/logs/page.log",
    benchmark:
        "results/benchmarks/page.tsv"
    conda:
        READWARP
    threads: 2
    resources:
        mem_mb=growing(2000),
        runtime=longer(60),
    params:
        files=named,
        folder=lambda wildcards, input: str(Path(input.texts[0]).parent),
        targets=TARGETS,
    shell:
        "readwarp report {params.files} --reference {input.reference} {params.targets} --statistics {params.folder}"
        " -o {output} --threads {threads} --force -q 2> {log}"


rule multiqc:
    input:
        expand("results/qc/texts/{sample}.stats.txt", sample=SAMPLES),
    output:
        report(
            "results/qc/multiqc.html",
            caption="../report/multiqc.rst",
            category="Quality",
        ),
        directory("results/qc/multiqc_data"),
    log:
        "results/logs/multiqc.log",
    benchmark:
        "results/benchmarks/multiqc.tsv"
    conda:
        "../envs/multiqc.yaml"
    container:
        "docker://multiqc/multiqc:v1.25.1"
    resources:
        mem_mb=growing(2000),
        runtime=longer(30),
    params:
        folder=lambda wildcards, input: str(Path(input[0]).parent),
    shell:
        "multiqc {params.folder} --outdir results/qc --filename multiqc.html --force --no-version-check > {log} 2>&1"
