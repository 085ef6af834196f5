# The commands to compare.

ALIGN = {
    "readwarp": "readwarp align {reference} {reads} --threads {threads} --no-progress -q",
    "bwa": "bwa mem -t {threads} -R '@RG\\tID:s\\tSM:s' {reference} {reads}",
    "minimap2": "minimap2 -ax sr -t {threads} -R '@RG\\tID:s\\tSM:s' {reference} {reads}",
}


def align_command(wildcards, input, threads):
    """The aligner's command, SAM to stdout."""
    return ALIGN[wildcards.tool].format(
        reference=input.reference, reads=" ".join(input.reads), threads=threads
    )


CALL = {
    "readwarp": "readwarp call {reference} {bam} --threads {threads} --no-progress -q",
    "freebayes": "freebayes -f {reference} {bam}",
    "bcftools": "bcftools mpileup -f {reference} -a AD {bam} | bcftools call -mv",
}


def call_command(wildcards, input, threads):
    """The caller's command, VCF to stdout."""
    return CALL[wildcards.tool].format(
        reference=input.reference, bam=input.bam, threads=threads
    )
