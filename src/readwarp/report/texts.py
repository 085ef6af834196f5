"""Write counts of a file as the texts of `samtools flagstat` and `samtools idxstats`, and of the depth."""

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from readwarp.formats.common.regions import Contigs
from readwarp.report.counting.coverage import Depth
from readwarp.report.counting.tables import Tables
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


def flagstat_text(tables: Tables) -> Iterator[str]:
    """Yield the lines."""
    records = tables.records.sum(0)  # mate elsewhere, quality class, flag
    elsewhere, quality, flag = np.ogrid[:2, :3, :FLAGS]
    failed = (flag & FAILED > 0) & np.ones_like(records, bool)
    masks = flagstat_masks(flag, elsewhere > 0, quality > 1)
    found = {name: [int(records[mask & side].sum()) for side in (~failed, failed)] for name, mask in masks.items()}
    for name, (passed, bad) in found.items():
        shares = map(percent, (passed, bad), found[WHOLE[name]]) if name in WHOLE else ()
        note = f" ({' : '.join(shares)})" if name in WHOLE else ""
        yield f"{passed} + {bad} {NAMES.get(name, name)}{note}\n"


def percent(part: int, whole: int) -> str:
    return f"{float(np.float32(part) / np.float32(whole)) * 100:.2f}%" if whole else "N/A"


def idxstats_text(contigs: Contigs, tables: Tables) -> Iterator[str]:
    """Yield the lines: name, length, mapped and unmapped records of each contig, and the records without one."""
    *placed, unplaced = tables.placed.tolist()
    for name, length, (mapped, unmapped) in zip(contigs.names, contigs.lengths, placed, strict=True):
        yield f"{name}\t{length}\t{mapped}\t{unmapped}\n"
    yield f"*\t0\t0\t{sum(unplaced)}\n"


def depth_texts(depth: Depth, title: str) -> dict[str, Iterator[str]]:
    """Return the distribution, the means along the genome, and those of each target."""
    rows: dict[str, Iterable[tuple[object, ...]]] = {
        "depth": (("# depth", "bases"), *((depth, n) for depth, n in enumerate(depth.bases.tolist()) if n)),
        "along": ((*place, f"{mean:.5g}") for *place, mean in depth.bin_means),
        "targets": (
            ("# contig", "start", "stop", "name", "mean", "share at 20 or more"),
            *((*place, f"{mean:.5g}", f"{share:.4f}") for *place, mean, share in depth.target_means),
        ),
    }
    return {
        name: chain([f"{title}\n"], ("\t".join(map(str, row)) + "\n" for row in found)) for name, found in rows.items()
    }
