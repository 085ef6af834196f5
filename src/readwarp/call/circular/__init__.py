"""Circular contigs: windows near the ends see what lies on the other side of the origin (host only).

    lay_round(windows, lengths, circular) -> these in order, a Circle for each near an end of a circular contig
    read_around(reader, number, circle, bases, place, keep) -> parts of AlignedReads on the circle's axis
    drop_doubles(reads, circle) -> AlignedReads without what two records of a read show twice
    sort_reads(reads) -> AlignedReads by position
    cut_at_origin(calls, strip, letters) -> Calls of which none crosses the origin

The origin lies between the last base of a contig and its first one. A Circle is a strip (`call.strips`) on which the
contig follows itself, so a window of the contig has neighbours on both sides, and positions in it are those of the
contig: every window calls what begins in it, so that each call is made once, and windows MARGIN and more from both ends
are left as they are. Grids of positions begin at the origin, for the windows before it too (the last MARGIN bases have
windows of their own): so those on both sides of it see the same reads there, and their calls agree.

Aligners know only lines. They clip a read where the contig ends, or give it a second, supplementary record at the other
end. On the axis a soft clip that hangs over an end of the contig continues along the diagonal as far as its score is
highest (scores of `Scoring`, whose end bonus a clip has that is aligned to its end); what does not pay stays clipped,
and says what clips say: so insertions and deletions near the origin come from local haplotypes, as elsewhere. The
supplementary record of a read that then lies across the origin is a double if it lies within that, and is dropped.

VCF has no record across the end of a contig. A call that deletes or replaces bases on both sides of the origin becomes
two records, what it changes before the origin and what after, in one phase set, both with the numbers of the call. A
deletion at the contig's first base has the base after it as its anchor (VCF specification, section 1.6.1, REF). In
each record, alleles that are the same there are one: AD is their sum, PL the least of their genotypes.
"""

MIN_CIRCLE = 500  # bases; of shorter ones a read, its mate and the margin of a variant could meet themselves
