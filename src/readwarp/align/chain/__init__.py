"""Chain: collinear anchors of one strand and place, scored by the read bases they cover less a gap cost.

    chain_hits(reads: ReadBatch, hits: SeedHits, contig_offsets: int64 [c + 1], seed: SeedParameters, parameters: ChainParameters) -> Chains

A chain never crosses a contig border.
"""
