"""Count reads for and against each variant of a contig, and genotype it.

A variant has two breakpoints; a read may hold only one of a long variant's. A read supports the variant at a breakpoint
if it shows it or is clipped there. It is against it if it is aligned for `flank` bases on either side, not counting the
`shared` bases from the breakpoint on that the variant and the reference have in common, which do not tell them apart. A
genotype takes the means of both breakpoints. With f = error + (1 - 2 error) g / ploidy for g copies of the variant,

    P(n reads for it, m against it | g) = f^n (1 - f)^m
"""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import StructuralParameters
from readwarp.structural.evidence import ReadSpans, StructuralEvents

CLIP_DISTANCE = 50  # bases between a breakpoint and an alignment that ends at it: a few beyond may be equal
PHRED = 10 / np.log(10)
MAX_QUALITY = 99  # GQ
MAX_PHRED = 10_000


class SupportCounts(NamedTuple):
    """Reads of each sample: int64 [samples]."""

    shown: ndarray  # show the variant
    clipped: ndarray  # are clipped at a breakpoint: the lesser count of both
    carriers: ndarray  # support it: the mean of both
    against: ndarray  # contradict it: the mean of both


class StructuralGenotype(NamedTuple):
    """Genotype of one sample."""

    alleles: tuple[int, ...]
    quality: int
    phred: tuple[int, ...]  # PL; empty without copies


class Crossings:
    """Alignments of a contig, to count the reads at a breakpoint."""

    def __init__(self, spans: ReadSpans, samples: int, parameters: StructuralParameters):
        order = np.lexsort((spans.name, spans.stop, spans.start))
        self._spans = type(spans)(*(column[order] for column in spans))
        self._longest = int((spans.stop - spans.start).max(initial=0))
        self._samples, self._parameters = samples, parameters

    def count(self, start: int, stop: int, shared: int, events: StructuralEvents) -> SupportCounts:
        """Count the reads at the variant [start, stop). `events`: of the cluster, each of another read.

        shared: bases from its start on that the variant and the reference have in common.
        """
        names, flank = events.name, self._parameters.flank
        low, high = start - self._longest - CLIP_DISTANCE, stop + shared + CLIP_DISTANCE
        near = slice(*np.searchsorted(self._spans.start, (low, high + 1)).tolist())
        spans = type(self._spans)(*(column[near] for column in self._spans))
        others = ~np.isin(spans.name, names)
        ends = (start, spans.clipped, spans.stop), (stop, spans.query_start, spans.start)
        clipped, against = [], []
        for at, clip, edge in ends:
            is_near = (np.abs(edge - at) <= CLIP_DISTANCE) | (np.abs(edge - at - shared) <= CLIP_DISTANCE)
            crosses = (spans.start <= at - flank) & (spans.stop >= at + shared + flank)
            clipped.append(self._per_sample(spans, others & is_near & (clip >= self._parameters.least_length)))
            against.append(self._per_sample(spans, others & crosses))
        shown = np.bincount(events.sample, minlength=self._samples)
        mean_clipped, mean_against = ((one + other + 1) // 2 for one, other in (clipped, against))
        return SupportCounts(shown, np.minimum(*clipped), shown + mean_clipped, mean_against)

    def _per_sample(self, spans: ReadSpans, chosen: ndarray) -> ndarray:
        """Count reads per sample, each once."""
        pairs = np.unique(np.stack((spans.name[chosen], spans.sample[chosen].astype(np.uint64))), axis=1)
        return np.bincount(pairs[1].astype(np.int64), minlength=self._samples)


def genotype(carriers: int, against: int, ploidy: int, error: float) -> StructuralGenotype:
    """Return the likeliest genotype, on a tie with the fewest copies of the variant."""
    if ploidy == 0:
        return StructuralGenotype((), 0, ())
    share = error + (1 - 2 * error) * np.arange(ploidy + 1) / ploidy
    phred = -PHRED * (carriers * np.log(share) + against * np.log(1 - share))
    whole = np.minimum(np.rint(phred - phred.min()), MAX_PHRED).astype(int).tolist()
    best = whole.index(0)
    rest = sorted(whole[:best] + whole[best + 1 :])
    if carriers + against == 0:
        return StructuralGenotype((-1,) * ploidy, 0, tuple(whole))
    return StructuralGenotype((0,) * (ploidy - best) + (1,) * best, min(rest[0], MAX_QUALITY), tuple(whole))
