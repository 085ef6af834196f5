"""Extend: affine-gap alignment of oriented reads in reference windows, local with a bonus for each read end reached.

    extender_of(backend: Backend, reads: ReadBatch, packed: uint8, scoring: Scoring, metrics: Metrics) -> Extender
    score(extender: Extender, candidates: Candidates) -> Scores
    trace(extender: Extender, candidates: Candidates, scores: Scores) -> Extensions

`packed` is the reference, two bases a byte (`readwarp.rules.bases`). The recurrence is that of `readwarp.pairwise` in
local mode, for the whole read against the whole window. An alignment begins and ends with an aligned pair and gains the
end bonus where its first (last) pair holds the read's first (last) base. N matches nothing, and costs 1, or a mismatch
if that is less. `Scores.score` includes the bonuses, `Extensions.score` does not. Reads have 1 to
config.MAX_READ_LENGTH bases.

The read is first laid on its candidate's diagonal. That alignment is the answer (Status.UNGAPPED) if none with a gap,
another mismatch or a clip could score more and the window does not hold the whole read exactly elsewhere. Otherwise the
answer is found by dynamic programming (Status.OK).

Ties: the ungapped answer if proven best; else the smallest reference stop, then the smallest query stop, then gaps as
far left as possible. In the traceback, an alignment begins where its score falls to 0.
"""
