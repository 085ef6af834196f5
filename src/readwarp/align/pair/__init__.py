"""Pair: the insert-size model, which chains to extend, and where to look for a mate (host only).

    estimate_insert_sizes(reads, chains or scored candidates of the first pairs, ...) -> InsertSizes
    plan_candidates(reads: ReadBatch, chains: Chains, reference: Reference, sizes: InsertSizes, parameters: AlignParameters) -> Candidates
    plan_rescue(reads, candidates: Candidates, scores: Scores, reference, sizes, parameters) -> Candidates
"""
