"""Calls of what kernels filled, of a run and of a cohort (host only)."""

from itertools import pairwise
from typing import Any

import numpy as np

from readwarp.batches import Calls
from readwarp.call.genotypes.annotations import round_columns
from readwarp.call.genotypes.emitted import Emitted
from readwarp.call.genotypes.filters import find_failed_filters
from readwarp.call.genotypes.spell import Spelled
from readwarp.config import CallParameters

PerSample = list[tuple[tuple[int, ...], ...]]


def build_calls(spelled: Spelled, out: Emitted, columns: Any, parameters: CallParameters) -> Calls:
    """`columns`: annotations.Columns."""
    samples = out.ploidy.shape[1]
    return Calls(
        contig=np.full(len(out), spelled.contig, np.int32),
        position=spelled.position,
        alleles=spelled.alleles,
        quality=out.quality,
        genotype=_genotypes(out.genotype, out.ploidy),
        genotype_quality=out.genotype_quality,
        depth=out.depth,
        allele_depth=_split(out.allele_depth, out.depth_offsets, samples),
        likelihoods=_split(out.phred, out.phred_offsets, samples),
        phase_set=out.phase_set,
        filters=find_failed_filters(out, columns, parameters),
        annotations=round_columns(columns),
        strands=out.strands,
    )


def _genotypes(genotype: np.ndarray, ploidy: np.ndarray) -> PerSample:
    return [
        tuple(tuple(own[:copies]) for own, copies in zip(row, site, strict=True))
        for row, site in zip(genotype.tolist(), ploidy.tolist(), strict=True)
    ]


def _split(values: np.ndarray, offsets: np.ndarray, samples: int) -> PerSample:
    """The values of each column, by record."""
    flat = values.tolist()
    columns = [tuple(flat[a:b]) for a, b in pairwise(offsets.tolist())]
    return [tuple(columns[i : i + samples]) for i in range(0, len(columns), samples)]
