"""Chains of long reads: those of align/chain, with longer gaps, unlimited in number, and with their anchors.

    chain_hits(hits: SeedHits, contig_offsets: int64 [c + 1], k, parameters: LongChainParameters) -> LongChains

The recurrence and its ties are those of align/chain, with `max_gap`. In tandem repeats, where anchors are dense, an
anchor may be linked to more of them, and a gap costs so much that no chain leaves its diagonal for a few seeds. Anchors
can be linked if they are at most `max_step` bases apart on the read or on the reference and in one stretch: no two
neighbours between them, of one strand and contig, are more than `max_step + max_gap` reference bases apart.

Chains are traced back from the highest score down (ties: the first anchor); an anchor belongs to one chain. A chain
that branches off another begins where the score is lowest on the way from there, and is scored from there on: what
follows a gap is kept even where it brings less than the gap costs. Chains below `min_score` or `min_anchors` are
dropped. The chains of a read are ordered by score, then by their first anchors.

    scalar.py  the rule of links     cpu.py, cuda.py  the best chain that ends in each anchor
    stretches.py  which anchors can be linked     trace.py  the traceback to chains, on the host
"""
