cwlVersion: v1.2
class: CommandLineTool
label: readwarp merge
doc: Join the lanes of a sample - sort, mark duplicates, index.
hints: # docker build -f packaging/Dockerfile -t readwarp .
  DockerRequirement:
    dockerPull: readwarp
requirements:
  EnvVarRequirement:
    envDef: {READWARP_CACHE: $(inputs.kernel_cache)}
  ResourceRequirement:
    coresMin: 1
    coresMax: 8
    ramMin: $(inputs.memory)
baseCommand: [readwarp, merge]
arguments:
  - {prefix: --output, valueFrom: $(inputs.prefix).bam}
  - {prefix: --threads, valueFrom: $(runtime.cores)}
  - {prefix: --memory, valueFrom: $(inputs.memory)M}
  - {prefix: --sort, valueFrom: coordinate}
  - --write-index
  - --no-progress
inputs:
  bams:
    type: File[]
    doc: as align wrote them, not sorted
    inputBinding: {position: 1}
  prefix: {type: string, doc: "name of the output, without .bam"}
  options:
    type: string[]
    default: [--mark-duplicates]
    inputBinding: {position: 2}
  memory: {type: int, default: 2000, doc: MiB}
  kernel_cache: {type: string, default: /var/tmp, doc: where compiled kernels are kept for the next jobs}
outputs:
  bam:
    type: File
    secondaryFiles: [.bai]
    outputBinding: {glob: $(inputs.prefix).bam}
