rule reference:
    input:
        config["reference"],
    output:
        fasta="results/reference/ref.fa",
        fai="results/reference/ref.fa.fai",
    log:
        "results/logs/reference.log",
    conda:
        "../envs/tools.yaml"
    shell:
        "(bgzip -dc {input} > {output.fasta} && samtools faidx {output.fasta}) 2> {log}"


rule simulate:
    """Simulate reads from both haplotypes of the sample, with their true places in their names."""
    input:
        reference="results/reference/ref.fa",
        variants=config["variants"],
    output:
        "results/reads/{depth}x_1.fq",
        "results/reads/{depth}x_2.fq",
        "results/reads/{depth}x.truth.vcf",
    log:
        "results/logs/simulate/{depth}x.log",
    conda:
        "../envs/tools.yaml"
    params:
        prefix=lambda wildcards: f"results/reads/{wildcards.depth}x",
        tools=TOOLS,
        contig=config["contig"],
        length=config["length"],
        insert_size=config["insert"],
        seed=config["seed"],
    shell:
        "python {params.tools}/simulate_diploid.py {input.reference} {input.variants} {params.prefix} --contig {params.contig}"
        " --depth {wildcards.depth} --length {params.length} --insert {params.insert_size} --seed {params.seed} > {log} 2>&1"
