include { READWARP_INDEX                             } from '../../modules/readwarp/index/main'
include { READWARP_ALIGN                             } from '../../modules/readwarp/align/main'
include { READWARP_MERGE                             } from '../../modules/readwarp/merge/main'
include { READWARP_CALL                              } from '../../modules/readwarp/call/main'
include { READWARP_GENOTYPE                          } from '../../modules/readwarp/genotype/main'
include { READWARP_GENOTYPE as READWARP_COHORT       } from '../../modules/readwarp/genotype/main'

// Reads of many samples and lanes to BAM, gVCF, a VCF of each sample, and a cohort VCF.
workflow GERMLINE {
    take:
    lanes // [ meta (id: sample and lane, sample, read_group), [ reads ] ]
    fasta // [ meta, fasta ]
    targets // a BED file, or []

    main:
    READWARP_INDEX(fasta)
    reference = fasta.join(READWARP_INDEX.out.index).first()
    sequence = fasta.first()

    READWARP_ALIGN(lanes, reference)
    samples = READWARP_ALIGN.out.bam
        .map { meta, bam -> [[id: meta.sample], bam] }
        .groupTuple()
    READWARP_MERGE(samples)

    READWARP_CALL(READWARP_MERGE.out.bam.map { meta, bam, bai -> [meta, bam, bai, targets] }, sequence)
    READWARP_GENOTYPE(READWARP_CALL.out.vcf.map { meta, vcf, tbi -> [meta, vcf, tbi, []] }, sequence)
    cohort = READWARP_CALL.out.vcf
        .map { _meta, vcf, tbi -> [[id: 'cohort'], vcf, tbi] }
        .groupTuple()
        .map { meta, vcfs, tbis -> [meta, vcfs, tbis, []] }
    READWARP_COHORT(cohort, sequence)

    emit:
    bam = READWARP_MERGE.out.bam
    gvcf = READWARP_CALL.out.vcf
    vcf = READWARP_GENOTYPE.out.vcf
    cohort = READWARP_COHORT.out.vcf
}
