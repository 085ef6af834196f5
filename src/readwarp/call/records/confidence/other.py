"""Weigh the allele <NON_REF> of variant records: any allele that is not listed (host only).

    add_non_ref(sites: Sites, likelihoods: Likelihoods) -> Sites, Likelihoods

appends it to every site, as the inserted base UNLISTED alone. Its likelihood follows from those of the listed alleles:

* An uninformative read has 0, like the rest of its row.
* A read whose base is not listed has 1 - e, the probability of a match.
* Other substitutions have the minimum of the row. An allele that is not listed fits a read that shows a listed one no
  better than the worst listed allele does.
* Indels have the maximum of the row times the probability of an indel error of one repeat unit there, since the
  nearest allele that is not listed is one unit away.

So <NON_REF> never fits better than a listed allele that a read shows.
"""

import math

import numpy as np

from readwarp.batches import Likelihoods, Sites
from readwarp.call.likelihoods.evidence import NOTHING
from readwarp.call.likelihoods.evidence.substitutions import log_match, log_mismatch
from readwarp.call.records.confidence.repeats import log_indel_error
from readwarp.call.records.genotypes.emitted import UNLISTED
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of, replace


def add_non_ref(sites: Sites, likelihoods: Likelihoods) -> tuple[Sites, Likelihoods]:
    """Append <NON_REF> as the last allele of every site, in new arrays; see above."""
    ends = sites.allele_offsets[1:]
    sizes = np.insert(np.diff(sites.inserted_offsets), ends, 1)
    longer = replace(
        sites,
        allele_offsets=sites.allele_offsets + np.arange(len(sites) + 1),
        deleted=np.insert(sites.deleted, ends, ~sites.is_indel),
        inserted=np.insert(sites.inserted, sites.inserted_offsets[ends], np.uint8(UNLISTED)),
        inserted_offsets=offsets_of(sizes),
        is_forced=np.insert(sites.is_forced, ends, False),
        reach=np.insert(sites.reach, ends, 1.0),
    )
    value_offsets = likelihoods.value_offsets + likelihoods.pair_offsets
    out = replace(likelihoods, value_offsets=value_offsets, values=np.empty(int(value_offsets[-1])))
    weigh_other(sites, likelihoods, out)
    return longer, out


@kernel
def weigh_other(sites, likelihoods, out):
    """Copy each row of values to `out`, followed by the value of <NON_REF>."""
    pair_offsets, allele, values, longer = likelihoods.pair_offsets, likelihoods.allele, likelihoods.values, out.values
    quality, mapping_quality = likelihoods.quality, likelihoods.mapping_quality
    for site in range(sites.begin.size):
        n, is_indel = sites.allele_offsets[site + 1] - sites.allele_offsets[site], sites.is_indel[site]
        unit, tract = sites.unit[site], sites.stop[site] - sites.begin[site]
        slip = log_indel_error(unit, unit, max(tract, 1))
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            k = pair - pair_offsets[site]
            row, target = likelihoods.value_offsets[site] + k * n, out.value_offsets[site] + k * (n + 1)
            lowest, highest = math.inf, -math.inf
            for a in range(n):
                longer[target + a] = values[row + a]
                lowest, highest = min(lowest, values[row + a]), max(highest, values[row + a])
            q = min(quality[pair], mapping_quality[pair])
            if allele[pair] == NOTHING:
                longer[target + n] = highest
            elif is_indel:
                longer[target + n] = highest + slip
            elif lowest == highest and highest == log_mismatch(q):
                longer[target + n] = log_match(q)
            else:
                longer[target + n] = lowest
