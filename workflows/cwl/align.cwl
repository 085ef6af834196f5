cwlVersion: v1.2
class: CommandLineTool
label: readwarp align
doc: Align the reads of a lane.
hints: # docker build -f packaging/Dockerfile -t readwarp .
  DockerRequirement:
    dockerPull: readwarp
requirements:
  EnvVarRequirement:
    envDef: {READWARP_CACHE: $(inputs.kernel_cache)}
  ResourceRequirement:
    coresMin: 1
    coresMax: 16
    ramMin: $(inputs.memory)
baseCommand: [readwarp, align]
arguments:
  - {prefix: --output, valueFrom: $(inputs.prefix).bam}
  - {prefix: --threads, valueFrom: $(runtime.cores)}
  - {prefix: --memory, valueFrom: $(inputs.memory)M}
  - --no-progress
inputs:
  reference:
    type: File
    secondaryFiles: [.rwx]
    doc: FASTA and its index
    inputBinding: {position: 1}
  reads:
    type: File[]
    doc: one or two FASTQ files, or a BAM, uBAM or CRAM file
    inputBinding: {position: 2}
  read_group:
    type: string
    doc: "'@RG\\tID:x\\tSM:y\\tLB:z\\tPL:ILLUMINA', with backslash and t between the fields"
    inputBinding: {prefix: --read-group}
  prefix: {type: string, doc: "name of the output, without .bam"}
  options:
    type: string[]
    default: []
    inputBinding: {position: 3}
  memory: {type: int, default: 4000, doc: MiB; 16000 for a human genome}
  kernel_cache: {type: string, default: /var/tmp, doc: where compiled kernels are kept for the next jobs}
outputs:
  bam:
    type: File
    outputBinding: {glob: $(inputs.prefix).bam}
