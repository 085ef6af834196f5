"""Record which limit left something out at a place, for INFO LIM of the records there."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.sites.find import Variant
from readwarp.call.likelihoods.alleles.compare import WeighedReads
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.vcf import HeaderField
from readwarp.ragged import replace
from readwarp.rules.statuses import Status

ALLELES = "alleles"
FIELD = HeaderField(
    "LIM",
    ".",
    "String",
    "Limits reached here: depth (reads beyond --max-depth left out), reads or haplotypes (too many in the region), "
    f"{ALLELES} (too many at the site), length (the region was too long and was cut)",
)


class Limited(NamedTuple):
    """Places where something was left out, in any order."""

    name: str  # name in LIM
    start: Annotated[ndarray, "int64 [places]"]  # 0-based in the contig
    stop: Annotated[ndarray, "int64 [places]"]


def limit_of(alleles: Sequence[Variant]) -> Limited:
    """Return the places of alleles that were left out: the bases they replace; for an indel, with the anchor."""
    rows = [(begin, deleted, len(bases)) for begin, deleted, bases in alleles]
    begin, deleted, inserted = np.array(rows, np.int64).reshape(-1, 3).T
    return Limited(ALLELES, begin - (deleted != inserted), begin + np.maximum(1, deleted))


def limits_of(weighed: WeighedReads) -> list[Limited]:
    """Return the places of regions where something was left out."""
    regions = weighed.regions
    return [
        Limited(name, regions.start[chosen], regions.stop[chosen])
        for name, chosen in (
            ("reads", regions.status == Status.CAPACITY),
            ("haplotypes", weighed.haplotypes.status != Status.OK),
            ("length", regions.status == Status.TOO_LONG),
        )
    ]


def mark_limits(calls: Calls, limited: list[Limited]) -> Calls:
    """Add LIM, a text that is empty where nothing was left out."""
    if len(calls) == 0:
        return calls
    limited = [limit for limit in limited if limit.start.size]
    names = [
        [limit.name for limit in limited if ((limit.start <= position) & (position < limit.stop)).any()]
        for position in calls.position.tolist()
    ]
    texts = np.array([",".join(own) for own in names])
    return replace(calls, annotations={**calls.annotations, FIELD.name: texts})
