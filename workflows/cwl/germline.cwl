cwlVersion: v1.2
class: Workflow
label: germline variants with readwarp
doc: Reads of many samples and lanes to BAM, gVCF, a VCF of each sample, and a cohort VCF.
requirements:
  ScatterFeatureRequirement: {}
  StepInputExpressionRequirement: {}
  SubworkflowFeatureRequirement: {}
  SchemaDefRequirement:
    types: [{$import: samples.yml}]
inputs:
  fasta: {type: File, doc: "FASTA (plain, gzip, bgzip)"}
  samples: {type: {type: array, items: samples.yml#sample}}
  platform: {type: string, default: ILLUMINA}
  ploidy: {type: int, default: 2, doc: the highest one of the samples}
  targets: {type: File?, doc: call only there}
  index_options: {type: "string[]", default: [], doc: "such as [--preset, short]"}
  align_options: {type: "string[]", default: [], doc: "such as [--trim]"}
  kernel_cache: {type: string, default: /var/tmp, doc: where compiled kernels are kept for the next jobs}
outputs:
  bams: {type: "File[]", secondaryFiles: [.bai], outputSource: sample/bam}
  gvcfs: {type: "File[]", secondaryFiles: [.tbi], outputSource: sample/gvcf}
  vcfs: {type: "File[]", secondaryFiles: [.tbi], outputSource: sample/vcf}
  cohort_vcf: {type: File, secondaryFiles: [.tbi], outputSource: cohort/vcf}
steps:
  index:
    run: index.cwl
    in: {fasta: fasta, options: index_options, kernel_cache: kernel_cache}
    out: [reference]
  sample:
    run: sample.cwl
    scatter: sample
    in:
      reference: index/reference
      sample: samples
      name: {valueFrom: $(inputs.sample.name)}
      lanes: {valueFrom: $(inputs.sample.lanes)}
      ploidy: {valueFrom: $(inputs.sample.ploidy)}
      platform: platform
      targets: targets
      align_options: align_options
      kernel_cache: kernel_cache
    out: [bam, gvcf, vcf]
  cohort:
    run: genotype.cwl
    in:
      reference: index/reference
      gvcfs: sample/gvcf
      prefix: {default: cohort}
      ploidy: ploidy
      kernel_cache: kernel_cache
    out: [vcf]
