"""The allele <NON_REF> of variant records: any allele that is not listed (host only).

    with_non_ref(sites: Sites, likelihoods: Likelihoods) -> Sites, Likelihoods

appends it to every site, as inserted base UNLISTED alone. What a read says about it follows from what it says about the
listed alleles:

* it says nothing: nothing either (0 like the rest of its row);
* its base is none of those listed: the probability 1 - e of a match;
* substitutions else: the least of its row, since an allele that is not listed fits a read that shows a listed one no
  better than the worst of these;
* insertions and deletions else: the best of its row times the probability of an indel error of one repeat unit there,
  since the nearest allele that is not listed is one unit away.

So <NON_REF> never fits better than a listed allele that a read shows.
"""

import math

import numpy as np

from readwarp.batches import Likelihoods, Sites
from readwarp.call.confidence.scalar import log_indel_error
from readwarp.call.evidence import NOTHING
from readwarp.call.evidence.scalar import log_match, log_mismatch
from readwarp.call.genotypes.emitted import UNLISTED
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of, replace


def with_non_ref(sites: Sites, likelihoods: Likelihoods) -> tuple[Sites, Likelihoods]:
    """See above. The last allele of every site is <NON_REF>; the arrays given are left as they are."""
    ends = sites.allele_offsets[1:]
    sizes = np.insert(np.diff(sites.inserted_offsets), ends, 1)
    pairs = np.diff(likelihoods.pair_offsets)
    longer = replace(
        sites,
        allele_offsets=sites.allele_offsets + np.arange(len(sites) + 1),
        deleted=np.insert(sites.deleted, ends, ~sites.is_indel),
        inserted=np.insert(sites.inserted, sites.inserted_offsets[ends], np.uint8(UNLISTED)),
        inserted_offsets=offsets_of(sizes),
        is_forced=np.insert(sites.is_forced, ends, False),
    )
    value_offsets = likelihoods.value_offsets + offsets_of(pairs)
    values = np.empty(int(value_offsets[-1]))
    weigh_other(
        *(sites.is_indel, sites.unit, sites.stop - sites.begin, np.diff(sites.allele_offsets)),
        *(likelihoods.pair_offsets, likelihoods.allele, likelihoods.quality, likelihoods.mapping_quality),
        *(likelihoods.value_offsets, likelihoods.values, value_offsets, values),
    )
    return longer, replace(likelihoods, value_offsets=value_offsets, values=values)


@kernel
def weigh_other(
    is_indel, unit, tract, number, pair_offsets, allele, quality, mapping_quality, value_offsets, values,
    longer_offsets, longer,
):  # fmt: skip
    """Copy each row of `values` to `longer`, with the value of <NON_REF> behind it."""
    for site in range(number.size):
        n = number[site]
        slip = log_indel_error(unit[site], unit[site], max(tract[site], 1))
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            k = pair - pair_offsets[site]
            row, target = value_offsets[site] + k * n, longer_offsets[site] + k * (n + 1)
            lowest, highest = math.inf, -math.inf
            for a in range(n):
                longer[target + a] = values[row + a]
                lowest, highest = min(lowest, values[row + a]), max(highest, values[row + a])
            q = min(quality[pair], mapping_quality[pair])
            if allele[pair] == NOTHING:
                longer[target + n] = highest
            elif is_indel[site]:
                longer[target + n] = highest + slip
            elif lowest == highest and highest == log_mismatch(q):
                longer[target + n] = log_match(q)
            else:
                longer[target + n] = lowest
