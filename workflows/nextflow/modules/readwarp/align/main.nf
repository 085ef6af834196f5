process READWARP_ALIGN {
    tag "${meta.id}"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container 'readwarp'

    input:
    tuple val(meta), path(reads)
    tuple val(meta2), path(fasta), path(index)

    output:
    tuple val(meta), path("*.bam"), emit: bam
    tuple val("${task.process}"), val('readwarp'), eval("readwarp --version | cut -d ' ' -f 2"), emit: versions_readwarp, topic: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def device = task.accelerator ? 'cuda' : 'cpu'
    def memory = task.memory ? "--memory ${(task.memory.mega * 0.9).intValue()}M" : ''
    """
    readwarp \\
        align \\
        ${fasta} \\
        ${reads} \\
        --output ${prefix}.bam \\
        --device ${device} \\
        --threads ${task.cpus} \\
        ${memory} \\
        --no-progress \\
        ${args}
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.bam
    """
}
