"""Call circular contigs: windows near the ends include the other side of the origin (host only).

    lay_round(windows, lengths, circular) -> windows in order, a Circle for each near an end of a circular contig
    read_around(reader, number, circle, bases, place, keep) -> parts of AlignedReads on the circle's axis
    drop_doubles(reads, circle) -> AlignedReads without records that repeat a read's bases
    sort_reads(reads) -> AlignedReads by position
    cut_at_origin(calls, bases) -> Calls, none of which crosses the origin

The origin lies between the last base of a contig and its first. A Circle is a strip (`call.places.strips`) on which the
contig follows itself, so a window of the contig has neighbours on both sides, with the contig's positions. Every window
calls the variants that begin in it, so each call is made once, and windows MARGIN and more from both ends are left as
they are. Grids of positions begin at the origin, for the windows before it too (the last MARGIN bases have windows of
their own): so those on both sides of it see the same reads there, and their calls agree.

Aligners treat contigs as linear. They clip a read where the contig ends, or write a supplementary record at the other
end. On the axis a soft clip that hangs over an end of the contig continues along the diagonal as far as its score is
highest (scores of `Scoring`, with its end bonus for a clip that is aligned to its end). Bases that do not pay stay
clipped and count as a clip, so indels near the origin come from local haplotypes, as elsewhere. If a read then lies
across the origin, a supplementary record within it is a duplicate and is dropped.

VCF has no record across the end of a contig. A call that deletes or replaces bases on both sides of the origin becomes
two records, one before the origin and one after, in one phase set, both with the numbers of the call. A deletion at the
contig's first base has the base after it as its anchor (VCF specification, section 1.6.1, REF). In each record, alleles
that are equal there are merged: AD is their sum, PL the least of their genotypes.
"""
