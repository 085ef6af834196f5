cwlVersion: v1.2
class: CommandLineTool
label: readwarp genotype
doc: Genotype samples together, from the gVCF of each.
hints: # docker build -f packaging/Dockerfile -t readwarp .
  DockerRequirement:
    dockerPull: readwarp
requirements:
  EnvVarRequirement:
    envDef: {READWARP_CACHE: $(inputs.kernel_cache)}
  ResourceRequirement:
    coresMin: 1
    coresMax: 2
    ramMin: $(inputs.memory)
baseCommand: [readwarp, genotype]
arguments:
  - {prefix: --output, valueFrom: $(inputs.prefix).vcf.gz}
  - {prefix: --threads, valueFrom: $(runtime.cores)}
  - {prefix: --memory, valueFrom: $(inputs.memory)M}
  - --no-progress
inputs:
  reference:
    type: File
    doc: FASTA
    inputBinding: {position: 1}
  gvcfs:
    type: File[]
    secondaryFiles: [.tbi]
    inputBinding: {position: 2}
  targets:
    type: File?
    inputBinding: {prefix: --targets}
  ploidy:
    type: int?
    default: 2
    doc: the highest one of the samples
    inputBinding: {prefix: --ploidy}
  prefix: {type: string, doc: "name of the output, without .vcf.gz"}
  options:
    type: string[]
    default: []
    inputBinding: {position: 3}
  memory: {type: int, default: 4000, doc: MiB}
  kernel_cache: {type: string, default: /var/tmp, doc: where compiled kernels are kept for the next jobs}
outputs:
  vcf:
    type: File
    secondaryFiles: [.tbi]
    outputBinding: {glob: $(inputs.prefix).vcf.gz}
