"""INFO of a cohort's records: what the files say about their own lines, as `ANNOTATIONS` joins it (host only)."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.genotypes.annotations import ANNOTATIONS, Columns
from readwarp.call.genotypes.cohort import Reports
from readwarp.call.genotypes.emitted import Emitted
from readwarp.call.joint.cells import Evidence
from readwarp.call.joint.sites import JointSite
from readwarp.ragged import offsets_of

ITEMS = re.compile("([^;=]+)=?([^;]*)")  # of INFO


class _Counts(NamedTuple):
    """Reads of the lines at the sites of records."""

    reads: ndarray  # int64 [records, files]
    alt_reads: ndarray  # int64 [records, files]
    strands: ndarray  # int64 [records, 4], of all files together
    has_strands: ndarray  # bool [records]; False where a line has none


def join_annotations(sites: Sequence[JointSite], evidence: Evidence, out: Emitted) -> Any:
    """`Columns` of the records."""
    is_alt = (out.genotype > 0) & (out.genotype != out.star[:, None, None])
    alt_depth = np.where(is_alt.any(axis=2), out.depth, 0).sum(axis=1).tolist()
    facts = zip(out.quality.tolist(), out.depth.sum(axis=1).tolist(), alt_depth, strict=True)
    counts = _count_reads(evidence, out.site)
    values = np.empty((len(ANNOTATIONS), len(out)))
    for row, (s, (quality, depth, alt)) in enumerate(zip(out.site.tolist(), facts, strict=True)):
        files = sorted(sites[s].own)
        told = Reports(
            lines=[dict(ITEMS.findall(sites[s].own[file][0].information)) for file in files],
            reads=counts.reads[row, files].tolist(),
            alt_reads=counts.alt_reads[row, files].tolist(),
            strands=counts.strands[row].tolist() if counts.has_strands[row] else None,
            quality=quality,
            depth=depth,
            alt_depth=alt,
        )
        values[:, row] = [annotation.join(told, annotation.name) for annotation in ANNOTATIONS]
    return Columns._make(values)


def _count_reads(evidence: Evidence, site: ndarray) -> _Counts:
    cells, cell, is_own = evidence.cells, evidence.cell[site], evidence.is_own[site]
    before = offsets_of(cells.depths)  # the sum of all AD before each
    first, last = cells.depth_offsets[:-1], cells.depth_offsets[1:]
    alt_depth = before[last] - before[np.minimum(first + 1, last)]
    starts = np.searchsorted(evidence.owner, np.arange(evidence.owner[-1] + 1))
    strands = np.where(is_own[:, :, None], cells.strands[cell], 0)
    return _Counts(
        reads=np.add.reduceat(np.where(is_own, np.maximum(0, cells.depth[cell]), 0), starts, axis=1, dtype=np.int64),
        alt_reads=np.add.reduceat(np.where(is_own, alt_depth[cell], 0), starts, axis=1),
        strands=strands.sum(axis=1, dtype=np.int64),
        has_strands=strands.min(axis=(1, 2)) >= 0,
    )
