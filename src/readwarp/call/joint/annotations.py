"""INFO of a cohort's records: what the files say about their own lines, as `ANNOTATIONS` joins it (host only)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from readwarp.call.genotypes.annotations import ANNOTATIONS, Columns
from readwarp.call.genotypes.cohort import Reports
from readwarp.call.genotypes.emitted import Emitted
from readwarp.call.joint.cells import Evidence
from readwarp.call.joint.sites import JointSite


def join_annotations(sites: Sequence[JointSite], evidence: Evidence, out: Emitted) -> Any:
    """`Columns` of the records."""
    is_alt = (out.genotype > 0) & (out.genotype != out.star[:, None, None])
    alt_depth = np.where(is_alt.any(axis=2), out.depth, 0).sum(axis=1).tolist()
    facts = zip(out.site.tolist(), out.quality.tolist(), out.depth.sum(axis=1).tolist(), alt_depth, strict=True)
    values = np.empty((len(ANNOTATIONS), len(out)))
    for row, (s, *of_record) in enumerate(facts):
        told = _read_reports(sites[s], evidence, s, of_record)
        values[:, row] = [annotation.join(told, annotation.name) for annotation in ANNOTATIONS]
    return Columns._make(values)


def _read_reports(site: JointSite, evidence: Evidence, s: int, of_record: list[Any]) -> Reports:
    """`of_record`: QUAL, DP, and DP of the samples with ALT alleles."""
    cells, lines, reads, alt_reads = evidence.cells, list[dict[str, str]](), list[float](), list[float]()
    strands, is_counted = np.zeros(4, np.int64), True
    for file, (record, _) in sorted(site.own.items()):
        own = evidence.cell[s, evidence.owner == file]
        lines.append(dict(item.partition("=")[::2] for item in record.information.split(";")))
        reads.append(float(np.maximum(0, cells.depth[own]).sum()))
        ends = zip(cells.depth_offsets[own].tolist(), cells.depth_offsets[own + 1].tolist(), strict=True)
        alt_reads.append(float(sum(cells.depths[first + 1 : last].sum() for first, last in ends)))
        is_counted &= bool((cells.strands[own] >= 0).all())
        strands += cells.strands[own].sum(axis=0)
    return Reports(lines, reads, alt_reads, strands.tolist() if is_counted else None, *of_record)
