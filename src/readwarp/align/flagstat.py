"""What `samtools flagstat` says of the records that were written, counted on the way."""

import numpy as np

from readwarp.batches import Alignments
from readwarp.metrics import Metrics

PAIRED, PROPER, UNMAPPED, MATE_UNMAPPED, FIRST, LAST = 0x1, 0x2, 0x4, 0x8, 0x40, 0x80
SECONDARY, SUPPLEMENTARY = 0x100, 0x800
PREFIX = "records_"  # of our counters
SURE = 5  # mapping quality of a mate elsewhere that is to be believed


def count(rows: Alignments, metrics: Metrics) -> None:
    """Add a batch to the counters `records_*`; `mapped` and `proper` are counted with the reads."""
    flag = rows.flag
    primary = (flag & (SECONDARY | SUPPLEMENTARY)) == 0
    pairs = primary & ((flag & PAIRED) != 0)
    both = pairs & ((flag & (UNMAPPED | MATE_UNMAPPED)) == 0)
    elsewhere = both & (rows.contig != rows.mate_contig)
    for name, chosen in (
        ("all", np.ones_like(primary)),
        ("primary", primary),
        ("secondary", (flag & SECONDARY) != 0),
        ("mapped", (flag & UNMAPPED) == 0),
        ("paired", pairs),
        ("first", pairs & ((flag & FIRST) != 0)),
        ("last", pairs & ((flag & LAST) != 0)),
        ("both_mapped", both),
        ("singletons", pairs & ((flag & (UNMAPPED | MATE_UNMAPPED)) == MATE_UNMAPPED)),
        ("mate_elsewhere", elsewhere),
        ("mate_elsewhere_sure", elsewhere & (rows.mapping_quality >= SURE)),
    ):
        metrics.count(PREFIX + name, int(np.count_nonzero(chosen)))


def flagstat(metrics: Metrics) -> dict[str, int]:
    """The counts under the names that `samtools flagstat -O json` gives them."""
    counts = metrics.counts

    def records(name: str) -> int:
        return counts.get(PREFIX + name, 0)

    duplicates = counts.get("duplicates", 0)
    return {
        "total": records("all"),
        "primary": records("primary"),
        "secondary": records("secondary"),
        "supplementary": records("all") - records("primary") - records("secondary"),
        "duplicates": duplicates,
        "primary duplicates": duplicates,
        "mapped": records("mapped"),
        "primary mapped": counts.get("mapped", 0),
        "paired in sequencing": records("paired"),
        "read1": records("first"),
        "read2": records("last"),
        "properly paired": counts.get("proper", 0),
        "with itself and mate mapped": records("both_mapped"),
        "singletons": records("singletons"),
        "with mate mapped to a different chr": records("mate_elsewhere"),
        "with mate mapped to a different chr (mapQ >= 5)": records("mate_elsewhere_sure"),
    }
