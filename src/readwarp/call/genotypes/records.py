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
    _, samples, copies = genotype.shape
    columns = zip(genotype.reshape(-1, copies).tolist(), ploidy.ravel().tolist(), strict=True)
    return _group([tuple(own[:number]) for own, number in columns], samples)


def _split(values: np.ndarray, offsets: np.ndarray, samples: int) -> PerSample:
    """The values of each column, by record."""
    flat = values.tolist()
    return _group([tuple(flat[a:b]) for a, b in pairwise(offsets.tolist())], samples)


def _group(columns: list[tuple[int, ...]], samples: int) -> PerSample:
    """The columns of each record together."""
    return list(zip(*[iter(columns)] * samples, strict=True))
