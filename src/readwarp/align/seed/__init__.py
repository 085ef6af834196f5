"""Seed: open syncmers of each read, looked up in the index.

    find_seeds(reads: ReadBatch, index: Index, parameters: SeedParameters) -> SeedHits

k, s and t are those of the index. The oriented read matches the reference exactly over k bases at each anchor (up to a
tag collision, which the chain and extend steps outvote). Anchors of a read are in ascending order of their uint64.

Repeats: seeds with more places than the read's cap are left out and counted in `repetitive`. The cap is `max_hits`;
while the read has no anchor it is doubled up to `rescue_hits`, while more than 3/5 of its seeds are left out up to four
times `max_hits`; while it has more than `max_anchors` it is halved. So a
read of repeats only still has places, and a read has `max_anchors` anchors at most (more only if all its seeds occur
once, which its length bounds). Of more than 48 anchors, those whose place (128 bases of the diagonal) has less than an
eighth of the anchors of the best place are left out before they are sorted: no chain would come of them.

Reads beyond MAX_READ_LENGTH have no anchor and status TOO_LONG.
"""
