"""Extend: affine-gap alignment of oriented reads in reference windows, local with a bonus for each read end reached.

    score(reads: ReadBatch, candidates: Candidates, packed: uint8, scoring: Scoring) -> Scores
    trace(reads: ReadBatch, candidates: Candidates, chosen: int64 [e], packed: uint8, scoring: Scoring) -> Extensions

`packed` is the reference, two bases a byte (`readwarp.index.bases`).
"""
