process READWARP_CALL {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container 'readwarp'

    input:
    tuple val(meta), path(bam), path(bai), path(targets)
    tuple val(meta2), path(fasta)

    output:
    tuple val(meta), path("*.vcf.gz"), path("*.vcf.gz.tbi"), emit: vcf
    tuple val("${task.process}"), val('readwarp'), eval("readwarp --version | cut -d ' ' -f 2"), emit: versions_readwarp, topic: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def intervals = targets ? "--targets ${targets}" : ''
    def device = task.accelerator ? 'cuda' : 'cpu'
    def memory = task.memory ? "--memory ${(task.memory.mega * 0.9).intValue()}M" : ''
    """
    readwarp \\
        call \\
        ${fasta} \\
        ${bam} \\
        ${intervals} \\
        --output ${prefix}.vcf.gz \\
        --device ${device} \\
        --threads ${task.cpus} \\
        ${memory} \\
        --no-progress \\
        ${args}
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    echo "" | gzip > ${prefix}.vcf.gz
    touch ${prefix}.vcf.gz.tbi
    """
}
