"""Known adapters and instruments."""

from typing import NamedTuple


class Adapter(NamedTuple):
    """Adapter sequences beyond the end of a fragment."""

    first: str  # first and single reads
    last: str  # last reads


# Sources: Illumina Adapter Sequences (document 1000000002694; of small RNA, RA3 and the reverse complement of RA5 with
# its PCR primer); MGIEasy library preparation kits, user manual, adapter sequences for filtering.
ADAPTERS = {
    "Illumina TruSeq, NEBNext, IDT xGen": Adapter(
        "AGATCGGAAGAGCACACGTCTGAACTCCAGTCA", "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT"
    ),
    "Illumina Nextera, DNA Prep": Adapter("CTGTCTCTTATACACATCT", "CTGTCTCTTATACACATCT"),
    "Illumina TruSeq Small RNA": Adapter("TGGAATTCTCGGGTGCCAAGG", "GATCGTCGGACTGTAGAACTCTGAACGTGTAGA"),
    "MGI, BGI (DNBSEQ)": Adapter("AAGTCGGAGGCCAAGCGGTCTTAGGAAGACAA", "AAGTCGGATCGTAGCCATGTCGTTCTGTGAGCCAAGGAGTTG"),
}

# Prefixes of instruments that read G where a cluster has no signal: an instrument's name is this prefix, a number and
# more, up to a colon, at the start of the read's name. Source: Illumina Knowledge 3880; for FS and SH reports of fastp
# users (its pull requests 508 and 598), which takes NS, NB, NDX and A0 as of version 0.23.
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
