process READWARP_MERGE {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container 'readwarp'

    input:
    tuple val(meta), path(bams, stageAs: 'lanes/*')

    output:
    tuple val(meta), path("*.bam"), path("*.bam.bai"), emit: bam
    tuple val("${task.process}"), val('readwarp'), eval("readwarp --version | cut -d ' ' -f 2"), emit: versions_readwarp, topic: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: '--mark-duplicates'
    def prefix = task.ext.prefix ?: "${meta.id}"
    def lanes = bams instanceof List ? bams.sort { bam -> bam.name }.join(' ') : bams
    def memory = task.memory ? "--memory ${(task.memory.mega * 0.9).intValue()}M" : ''
    """
    readwarp \\
        merge \\
        ${lanes} \\
        --output ${prefix}.bam \\
        --sort coordinate \\
        --write-index \\
        --threads ${task.cpus} \\
        ${memory} \\
        --no-progress \\
        ${args}
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.bam ${prefix}.bam.bai
    """
}
