rule indexes:
    """Build the indexes, and compile readwarp's kernels, before anything is timed."""
    input:
        "results/reference/ref.fa",
    output:
        touch("results/reference/indexed"),
    log:
        "results/logs/indexes.log",
    conda:
        "../envs/tools.yaml"
    params:
        bwa="bwa index" if "bwa" in config["aligners"] else "true",
    shell:
        "({params.bwa} {input} && readwarp index {input} --force &&"
        " printf '@r\\nACGTACGTACGTACGTACGTACGTACGTACGTACGT\\n+\\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\\n'"
        " | readwarp align {input} - > /dev/null) > {log} 2>&1"


rule align:
    input:
        reads=["results/reads/{depth}x_1.fq", "results/reads/{depth}x_2.fq"],
        reference="results/reference/ref.fa",
        indexed="results/reference/indexed",
    output:
        temp("results/sam/{tool}.{depth}x.sam"),
    log:
        "results/logs/align/{tool}.{depth}x.log",
    benchmark:
        "results/benchmarks/align/{tool}.{depth}x.tsv"
    conda:
        "../envs/tools.yaml"
    threads: config["threads"]
    params:
        command=align_command,
    shell:
        "{params.command} > {output} 2> {log}"


rule map_accuracy:
    input:
        "results/sam/{tool}.{depth}x.sam",
    output:
        "results/mapping/{tool}.{depth}x.txt",
    log:
        "results/logs/map_accuracy/{tool}.{depth}x.log",
    conda:
        "../envs/tools.yaml"
    params:
        tools=TOOLS,
    shell:
        "python {params.tools}/map_accuracy.py {input} > {output} 2> {log}"


rule mapping:
    input:
        accuracy=expand(
            "results/mapping/{tool}.{depth}x.txt",
            tool=config["aligners"],
            depth=config["depths"],
        ),
        times=expand(
            "results/benchmarks/align/{tool}.{depth}x.tsv",
            tool=config["aligners"],
            depth=config["depths"],
        ),
    output:
        table=report(
            "results/mapping.tsv", caption="../report/mapping.rst", category="Mapping"
        ),
        plot=report(
            "results/mapping.svg", caption="../report/mapping.rst", category="Mapping"
        ),
    log:
        "results/logs/mapping.log",
    conda:
        "../envs/plot.yaml"
    script:
        "../scripts/table.py"
