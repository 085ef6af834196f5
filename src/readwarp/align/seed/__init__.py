"""Seed: open syncmers of each read, looked up in the index.

    find_seeds(reads: ReadBatch, index: Index, genome: Genome, parameters: SeedParameters, scoring: Scoring) -> SeedHits

k, s and t are those of the index. The oriented read matches the reference exactly over k bases at each anchor (up to a
tag collision, which the chain and extend steps outvote). Anchors of a read are in ascending order of their uint64.

Settled reads: first, only seeds that do not overlap are looked up (from the left, each that begins after the last one
ends). With n of these known, since they have at most `max_hits` places each, a place that none of them leads to lacks
all n. Each costs it at least l, the least loss of a difference, so that it scores at most perfect - n l. The whole read
is compared with the first place of the rarest of these seeds; with d mismatches, it scores at least perfect - d (match
+ mismatch) there. If that is ahead by `margin` matches, the read is settled: it has the anchors of these seeds, and
none is left out. The margin exceeds what MAPQ 60 and a distant mate can take away, so no other place could lower the
read's MAPQ. All seeds of the other reads are looked up. Places beyond the contigs of `genome`, the reference without
its ALT contigs, settle no read.

Repeats: seeds with more places than the read's cap are left out and counted in `repetitive`. The cap is `max_hits`. It
is doubled, up to four times that, while more than 3/5 of the read's seeds are left out, and on to `rescue_hits` while
there is no anchor; from `max_hits` down it is halved while there are more than `max_anchors`. So even a read that is
all repeats has places. If there are more than 32 anchors, those whose place (128 bases of the diagonal) has less than a
quarter of the anchors of the best place are dropped before sorting, unless their place has two and covers bases of the
read that no better place covers: no chain that is kept would include them.

Reads beyond MAX_READ_LENGTH have no anchor and status TOO_LONG.

    again.find_weak(reads: ReadBatch, chains: Chains, parameters: AlignParameters) -> (ReadBatch, Weak)
    again.find_seeds(reads, weak: Weak, index: Index, repeats: runs.ReferenceRuns, parameters) -> SeedHits

A second look, on the host, at reads whose best chain is hardly more than a seed, and whose mate's is no better: N are
spelled A, C, G and T; the rarest seed left out gets some of its places; and runs of a unit of up to four bases, which
may have no seeds, are placed at the reference's longest runs. `repetitive` is then the share of seeds left out among
those that occur anywhere, so that MAPQ is 0 where all were.
"""
