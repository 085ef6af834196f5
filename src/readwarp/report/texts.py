"""Arrange counts of a file as the rows of the texts beside it: those of samtools, and of the depth."""

from collections.abc import Iterable, Iterator

import numpy as np

from readwarp.formats.common.regions import Contigs
from readwarp.report.counting.coverage import Depth
from readwarp.report.counting.one_pass import FileCounts
from readwarp.report.counting.tables import Tables
from readwarp.report.stats_text import stats_rows
from readwarp.report.tools import Row
from readwarp.rules.flags import FAILED, FLAGS, flagstat_masks

NAMES = {  # where the text differs from the JSON
    "total": "in total (QC-passed reads + QC-failed reads)",
    "with mate mapped to a different chr (mapQ >= 5)": "with mate mapped to a different chr (mapQ>=5)",
}
WHOLE = {  # denominator of each percentage
    "mapped": "total",
    "primary mapped": "primary",
    "properly paired": "paired in sequencing",
    "singletons": "paired in sequencing",
}


def rows_of(counts: FileCounts, arguments: str, title: str) -> dict[str, list[Row]]:
    """Return the rows of each text. arguments: of the equivalent `samtools stats`; title: of the depth."""
    rows = {
        "stats": stats_rows(counts, arguments),
        "flagstat": flagstat_rows(counts.tables),
        "idxstats": idxstats_rows(counts.contigs, counts.tables),
        **depth_rows(counts.depth, title),
    }
    return {name: list(found) for name, found in rows.items()}


def flagstat_rows(tables: Tables) -> Iterator[Row]:
    """Yield reads that passed quality control, reads that failed, what they are, and their percentages."""
    records = tables.records.sum(0)  # mate elsewhere, quality class, flag
    elsewhere, quality, flag = np.ogrid[:2, :3, :FLAGS]
    failed = (flag & FAILED > 0) & np.ones_like(records, bool)
    masks = flagstat_masks(flag, elsewhere > 0, quality > 1)
    found = {name: [int(records[mask & side].sum()) for side in (~failed, failed)] for name, mask in masks.items()}
    for name, (passed, bad) in found.items():
        shares = map(percent, (passed, bad), found[WHOLE[name]]) if name in WHOLE else ()
        yield passed, bad, NAMES.get(name, name), f" ({' : '.join(shares)})" if name in WHOLE else ""


def flagstat_text(rows: Iterable[Row]) -> bytes:
    return "".join(f"{passed} + {bad} {what}{note}\n" for passed, bad, what, note in rows).encode()


def percent(part: int, whole: int) -> str:
    return f"{float(np.float32(part) / np.float32(whole)) * 100:.2f}%" if whole else "N/A"


def idxstats_rows(contigs: Contigs, tables: Tables) -> Iterator[Row]:
    """Yield name, length, mapped and unmapped records of each contig, and the records without one."""
    *placed, unplaced = tables.placed.tolist()
    for name, length, (mapped, unmapped) in zip(contigs.names, contigs.lengths, placed, strict=True):
        yield name, length, mapped, unmapped
    yield "*", 0, 0, sum(unplaced)


def depth_rows(depth: Depth, title: str) -> dict[str, Iterable[Row]]:
    """Return the distribution, the means along the genome, and those of each target."""
    bases = [(depth, n) for depth, n in enumerate(depth.bases.tolist()) if n]
    targets = [(*place, f"{mean:.5g}", f"{share:.4f}") for *place, mean, share in depth.target_means]
    return {
        "depth": [(title,), ("# depth", "bases"), *bases],
        "along": [(title,), *((*place, f"{mean:.5g}") for *place, mean in depth.bin_means)],
        "targets": [(title,), ("# contig", "start", "stop", "name", "mean", "share at 20 or more"), *targets],
    }
