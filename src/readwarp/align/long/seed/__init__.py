"""Seeds of long reads: a part of their syncmers, looked up in the same index as those of short reads.

    find_seeds(reads: ReadBatch, index: Index, parameters: LongSeedParameters) -> SeedHits

Of a read's syncmers, those count whose hash ends in `sampling_bits` zeros: long reads have more than they need. Anchors
are those of align/seed, ascending.

Repeats: a seed with up to `max_hits` places is used. A read is cut into stretches of `stretch` bases; in a stretch
without such a seed, the one with the fewest places is, the first of equals, if it has up to `rescue_hits`. The others
are counted in `repetitive`, unless they are nowhere.

Reads of up to 16 million bases. The memory for sketching is that of PIECE bases, whatever the length of a read.
"""
