"""Chains of long reads: those of align/chain, with longer gaps, as many as there are, and with their anchors.

    chain_hits(hits: SeedHits, contig_offsets: int64 [c + 1], k, parameters: LongChainParameters) -> LongChains

The recurrence and its ties are those of align/chain, with `max_gap`. Anchors can be linked if no two neighbours between
them, of one strand and contig, are more than `max_step` bases of the reference apart. Chains are traced back from the
highest score down (ties: the first anchor); an anchor belongs to one chain, and a chain that branches off another is
scored without the shared part. Chains of less than `min_score` or `min_anchors` are dropped. The chains of a read are
in the order of score, then of their first anchors.
"""
