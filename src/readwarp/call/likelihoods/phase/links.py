"""Link the heterozygous sites of a window through its reads. See the step's contract."""

from collections.abc import Sequence

import numpy as np

from readwarp.batches import AlignedReads, Calls, Likelihoods, Sites
from readwarp.call.likelihoods.evidence import NOTHING, OTHER
from readwarp.call.likelihoods.phase import MAX_ODDS, MIN_QUALITY
from readwarp.call.likelihoods.phase.gaps import changes_of
from readwarp.call.likelihoods.phase.types import Links
from readwarp.ragged import concatenate, empty, offsets_of, ranges, take

HETEROZYGOUS = (0, 1)


def link_sites(reads: AlignedReads, sites: Sites, calls: Calls, evidence: Likelihoods) -> Links:
    """Link sites with one ALT allele each, all substitutions or none; `calls` and `evidence` are theirs."""
    site = np.searchsorted(sites.position, calls.position)
    first = np.append(sites.inserted, np.uint8(0))[sites.inserted_offsets[:-1]] * ~sites.is_indel.repeat(2)
    parts = [no_links()]
    for sample in range(calls.depth.shape[1]):
        chosen = [row for row in range(len(calls)) if _is_heterozygous(calls, row, sample)]
        own = site[chosen]
        pairs = ranges(evidence.pair_offsets, own)
        group = np.repeat(np.arange(own.size), np.diff(evidence.pair_offsets)[own])
        speaks = (evidence.sample[pairs] == sample) & (evidence.allele[pairs] > OTHER)
        pairs, group = pairs[speaks], group[speaks]
        parts.append(
            Links(
                position=sites.position[own],
                sample=np.full(own.size, sample, np.uint16),
                reference=first[2 * own],
                alternate=first[2 * own + 1],
                change=changes_of(sites)[own],
                stop=sites.stop[own],
                pair_offsets=offsets_of(np.bincount(group, minlength=own.size)),
                name_hash=reads.name_hash[evidence.read[pairs]],
                odds=log_odds(evidence)[pairs],
            )
        )
    return join_links(parts)


def _is_heterozygous(calls: Calls, row: int, sample: int) -> bool:
    genotype = tuple(sorted(calls.genotype[row][sample]))
    is_sure = calls.genotype_quality[row, sample] >= MIN_QUALITY and calls.filters[row] == ()
    return bool(is_sure and genotype == HETEROZYGOUS and len(calls.alleles[row]) == 2)


def log_odds(evidence: Likelihoods) -> np.ndarray:
    """Return the log odds of ALT against REF, float64 [pairs], of sites with two alleles."""
    odds = evidence.values[1::2] - evidence.values[::2]
    return np.where(evidence.allele == NOTHING, 0.0, np.clip(odds, -MAX_ODDS, MAX_ODDS))


def join_links(parts: Sequence[Links]) -> Links:
    """Join links, sorted by position, then sample."""
    links = concatenate(parts, "sites")
    return take(links, "sites", np.lexsort((links.sample, links.position)))


def no_links() -> Links:
    return empty(Links, {"sites": 0, "pairs": 0}, pair_offsets=np.zeros(1, np.int64))
