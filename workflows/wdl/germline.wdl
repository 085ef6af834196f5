version 1.0

import "readwarp.wdl" as readwarp

struct Lane {
  String name
  Array[File]+ reads
  String? library
  String? platform
  String? preset # hifi or ont, of long reads
}

struct Sample {
  String name
  Array[Lane]+ lanes
  Int? ploidy
}

workflow germline {
  input {
    File fasta
    File? index
    Array[Sample]+ samples
    File? targets
    Boolean joint = true
    String align_options = ""
    String call_options = ""
    Int ploidy = 2
    String image = "readwarp"
  }

  if (!defined(index)) {
    call readwarp.build_index { input: fasta = fasta, image = image }
  }
  File seeds = select_first([index, build_index.index])

  scatter (sample in samples) {
    scatter (lane in sample.lanes) {
      String library = select_first([lane.library, sample.name])
      String preset = select_first([lane.preset, ""])
      String usual = if preset == "hifi" then "PACBIO" else if preset == "ont" then "ONT" else "ILLUMINA"
      String platform = select_first([lane.platform, usual])
      String preset_option = if preset == "" then "" else "--preset ~{preset}"
      call readwarp.align {
        input:
          fasta = fasta,
          index = seeds,
          reads = lane.reads,
          read_group = "@RG\\tID:~{sample.name}.~{lane.name}\\tSM:~{sample.name}\\tLB:~{library}\\tPL:~{platform}",
          prefix = "~{sample.name}.~{lane.name}",
          options = "~{preset_option} ~{align_options}",
          image = image
      }
    }
    call readwarp.merge { input: bams = align.bam, prefix = sample.name, image = image }
    call readwarp.call_variants {
      input:
        fasta = fasta,
        bam = merge.bam,
        bai = merge.bai,
        targets = targets,
        prefix = "~{sample.name}.g",
        ploidy = select_first([sample.ploidy, ploidy]),
        options = "--gvcf ~{call_options}",
        image = image
    }
    call readwarp.genotype as genotype_sample {
      input:
        fasta = fasta,
        gvcfs = [call_variants.vcf],
        tbis = [call_variants.tbi],
        prefix = sample.name,
        ploidy = select_first([sample.ploidy, ploidy]),
        image = image
    }
  }
  if (joint) {
    call readwarp.genotype as genotype_cohort {
      input:
        fasta = fasta,
        gvcfs = call_variants.vcf,
        tbis = call_variants.tbi,
        prefix = "cohort",
        ploidy = ploidy,
        image = image
    }
  }

  output {
    Array[File] bams = merge.bam
    Array[File] bais = merge.bai
    Array[File] gvcfs = call_variants.vcf
    Array[File] vcfs = genotype_sample.vcf
    Array[File] vcf_indexes = genotype_sample.tbi
    File? cohort_vcf = genotype_cohort.vcf
    File? cohort_tbi = genotype_cohort.tbi
  }
  meta {
    description: "Reads of many samples and lanes to BAM, gVCF, a VCF of each sample, and a cohort VCF"
  }
  parameter_meta {
    index: "made by `readwarp index`; built if it is not given"
    samples: "each with its lanes; duplicates are identified per library"
    ploidy: "of samples that do not say theirs; the highest one if they do"
  }
}
