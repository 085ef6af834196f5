"""Counts of reads and records, batch by batch, including those of `samtools flagstat`."""

from operator import attrgetter

import numpy as np
from numpy import ndarray

from readwarp.device.rows import is_on_card
from readwarp.formats.common.reads import ReadBatch
from readwarp.metrics import Metrics
from readwarp.rules.flags import SURE, flagstat_masks

Columns = tuple[ndarray, ndarray, ndarray, ndarray]
COUNTED = attrgetter("flag", "contig", "mate_contig", "mapping_quality")  # of an AlignmentBatch
COUNTERS = {  # counters of samtools flagstat
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


def count(reads: ReadBatch, aligned: ReadBatch, columns: Columns, longest: int, metrics: Metrics) -> None:
    """Add a batch to the counters.

    aligned: the trimmed reads; columns: see COUNTED; longest: maximum read length, which none parsed on a card exceeds.
    """
    flag, contig, mate_contig, mapping_quality = columns
    metrics.count("reads", len(reads))
    metrics.count("bases", reads.bases.size)
    lengths = np.empty(0) if is_on_card((aligned.read_offsets,)) else np.diff(aligned.read_offsets)
    metrics.count("reads_too_long", int(np.count_nonzero(lengths > longest)))
    masks = flagstat_masks(flag, contig != mate_contig, mapping_quality >= SURE)
    for name, counter in COUNTERS.items():
        if counter != "duplicates":  # marked later
            metrics.count(counter, int(np.count_nonzero(masks[name])))


def flagstat(metrics: Metrics) -> dict[str, int]:
    """Return the counts under the names of `samtools flagstat -O json`."""
    return {name: metrics.counts.get(counter, 0) for name, counter in COUNTERS.items()}
