process READWARP_INDEX {
    tag "${fasta}"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container 'readwarp'

    input:
    tuple val(meta), path(fasta)

    output:
    tuple val(meta), path("*.rwx"), emit: index
    tuple val("${task.process}"), val('readwarp'), eval("readwarp --version | cut -d ' ' -f 2"), emit: versions_readwarp, topic: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    """
    readwarp \\
        index \\
        ${fasta} \\
        --output ${fasta}.rwx \\
        --threads ${task.cpus} \\
        --no-progress \\
        ${args}
    """

    stub:
    """
    touch ${fasta}.rwx
    """
}
