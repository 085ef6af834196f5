"""Seed: open syncmers of each read, looked up in the index.

    find_seeds(reads: ReadBatch, index: Index, parameters: SeedParameters) -> SeedHits

The oriented read matches the reference exactly over k bases at each anchor (up to a tag collision, which the chain and
extend steps outvote). Anchors of a read are in ascending order of their uint64. A seed with more than `max_hits`
places is left out and counted in `repetitive`; a read left without any anchor is looked up again with `rescue_hits`.
"""
