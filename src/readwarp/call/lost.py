"""Forced alleles that found no place among a region's haplotypes: weighed by bases alone, as sites of their own."""

from collections.abc import Iterator, Sequence

import numpy as np

from readwarp.batches import AlignedReads, Likelihoods, Pileup, Sites, Window
from readwarp.call.evidence.substitutions import weigh_indels, weigh_substitutions
from readwarp.call.forced import missing
from readwarp.call.sites.find import forced_sites
from readwarp.call.spelling import Allele
from readwarp.config import CallParameters
from readwarp.ragged import take


def weigh_lost(
    asked: Sequence[Allele],
    found: Sequence[Sites],
    reads: AlignedReads,
    pileup: Pileup,
    reference: np.ndarray,
    start: int,
    parameters: CallParameters,
) -> Iterator[tuple[Sites, Likelihoods]]:
    """Sites and Likelihoods of those `asked` for that are alleles of none of the sites `found`.

    `reference` begins at `start` and covers what the reads reach. Nothing where nothing is lost.
    """
    for sites in found:
        asked = missing(asked, sites)
    if not asked:
        return
    lost = forced_sites(pileup, Window(pileup.contig, pileup.start, pileup.stop, reference, start), asked)
    indels = take(lost, "sites", lost.is_indel)
    yield indels, weigh_indels(reads, pileup, indels, reference, start, parameters.max_depth)
    others = take(lost, "sites", ~lost.is_indel)
    yield others, weigh_substitutions(reads, others, parameters)
