"""Count sites that show whether samples are from one person, or have the same reads (host only).

For samples a and b, at positions that DEEP reads or more of both cover:

    COVERED    positions
    EQUAL      where both have the same number of each base
    CARRIED    bases other than the reference's that HAS or more of a's reads show
    LACKED     those of CARRIED that LACKS or less of b's reads show

Of two people, each lacks about half of the other's bases. A tumour has mutations that its normal lacks, or lost alleles
that the normal has, but hardly both at so many sites.
"""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

DEEP = 15
HAS, LACKS = 0.35, 0.05
COVERED, EQUAL, CARRIED, LACKED = range(4)
LEAST_SITES, MOST_LACKED = 20, 0.3
LEAST_COVERED, SAME = 500, 0.999


def count_kinship(reference: ndarray, bases: Sequence[ndarray]) -> ndarray:
    """Count int64 [samples, samples, 4]. reference: uint8 [positions]; bases: int [positions, 4] of each sample."""
    out = np.zeros((len(bases), len(bases), 4), np.int64)
    if len(bases) < 2:
        return out
    depth = np.stack([own.sum(axis=1) for own in bases])
    is_other = np.arange(4) != reference[:, None]
    for a, own in enumerate(bases):
        for b, others in enumerate(bases):
            if a != b:
                is_deep = (np.minimum(depth[a], depth[b]) >= DEEP) & (reference < 4)
                carried = is_other & is_deep[:, None] & (own >= HAS * depth[a][:, None])
                lacked = carried & (others <= LACKS * depth[b][:, None])
                equal = is_deep & (own == others).all(axis=1)
                out[a, b] = is_deep.sum(), equal.sum(), carried.sum(), lacked.sum()
    return out


def have_same_reads(kinship: ndarray, a: int, b: int) -> bool:
    covered, equal = kinship[a, b, [COVERED, EQUAL]].tolist()
    return bool(covered >= LEAST_COVERED and equal >= SAME * covered)


def are_two_people(kinship: ndarray, a: int, b: int) -> bool:
    sides = kinship[[a, b], [b, a]][:, [CARRIED, LACKED]]
    return all(carried >= LEAST_SITES and lacked > MOST_LACKED * carried for carried, lacked in sides.tolist())
