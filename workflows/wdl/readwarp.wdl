version 1.0

# readwarp's commands as tasks. `image` is what packaging/Dockerfile builds: docker build -f packaging/Dockerfile -t readwarp .

task build_index {
  input {
    File fasta
    String options = ""
    Int cpu = 8
    Int memory_gb = 24
    Int disk_gb = ceil(8 * size(fasta, "GB")) + 20
    String image = "readwarp"
  }
  String name = basename(fasta)
  command <<<
    set -euo pipefail
    fasta=$(cat '~{write_lines([fasta])}') # names by files: the shell sees nothing but names in them
    name=./${fasta##*/}
    ln -s "$fasta" "$name"
    readwarp index "$name" --threads ~{cpu} --no-progress ~{options}
  >>>
  output {
    File index = name + ".rwx"
  }
  runtime {
    docker: image
    cpu: cpu
    memory: "~{memory_gb} GB"
    disks: "local-disk ~{disk_gb} SSD"
  }
  meta {
    description: "Build the index of a reference"
  }
  parameter_meta {
    fasta: "FASTA (plain, gzip, bgzip)"
    options: "further options of `readwarp index`, such as --preset short"
  }
}

task align {
  input {
    File fasta
    File index
    Array[File]+ reads
    String read_group
    String prefix
    String options = ""
    Int cpu = 16
    Int memory_gb = 16
    Int disk_gb = ceil(3 * size(reads, "GB") + size(fasta, "GB") + size(index, "GB")) + 20
    String image = "readwarp"
  }
  Int planned_mb = memory_gb * 900
  command <<<
    set -euo pipefail
    fasta=$(cat '~{write_lines([fasta])}')
    name=./${fasta##*/}
    ln -s "$fasta" "$name"
    ln -s "$(cat '~{write_lines([index])}')" "$name.rwx"
    mapfile -t reads < '~{write_lines(reads)}'
    read_group=$(cat '~{write_lines([read_group])}')
    prefix=$(cat '~{write_lines([prefix])}')
    readwarp align "$name" "${reads[@]}" -R "$read_group" -o "$prefix.bam" \
      --threads ~{cpu} --memory ~{planned_mb}M --no-progress ~{options}
  >>>
  output {
    File bam = prefix + ".bam"
  }
  runtime {
    docker: image
    cpu: cpu
    memory: "~{memory_gb} GB"
    disks: "local-disk ~{disk_gb} SSD"
  }
  meta {
    description: "Align the reads of a lane"
  }
  parameter_meta {
    reads: "one or two FASTQ files, or a BAM, uBAM or CRAM file"
    read_group: "'@RG\\tID:x\\tSM:y\\tLB:z\\tPL:ILLUMINA', with backslash and t between the fields"
    prefix: "name of the output, without .bam"
  }
}

task merge {
  input {
    Array[File]+ bams
    String prefix
    String options = "--mark-duplicates"
    Int cpu = 8
    Int memory_gb = 8
    Int disk_gb = ceil(4 * size(bams, "GB")) + 20
    String image = "readwarp"
  }
  Int planned_mb = memory_gb * 900
  command <<<
    set -euo pipefail
    mapfile -t bams < '~{write_lines(bams)}'
    prefix=$(cat '~{write_lines([prefix])}')
    readwarp merge "${bams[@]}" -o "$prefix.bam" --sort coordinate --write-index \
      --threads ~{cpu} --memory ~{planned_mb}M --no-progress ~{options}
  >>>
  output {
    File bam = prefix + ".bam"
    File bai = prefix + ".bam.bai"
  }
  runtime {
    docker: image
    cpu: cpu
    memory: "~{memory_gb} GB"
    disks: "local-disk ~{disk_gb} SSD"
  }
  meta {
    description: "Join the lanes of a sample: sort, mark duplicates, index"
  }
}

task call_variants {
  input {
    File fasta
    File bam
    File bai
    File? targets
    String prefix
    Int ploidy = 2
    String options = "--gvcf"
    Int cpu = 4
    Int memory_gb = 8
    Int disk_gb = ceil(1.5 * size(bam, "GB") + size(fasta, "GB")) + 20
    String image = "readwarp"
  }
  Int planned_mb = memory_gb * 900
  command <<<
    set -euo pipefail
    ln -s "$(cat '~{write_lines([bam])}')" reads.bam
    ln -s "$(cat '~{write_lines([bai])}')" reads.bam.bai
    fasta=$(cat '~{write_lines([fasta])}')
    mapfile -t targets < '~{write_lines(select_all([targets]))}'
    prefix=$(cat '~{write_lines([prefix])}')
    readwarp call "$fasta" reads.bam "${targets[@]/#/--targets=}" --ploidy ~{ploidy} -o "$prefix.vcf.gz" \
      --threads ~{cpu} --memory ~{planned_mb}M --no-progress ~{options}
  >>>
  output {
    File vcf = prefix + ".vcf.gz"
    File tbi = prefix + ".vcf.gz.tbi"
  }
  runtime {
    docker: image
    cpu: cpu
    memory: "~{memory_gb} GB"
    disks: "local-disk ~{disk_gb} SSD"
  }
  meta {
    description: "Call the variants of a sample"
  }
  parameter_meta {
    targets: "call only there: BED, interval list or list of regions"
  }
}

task genotype {
  input {
    File fasta
    Array[File]+ gvcfs
    Array[File]+ tbis
    File? targets
    String prefix
    Int ploidy = 2
    String options = ""
    Int cpu = 2
    Int memory_gb = 8
    Int disk_gb = ceil(2 * size(gvcfs, "GB") + size(fasta, "GB")) + 20
    String image = "readwarp"
  }
  Int planned_mb = memory_gb * 900
  command <<<
    set -euo pipefail
    count=0 # indexes may lie in other folders than their files
    paste '~{write_lines(gvcfs)}' '~{write_lines(tbis)}' | while IFS=$'\t' read -r gvcf tbi; do
      count=$((count + 1))
      ln -s "$gvcf" "$count.g.vcf.gz"
      ln -s "$tbi" "$count.g.vcf.gz.tbi"
      echo "$count.g.vcf.gz" >> gvcfs
    done
    fasta=$(cat '~{write_lines([fasta])}')
    mapfile -t targets < '~{write_lines(select_all([targets]))}'
    prefix=$(cat '~{write_lines([prefix])}')
    readwarp genotype "$fasta" --file-list gvcfs "${targets[@]/#/--targets=}" --ploidy ~{ploidy} -o "$prefix.vcf.gz" \
      --threads ~{cpu} --memory ~{planned_mb}M --no-progress ~{options}
  >>>
  output {
    File vcf = prefix + ".vcf.gz"
    File tbi = prefix + ".vcf.gz.tbi"
  }
  runtime {
    docker: image
    cpu: cpu
    memory: "~{memory_gb} GB"
    disks: "local-disk ~{disk_gb} SSD"
  }
  meta {
    description: "Genotype samples together, from the gVCF of each"
  }
}
