#!/usr/bin/env nextflow

include { GERMLINE } from './subworkflows/germline/main'

// A line of the sample sheet: sample, lane, fastq_1, fastq_2 (empty for single reads and BAM), library and preset (optional).
// Paths are absolute, addresses, or relative to the sheet.
def read_lane(row, sheet) {
    def known = ['sample', 'lane', 'fastq_1', 'fastq_2', 'library', 'preset']
    def unknown = row.keySet().findAll { name -> !(name in known) }
    if (unknown) {
        error("${params.input}: unknown column ${unknown.join(', ')}; a sheet may have ${known.join(', ')}")
    }
    if (!row.sample || !row.lane || !row.fastq_1) {
        error("${params.input}: sample, lane and fastq_1 are needed in each line: ${row}")
    }
    def reads = [row.fastq_1, row.fastq_2].findAll { path -> path }.collect { path ->
        file(path.startsWith('/') || path.contains('://') ? path : "${sheet.parent}/${path}", checkIfExists: true)
    }
    def library = row.library ?: row.sample
    [row.sample, row.lane, library].each { name ->
        if (!(name ==~ /[A-Za-z0-9_][A-Za-z0-9_.-]*/)) {
            error("${params.input}: names are of letters, digits, _, - and . (they name files): ${name}")
        }
    }
    def platforms = ['': 'ILLUMINA', hifi: 'PACBIO', ont: 'ONT']
    def preset = row.preset ?: ''
    if (!platforms.containsKey(preset)) {
        error("${params.input}: preset is hifi, ont or empty: ${preset}")
    }
    def meta = [
        id: "${row.sample}.${row.lane}",
        sample: row.sample,
        single_end: reads.size() == 1,
        read_group: "@RG\\tID:${row.sample}.${row.lane}\\tSM:${row.sample}\\tLB:${library}\\tPL:${platforms[preset]}",
        preset: preset,
    ]
    return [meta, reads]
}

workflow {
    if (!params.input || !params.fasta) {
        error("--input SHEET.csv and --fasta REFERENCE are needed")
    }
    sheet = file(params.input, checkIfExists: true)
    lanes = channel.fromPath(params.input).splitCsv(header: true).map { row -> read_lane(row, sheet) }
    fasta = channel.fromPath(params.fasta, checkIfExists: true).map { path -> [[id: path.baseName], path] }
    GERMLINE(lanes, fasta, params.targets ? file(params.targets, checkIfExists: true) : [])
}
