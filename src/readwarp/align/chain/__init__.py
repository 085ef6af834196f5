"""Chain: collinear anchors of one strand and place, scored by the read bases they cover less a gap cost.

    chain_hits(reads: ReadBatch, hits: SeedHits, contig_offsets: int64 [c + 1], seed, parameters) -> Chains

Anchors i of a read, in the order of their uint64, with query start q and reference start r:

    f(i) = max(k, max over the LOOKBACK anchors j before i of f(j) + min(k, q_i - q_j, r_i - r_j) - cost(gap))
    gap  = |(r_i - r_j) - (q_i - q_j)| <= max_gap,  cost(0) = 0,  cost(gap) = 3 + gap // 8

j precedes i on both sequences, on the same strand and contig; ties go to the nearest j. Chains are traced back from the
highest f down (ties: the first anchor). An anchor belongs to one chain; a chain that branches off another is scored
without the shared part. Anchors of one place that all lie on one diagonal form one chain at once.

The `max_chains` best chains of a read are kept, ordered by score, strand, reference start, query start. Chains that
score less than `drop` times the best are dropped, unless they share less than half of the shorter read span with it:
these may become supplementary alignments. A chain never crosses a contig border. Method: collinear chaining as in
Abouelhoda and Ohlebusch 2005 (J. Discrete Algorithms 3:321) with the bounded look-back of Li 2018 (minimap2).
"""
