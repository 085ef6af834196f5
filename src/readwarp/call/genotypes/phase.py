"""Phase of calls (host only)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from readwarp.batches import Calls


def with_phase(
    calls: Calls,
    rows: np.ndarray | Sequence[int],
    sample: int,
    phase_set: np.ndarray | Sequence[int],
    genotype: Sequence[tuple[int, ...]],
) -> Calls:
    """The calls with the genotypes of one sample in the order of haplotypes at some of them.

    `rows`: int [k], numbers of calls; `phase_set`: int [k], 0-based position of the first call of each one's set (-1:
    not phased); `genotype`: the called genotype, its alleles in the order of the haplotypes. Raises ValueError where
    they are not the alleles that were called.
    """
    genotypes, sets = list(calls.genotype), calls.phase_set.copy()
    for row, own in zip(np.asarray(rows).tolist(), genotype, strict=True):
        called = genotypes[row]
        if sorted(own) != sorted(called[sample]):
            raise ValueError(f"call {row}: {own} is no order of {called[sample]}")
        genotypes[row] = (*called[:sample], tuple(own), *called[sample + 1 :])
    sets[rows, sample] = phase_set
    return replace(calls, genotype=genotypes, phase_set=sets)
