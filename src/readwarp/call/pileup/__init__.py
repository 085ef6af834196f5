"""Pileup: counts and base-quality sums per position, allele and strand over a window of the reference.

    count_window(reads: AlignedReads, reference: uint8, start, stop, parameters: CallParameters) -> Pileup

`reads` are all usable reads that overlap [start, stop), in file order; `reference` the window's bases, 0-4. One base
of a read, at a position p, is usable where it is A, C, G or T with base quality >= min_base_quality; a deletion across
p is usable always, with the quality of the base before it. At each position the first `max_depth` usable ones, in file
order, are counted. So every position depends on the reads across it alone, and neither on the window nor on threads.

Insertions and deletions of up to MAX_INDEL bases behind an aligned base (the anchor) are events: counted unless that
base has quality 0 (it gave way to its mate, see `readwarp.call.mates`) or came too late for max_depth. An event is
moved left while the reference allows, at most MAX_SHIFT bases and not before `start`; equal events make one allele.
Windows are therefore read with MAX_SHIFT + MAX_INDEL bases to spare on either side.
"""

MAX_INDEL = 200
MAX_SHIFT = 200
