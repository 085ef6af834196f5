cwlVersion: v1.2
class: Workflow
label: one sample
doc: The lanes of a sample to a BAM file, a gVCF and a VCF.
requirements:
  MultipleInputFeatureRequirement: {}
  ScatterFeatureRequirement: {}
  StepInputExpressionRequirement: {}
  SchemaDefRequirement:
    types: [{$import: samples.yml}]
inputs:
  reference: {type: File, secondaryFiles: [.rwx]}
  name: string
  lanes: {type: {type: array, items: samples.yml#lane}}
  platform: string
  ploidy: int?
  targets: File?
  align_options: string[]
  kernel_cache: string
outputs:
  bam: {type: File, secondaryFiles: [.bai], outputSource: merge/bam}
  gvcf: {type: File, secondaryFiles: [.tbi], outputSource: call/vcf}
  vcf: {type: File, secondaryFiles: [.tbi], outputSource: genotype/vcf}
steps:
  align:
    run: align.cwl
    scatter: lane
    in:
      reference: reference
      name: name
      lane: lanes
      platform: platform
      reads: {valueFrom: $(inputs.lane.reads)}
      read_group:
        valueFrom: '@RG\tID:$(inputs.name).$(inputs.lane.name)\tSM:$(inputs.name)\tLB:$(inputs.lane.library)\tPL:$(inputs.platform)'
      prefix: {valueFrom: $(inputs.name).$(inputs.lane.name)}
      options: align_options
      kernel_cache: kernel_cache
    out: [bam]
  merge:
    run: merge.cwl
    in: {bams: align/bam, prefix: name, kernel_cache: kernel_cache}
    out: [bam]
  call:
    run: call.cwl
    in:
      reference: reference
      bam: merge/bam
      name: name
      prefix: {valueFrom: $(inputs.name).g}
      ploidy: ploidy
      targets: targets
      kernel_cache: kernel_cache
    out: [vcf]
  genotype:
    run: genotype.cwl
    in:
      reference: reference
      gvcfs: {source: [call/vcf], linkMerge: merge_nested}
      prefix: name
      ploidy: ploidy
      kernel_cache: kernel_cache
    out: [vcf]
