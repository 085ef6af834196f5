"""Called variants and blocks of reference, ready to be written."""

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from numpy import ndarray


@dataclass(frozen=True, slots=True)
class Calls:
    """Called sites in order, ready to be written; v sites of m samples.

    Lists have an entry per site; entries about samples have an item per sample. A genotype's alleles ascend, or follow
    the order of haplotypes if it has a phase set. Without reads it is unknown, all -1.
    """

    contig: ndarray  # int32 [v]
    position: ndarray  # int64 [v], 0-based
    alleles: list[tuple[str, ...]]  # reference first
    quality: ndarray  # float64 [v], Phred
    genotype: list[tuple[tuple[int, ...], ...]]  # allele indices, as many as the ploidy
    genotype_quality: ndarray  # int32 [v, m]
    depth: ndarray  # int32 [v, m]
    allele_depth: list[tuple[tuple[int, ...], ...]]
    likelihoods: list[tuple[tuple[int, ...], ...]]  # PL in VCF order
    phase_set: ndarray  # int64 [v, m], 0-based position of its first call, -1 unphased
    filters: list[tuple[str, ...]]  # empty: PASS; a single ".": no filters were applied
    annotations: dict[str, ndarray]  # INFO: a column [v] per field, NaN where a call has no value; tuples by ALT
    strands: ndarray  # int32 [v, m, 4], reads of REF forward and reverse, of other alleles; -1 unknown
    independent: ndarray  # int32 [v, m, 4], the reads of `strands` that count for strand bias
    squares: ndarray  # int64 [v], sum of squared MAPQ of the reads
    phase_name: list[tuple[str, ...]]  # PID: position, REF and ALT of the phase set's first call; "" unphased
    of_samples: dict[str, ndarray] = field(
        default_factory=dict
    )  # other FORMAT: a column [v, m]; [v, m, k] has k values

    def __len__(self) -> int:
        return self.position.size


class Bands(NamedTuple):
    """Runs of neighbouring positions of one contig without a call and with confidence in one band."""

    contig: int
    start: Annotated[ndarray, "int64 [blocks]"]  # 0-based in the contig, ascending
    stop: Annotated[ndarray, "int64 [blocks]"]
    base: Annotated[ndarray, "uint8 [blocks]"]  # 0-4, of the reference at `start`
    band: Annotated[ndarray, "int8 [blocks]"]  # index of the GQ band; -1: unknown
    ploidy: Annotated[ndarray, "int8 [blocks]"]
    depth_sum: Annotated[ndarray, "int64 [blocks]"]  # over the positions of the run
    min_depth: Annotated[ndarray, "int32 [blocks]"]
    likelihoods: Annotated[ndarray, "int32 [blocks, max copies + 1]"]  # the minimum PL of 0, 1, ... copies

    def __len__(self) -> int:
        return self.start.size
