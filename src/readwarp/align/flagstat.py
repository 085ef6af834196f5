"""Counts of reads and records, among them those of `samtools flagstat`, made batch by batch."""

import numpy as np

from readwarp.batches import Alignments, ReadBatch
from readwarp.config import MAX_READ_LENGTH
from readwarp.metrics import Metrics

PAIRED, PROPER, UNMAPPED, MATE_UNMAPPED, FIRST, LAST = 0x1, 0x2, 0x4, 0x8, 0x40, 0x80
SECONDARY, SUPPLEMENTARY = 0x100, 0x800
SURE = 5  # minimum mapping quality of a mate on another contig that flagstat trusts


def count(reads: ReadBatch, rows: Alignments, metrics: Metrics) -> None:
    """Add a batch to the counters."""
    flag = rows.flag
    primary = (flag & (SECONDARY | SUPPLEMENTARY)) == 0
    mapped = (flag & UNMAPPED) == 0
    pairs = primary & ((flag & PAIRED) != 0)
    both = pairs & ((flag & (UNMAPPED | MATE_UNMAPPED)) == 0)
    elsewhere = both & (rows.contig != rows.mate_contig)
    metrics.count("reads", len(reads))
    metrics.count("bases", int(reads.read_offsets[-1]))
    for name, chosen in (
        ("reads_too_long", np.diff(reads.read_offsets) > MAX_READ_LENGTH),
        ("mapped", primary & mapped),
        ("proper", primary & mapped & ((flag & PROPER) != 0)),
        ("supplementary", ~primary),
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
    counts = metrics.counts

    def number(name: str) -> int:
        return counts.get(name, 0)

    return {
        "total": number("records_all"),
        "primary": number("records_primary"),
        "secondary": number("records_secondary"),
        "supplementary": number("records_all") - number("records_primary") - number("records_secondary"),
        "duplicates": number("duplicates"),
        "primary duplicates": number("duplicates"),
        "mapped": number("records_mapped"),
        "primary mapped": number("mapped"),
        "paired in sequencing": number("records_paired"),
        "read1": number("records_first"),
        "read2": number("records_last"),
        "properly paired": number("proper"),
        "with itself and mate mapped": number("records_both_mapped"),
        "singletons": number("records_singletons"),
        "with mate mapped to a different chr": number("records_mate_elsewhere"),
        "with mate mapped to a different chr (mapQ >= 5)": number("records_mate_elsewhere_sure"),
    }
