"""Counts of reads and records, among them those of `samtools flagstat`, made batch by batch."""

import numpy as np

from readwarp.batches import Alignments, ReadBatch, Segment
from readwarp.config import MAX_READ_LENGTH
from readwarp.metrics import Metrics

PAIRED, PROPER, UNMAPPED, MATE_UNMAPPED, FIRST, LAST = 0x1, 0x2, 0x4, 0x8, 0x40, 0x80
SECONDARY, SUPPLEMENTARY = 0x100, 0x800
COUNTERS = {  # of samtools flagstat
    "total": "records_all",
    "primary": "records_primary",
    "secondary": "records_secondary",
    "supplementary": "supplementary",
    "duplicates": "duplicates",
    "primary duplicates": "duplicates",
    "mapped": "records_mapped",
    "primary mapped": "mapped",
    "paired in sequencing": "records_paired",
    "read1": "records_first",
    "read2": "records_last",
    "properly paired": "proper",
    "with itself and mate mapped": "records_both_mapped",
    "singletons": "records_singletons",
    "with mate mapped to a different chr": "records_mate_elsewhere",
    "with mate mapped to a different chr (mapQ >= 5)": "records_mate_elsewhere_sure",
}
SURE = 5  # minimum mapping quality of a mate on another contig that flagstat trusts


def count(reads: ReadBatch, aligned: ReadBatch, rows: Alignments, longest: int, metrics: Metrics) -> None:
    """Add a batch to the counters. aligned: the reads without what was trimmed; longest: of single reads."""
    flag = rows.flag
    primary = (flag & (SECONDARY | SUPPLEMENTARY)) == 0
    mapped = (flag & UNMAPPED) == 0
    pairs = primary & ((flag & PAIRED) != 0)
    both = pairs & ((flag & (UNMAPPED | MATE_UNMAPPED)) == 0)
    elsewhere = both & (rows.contig != rows.mate_contig)
    limits = np.where(aligned.segment == Segment.UNPAIRED, longest, MAX_READ_LENGTH)
    metrics.count("reads", len(reads))
    metrics.count("bases", int(reads.read_offsets[-1]))
    for name, chosen in (
        ("reads_too_long", np.diff(aligned.read_offsets) > limits),
        ("mapped", primary & mapped),
        ("proper", primary & mapped & ((flag & PROPER) != 0)),
        ("supplementary", (flag & SUPPLEMENTARY) != 0),
        ("records_all", np.ones_like(primary)),
        ("records_primary", primary),
        ("records_secondary", (flag & SECONDARY) != 0),
        ("records_mapped", mapped),
        ("records_paired", pairs),
        ("records_first", pairs & ((flag & FIRST) != 0)),
        ("records_last", pairs & ((flag & LAST) != 0)),
        ("records_both_mapped", both),
        ("records_singletons", pairs & ((flag & (UNMAPPED | MATE_UNMAPPED)) == MATE_UNMAPPED)),
        ("records_mate_elsewhere", elsewhere),
        ("records_mate_elsewhere_sure", elsewhere & (rows.mapping_quality >= SURE)),
    ):
        metrics.count(name, int(np.count_nonzero(chosen)))


def flagstat(metrics: Metrics) -> dict[str, int]:
    """The counts under the names that `samtools flagstat -O json` gives them."""
    return {name: metrics.counts.get(counter, 0) for name, counter in COUNTERS.items()}
