"""Formats, bytes to batches and back: FASTQ, BAM, CRAM, BGZF, FASTA, VCF. A writer formats, it never decides."""
