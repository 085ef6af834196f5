"""Confidence that a position without a call is homozygous for the reference (gVCF).

    reference_bands(pileup: Pileup, reads: AlignedReads, window: Window, covered: bool, ploidy: int8,
                    causes: tuple[CalledGaps, GapModel]) -> Bands

The window is within the pileup's, and `covered` and `ploidy` have an entry for each of its positions. Where `covered`
is set, the position has a record of its own. `reads` are those counted in the pileup. `causes` of their gaps: called
ones, and slips of the sequencer.

Let P be the ploidy and L(k) the likelihood of k copies of any other allele, <NON_REF>, and P - k of the reference. Two
kinds of <NON_REF> are weighed at each position p:

*Substitutions*, by the pileup's counts and quality sums. n reads have the reference base and m another one. Q is the
mean quality of either group, rounded down, and e = 10 ** (-Q / 10):

    log10 L(k) = n log10( (P - k)/P (1 - e) + k/P e/3 ) + m log10( (P - k)/P e/3 + k/P (1 - e) )

where the terms with e/3 alone (n for k = P, m for k = 0) are sums over the reads' own qualities.

*Insertions and deletions.* m reads have a gap at p: a deletion across it, or an event with p as its anchor. A read
speaks for the reference where one stretch of it without gaps covers the repeat around p and p + 1 and REACH bases on
either side: a read that ends inside does not show the repeat's length. Gaps that have a record (`called`) do not
interrupt a stretch, since that record covers them. The repeat is the union of the stretches of units of 1 to MAX_UNIT
bases, at least two units long, that hold p or p + 1; e is the probability of an indel error of one of their units (the
highest; see `gap_models.slip_table`). No read speaks across more than MAX_TRACT bases.

    log10 L(k) = n log10( (P - k)/P (1 - e) + k/P e ) + m log10( (P - k)/P e + k/P (1 - e) )

    PL(k) = round(max(0, 10 (log10 L(0) - log10 L(k)))),  GQ = min(99, min PL(k), k > 0)

of the kind that supports the reference less: the one with the smaller min over k > 0 of log10 L(0) - log10 L(k),
substitutions on a tie. Where another k fits better than 0, its PL is 0 and so is GQ: no call was made there, but the
reads do not support the reference. Without a read, or where the reference is not A, C, G or T, nothing is known.

Neighbouring positions of one band of GQ (GQ_BANDS) and one ploidy make a block, with the sum and the minimum of their
depths and the minimum of each PL. A position depends only on the reads across it and the records of their gaps, and
sums and minima can be joined, so blocks do not depend on windows.
"""

GQ_BANDS = (0, 10, 20, 30, 40, 50, 60)  # the lowest GQ of each band
UNKNOWN = -1  # band where nothing is known
MAX_UNIT = 6
REACH = 5  # bases on either side of a repeat that a read must cover
