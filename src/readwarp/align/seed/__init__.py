"""Seed: open syncmers of each read, looked up in the index.

    find_seeds(reads: ReadBatch, index: Index, parameters: SeedParameters) -> SeedHits

k, s and t are those of the index. The oriented read matches the reference exactly over k bases at each anchor (up to a
tag collision, which the chain and extend steps outvote). Anchors of a read are in ascending order of their uint64.

Repeats: seeds with more places than the read's cap are left out and counted in `repetitive`. The cap is `max_hits`. It
is doubled, up to four times that, while more than 3/5 of the read's seeds are left out, and on to `rescue_hits` while
there is no anchor; from `max_hits` down it is halved while there are more than `max_anchors`. So even a read that is
all repeats has places. Of more than 32 anchors, those whose place (128 bases of the diagonal) has less than a quarter
of the anchors of the best place are left out before sorting: no chain that is kept would include them.

Reads beyond MAX_READ_LENGTH have no anchor and status TOO_LONG.
"""
