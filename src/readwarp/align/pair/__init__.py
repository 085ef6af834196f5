"""Pair: the insert-size model, the choice of chains to extend, and, on the host, the search for mates.

    collect_evidence(reads: ReadBatch, chains: Chains, contig_offsets: int64) -> InsertEvidence
    fit_groups(evidence: list[InsertEvidence], parameters: PairParameters) -> InsertModels
    plan_candidates(reads, chains, contig_offsets, sizes: InsertModels, parameters: PairParameters) -> Candidates
    plan_parts(read_offsets, places: Places, contig_offsets, parameters: AlignParameters) -> Candidates
    plan_rescue(reads, settled: uint8 [reads], places: Places, reference: Reference, sizes, parameters) -> Candidates
    merge(candidates: Candidates, others: Candidates) -> tuple[Candidates, rows: int64 [candidates]]

**Geometry.** A read of length L whose query position 0 lies at reference position v (gaps undone) covers [v, v + L).
Mates of a proper pair lie on opposite strands of one contig and point at each other; their outer distance is

    d = (v + L of the reverse mate) - (v of the forward mate),    low <= d <= high.

**Model.** From the first pairs of an input whose mates each have one confident chain: quartiles q1 and q3 of d; mean
and deviation of the d within 2 (q3 - q1) of the quartiles; limits at 3 (q3 - q1) from the quartiles or `deviations`
deviations from the mean, whichever is wider (the rule of bwa mem). It is frozen before the first record is written. If
an input has several read groups, each has a model from its own first pairs, or, with too few of them, the model of all
the input's first pairs.

**Candidates.** A chain counts its score plus that of the mate's best concordant chain. The best `max_candidates` are
extended; ties go to the earlier chain. A window is the diagonal span of its chain with padding on both sides, clipped
to the contig.

**Parts.** The end of a read that a good candidate leaves unaligned is aligned on its own nearby, without seeds: beside
a deletion, an insertion or a tandem duplication, the better part of a read hides the other in its window.

**Rescue.** A mate is searched for near each good candidate of the other read that has no good concordant one. The
window follows from the model. Exact matches of 10 bases between mate and window are counted by diagonal; a window is
kept only if a band of 16 diagonals has enough of them, and is cut to the surroundings of such bands. Settled mates are
not searched for: no other place of theirs could make up for a pair.

Without `pairing` (-P), each read is placed on its own; without `rescue` (-S), no mate is searched for.
"""

from readwarp.align.pair.insert_sizes import DEFAULT, collect_evidence, fit, fit_groups, given
from readwarp.align.pair.parts import plan_parts
from readwarp.align.pair.plan import merge, plan_candidates
from readwarp.align.pair.rescue import plan_rescue

__all__ = [
    "DEFAULT",
    "collect_evidence",
    "fit",
    "fit_groups",
    "given",
    "merge",
    "plan_candidates",
    "plan_parts",
    "plan_rescue",
]
