process READWARP_GENOTYPE {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container 'readwarp'

    input:
    tuple val(meta), path(gvcfs, stageAs: 'gvcfs/*'), path(tbis, stageAs: 'gvcfs/*'), path(targets)
    tuple val(meta2), path(fasta)

    output:
    tuple val(meta), path("*.vcf.gz"), path("*.vcf.gz.tbi"), emit: vcf
    tuple val("${task.process}"), val('readwarp'), eval("readwarp --version | cut -d ' ' -f 2"), emit: versions_readwarp, topic: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def samples = gvcfs instanceof List ? gvcfs.sort { gvcf -> gvcf.name }.join(' ') : gvcfs
    def intervals = targets ? "--targets ${targets}" : ''
    def memory = task.memory ? "--memory ${(task.memory.mega * 0.9).intValue()}M" : ''
    """
    readwarp \\
        genotype \\
        ${fasta} \\
        ${samples} \\
        ${intervals} \\
        --output ${prefix}.vcf.gz \\
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
