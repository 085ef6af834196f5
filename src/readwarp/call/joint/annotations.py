"""INFO of a cohort's records: what the files say about their own lines, weighted by reads (host only)."""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from readwarp.call.genotypes.annotations import as_fields
from readwarp.call.genotypes.emitted import COLUMNS
from readwarp.call.genotypes.scalar import fisher_phred, symmetric_odds_ratio
from readwarp.call.joint.cells import Evidence
from readwarp.call.joint.kept import Kept
from readwarp.call.joint.sites import JointSite

Values = Iterable[tuple[float, float]]  # value and weight
RANK_SUMS = ("MQRankSum", "ReadPosRankSum", "BaseQRankSum")
NAN = math.nan


def columns_of(sites: Sequence[JointSite], owner: np.ndarray, evidence: Evidence, kept: Kept) -> dict[str, np.ndarray]:
    """COLUMNS of each record, NaN where no file tells; `owner`: number of the file of each sample."""
    rows = [_row(sites[s], owner, evidence, s) for s in kept.site.tolist()]
    return dict(zip(COLUMNS, np.array(rows).reshape(-1, len(COLUMNS)).T, strict=True))


def information(columns: dict[str, np.ndarray], quality: np.ndarray, kept: Kept) -> dict[str, np.ndarray]:
    """INFO but for what is counted from genotypes."""
    is_other = (kept.genotype > 0) & (kept.genotype != kept.star[:, None, None])
    depth = np.where(is_other.any(axis=2), kept.depth, 0).sum(axis=1)
    ratio = np.where(depth > 0, quality / np.maximum(1, depth), NAN)
    return as_fields({**columns, "QD": ratio}, kept.depth.sum(axis=1))


def _row(site: JointSite, owner: np.ndarray, evidence: Evidence, s: int) -> list[float]:
    """MQ is weighted by the reads of a file's line, AMQ and ED by those of other alleles than REF."""
    told: dict[str, list[tuple[float, float]]] = {name: [] for name in COLUMNS}
    strands, cells = np.zeros(4, np.int64), evidence.cells
    is_counted = True
    for file, (record, _) in sorted(site.own.items()):
        own = evidence.cell[s, owner == file]
        reads = int(np.maximum(0, cells.depth[own]).sum())
        others = sum(
            int(cells.depths[cells.depth_offsets[k] + 1 : cells.depth_offsets[k + 1]].sum()) for k in own.tolist()
        )
        for item in record.information.split(";"):
            name, _, value = item.partition("=")
            if name in told:
                weight = others if name in ("AMQ", "ED") else reads
                told[name].append((_number(value), float(weight)))
        is_counted &= bool((cells.strands[own] >= 0).all())
        strands += cells.strands[own].sum(axis=0)
    if is_counted:
        told["FS"], told["SOR"] = [(fisher_phred(*strands), 1.0)], [(symmetric_odds_ratio(*strands), 1.0)]
    return [_HOW[name](told[name]) for name in COLUMNS]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return NAN


def _known(values: Values) -> list[tuple[float, float]]:
    return [(value, weight) for value, weight in values if value == value and weight > 0]


def mean(values: Values) -> float:
    known = _known(values)
    return sum(v * w for v, w in known) / sum(w for _, w in known) if known else NAN


def root_mean_square(values: Values) -> float:
    return math.sqrt(mean((v * v, w) for v, w in values))


def only(values: Values) -> float:
    """The value where there is but one."""
    (value, *more) = [v for v, _ in values] or [NAN]
    return NAN if more else value


def stouffer(values: Values) -> float:
    """z of several independent tests, each weighted by the root of its number of reads."""
    known = _known(values)
    return sum(z * math.sqrt(n) for z, n in known) / math.sqrt(sum(n for _, n in known)) if known else NAN


_HOW: dict[str, Callable[[Values], float]] = {
    "MQ": root_mean_square,
    "AMQ": root_mean_square,
    "FS": only,
    "SOR": only,
    "ED": mean,
    **dict.fromkeys(RANK_SUMS, stouffer),
}
