"""Adapters and instruments that are known, with their sources."""

from typing import NamedTuple


class Adapter(NamedTuple):
    kit: str
    first: str  # what a first or single read shows beyond the end of its fragment
    last: str  # likewise a last read
    source: str


ADAPTERS = (
    Adapter(
        "Illumina TruSeq, NEBNext, IDT xGen",
        "AGATCGGAAGAGCACACGTCTGAACTCCAGTCA",
        "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT",
        "Illumina Adapter Sequences, 1000000002694, AdapterRead1 and AdapterRead2",
    ),
    Adapter(
        "Illumina Nextera, DNA Prep (transposase)",
        "CTGTCTCTTATACACATCT",
        "CTGTCTCTTATACACATCT",
        "Illumina Adapter Sequences, 1000000002694",
    ),
    Adapter(
        "Illumina TruSeq Small RNA",
        "TGGAATTCTCGGGTGCCAAGG",
        "GATCGTCGGACTGTAGAACTCTGAACGTGTAGA",
        "Illumina Adapter Sequences, 1000000002694: RA3, and the reverse complement of RA5 and its PCR primer",
    ),
    Adapter(
        "MGI, BGI (DNBSEQ)",
        "AAGTCGGAGGCCAAGCGGTCTTAGGAAGACAA",
        "AAGTCGGATCGTAGCCATGTCGTTCTGTGAGCCAAGGAGTTG",
        "MGIEasy library preparation kits, user manual, adapter sequences for filtering",
    ),
)

# How the names of instruments begin that read G where a cluster has no signal: an instrument's name is this, a number
# and more up to a colon, at the beginning of the read's name. Source: Illumina Knowledge 3880; for FS and SH what users
# of fastp report (its pull requests 508 and 598), which takes NS, NB, NDX and A0 as of version 0.23.
INSTRUMENTS = {
    "A": "NovaSeq 6000",
    "FS": "iSeq 100",
    "LH": "NovaSeq X",
    "MN": "MiniSeq",
    "NB": "NextSeq 500 and 550",
    "NDX": "NextSeq 550Dx",
    "NS": "NextSeq 500",
    "SH": "MiSeq i100",
    "VH": "NextSeq 2000",
    "VL": "NextSeq 1000",
}
