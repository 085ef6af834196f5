"""Chain: collinear anchors of one strand and place, scored by the read bases they cover less a gap cost.

    chain_hits(reads: ReadBatch, hits: SeedHits, contig_offsets: int64 [c + 1], seed, parameters) -> Chains

Anchors i of a read, in the order of their uint64, with query start q and reference start r:

    f(i) = max(k, max over the LOOKBACK anchors j before i of f(j) + min(k, q_i - q_j, r_i - r_j) - cost(gap))
    gap  = |(r_i - r_j) - (q_i - q_j)| <= max_gap,  cost(0) = 0,  cost(gap) = 3 + gap // 8

j lies before i on both sequences, on the same strand and contig; of equal j the nearest is taken. Chains are read off
from the highest f down (of equal ones the first anchor), an anchor belongs to one chain, and a chain that branches off
another is scored without what it shares. Anchors of one place that lie on one diagonal are one chain without more ado.

The `max_chains` best chains of a read are kept, in the order score, strand, reference start, query start; of these
the ones below `drop` times the best score go, unless they share less than half of their part of the read with it
(material for supplementary alignments). A chain never crosses a contig border. Method: collinear chaining as in
Abouelhoda and Ohlebusch 2005 (J. Discrete Algorithms 3:321) with the bounded look-back of Li 2018 (minimap2).
"""
