"""Reads in: FASTQ, FASTA, BAM and CRAM to batches of reads; `stream.py` opens them."""
