rule sort:
    input:
        f"results/sam/{config['aligners'][0]}.{{depth}}x.sam",
    output:
        bam="results/bam/{depth}x.bam",
        bai="results/bam/{depth}x.bam.bai",
    log:
        "results/logs/sort/{depth}x.log",
    conda:
        "../envs/tools.yaml"
    threads: config["threads"]
    shell:
        "samtools sort --write-index -@ {threads} -o {output.bam}##idx##{output.bai} {input} 2> {log}"


rule call:
    input:
        bam="results/bam/{depth}x.bam",
        reference="results/reference/ref.fa",
    output:
        "results/vcf/{tool}.{depth}x.vcf",
    log:
        "results/logs/call/{tool}.{depth}x.log",
    benchmark:
        "results/benchmarks/call/{tool}.{depth}x.tsv"
    conda:
        "../envs/tools.yaml"
    threads: config["threads"]
    params:
        command=call_command,
    shell:
        "({params.command}) > {output} 2> {log}"


rule call_accuracy:
    input:
        calls="results/vcf/{tool}.{depth}x.vcf",
        truth="results/reads/{depth}x.truth.vcf",
        reference="results/reference/ref.fa",
        confident=config["confident"] or [],
    output:
        "results/calling/{tool}.{depth}x.txt",
    log:
        "results/logs/call_accuracy/{tool}.{depth}x.log",
    conda:
        "../envs/tools.yaml"
    params:
        tools=TOOLS,
        confident=f"--bed {config['confident']}" if config["confident"] else "",
    shell:
        "python {params.tools}/call_accuracy.py {input.truth} {input.calls} {input.reference} {params.confident}"
        " > {output} 2> {log}"


rule calling:
    input:
        accuracy=expand(
            "results/calling/{tool}.{depth}x.txt",
            tool=config["callers"],
            depth=config["depths"],
        ),
        times=expand(
            "results/benchmarks/call/{tool}.{depth}x.tsv",
            tool=config["callers"],
            depth=config["depths"],
        ),
    output:
        table=report(
            "results/calling.tsv", caption="../report/calling.rst", category="Calling"
        ),
        plot=report(
            "results/calling.svg", caption="../report/calling.rst", category="Calling"
        ),
    log:
        "results/logs/calling.log",
    conda:
        "../envs/plot.yaml"
    script:
        "../scripts/table.py"
