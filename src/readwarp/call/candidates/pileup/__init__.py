"""Pileup: counts and base-quality sums per position, allele and strand over a window of the reference.

    count_window(reads: AlignedReads, window: Window, parameters: CallParameters) -> Pileup

`reads` are all usable reads that overlap the window, in file order. A read's base at a position is usable where it is
A, C, G or T with base quality >= min_base_quality. A deletion across the position is always usable, with the quality of
the base before it. So every position depends only on the reads across it, never on the window or threads.

Insertions and deletions of up to MAX_INDEL bases after an aligned base (the anchor) are events. An event counts unless
its anchor has quality 0: its mate counts instead (`readwarp.call.reads.mates`), or the read is beyond the depth limit
(`readwarp.call.reads.depth`). An event is moved left while the reference allows, by at most MAX_SHIFT bases and not
beyond the window's start; equal events are one allele. Windows are therefore read with MAX_SHIFT + MAX_INDEL bases to
spare on either side.
"""

MAX_INDEL = 200
MAX_INSERTION = 300  # longest insertion assembled from reads that do not span it
MAX_SHIFT = 200
