cwlVersion: v1.2
class: CommandLineTool
label: readwarp index
doc: Build the index of a reference; the output is the reference with its index beside it.
hints: # docker build -f packaging/Dockerfile -t readwarp .
  DockerRequirement:
    dockerPull: readwarp
requirements:
  EnvVarRequirement:
    envDef: {READWARP_CACHE: $(inputs.kernel_cache)}
  InitialWorkDirRequirement:
    listing: [$(inputs.fasta)]
  ResourceRequirement:
    coresMin: 1
    coresMax: 8
    ramMin: $(inputs.memory)
baseCommand: [readwarp, index]
arguments:
  - {prefix: --threads, valueFrom: $(runtime.cores)}
  - --no-progress
inputs:
  fasta:
    type: File
    doc: FASTA (plain, gzip, bgzip)
    inputBinding: {position: 1, valueFrom: $(self.basename)}
  options:
    type: string[]
    default: []
    doc: further options, such as --preset short
    inputBinding: {position: 2}
  memory: {type: int, default: 4000, doc: MiB; 24000 for a human genome}
  kernel_cache: {type: string, default: /var/tmp, doc: where compiled kernels are kept for the next jobs}
outputs:
  reference:
    type: File
    secondaryFiles: [.rwx]
    outputBinding: {glob: $(inputs.fasta.basename)}
