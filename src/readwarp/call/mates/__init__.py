"""Mates: of the reads of a window, the bases that are evidence; and the mates of a pair that overlap, as one read.

    join_mates(reads: AlignedReads, window: Window, primers: Primers, ignore_soft_clips: bool)
        -> AlignedReads of fragments, and Removed: how many bases of each read were no evidence
    cut_long(reads: AlignedReads, low: int, high: int) -> AlignedReads

The window's bases are those to which clipped ends are compared; the primers are those of its contig.

What is no evidence is removed, so that no later step sees it:

Beyond the mate. A fragment that is shorter than its reads ends where its mate begins. What a read has beyond its mate's
5' end is adapter, aligned or not. Where both reads are here, the longest stretch that both align alike, gaps included,
says which base of one is which of the other. Where the mate is not (it was not usable), the read's record says where it
begins: by MC, or without that by its position and TLEN.

Primers, if they are given (`primers.Primers`). A read whose 5' end lies in a primer of its strand was made with that
primer. So was its fragment, whose other end is that of the mate; if the read has no mate, it is the partner of the
primer, by its name. Bases in these two primers are not evidence: they were synthesised. Bases of another amplicon's
primer are.

Clips on purpose. Aligners clip an end where it does not match. A soft clip that matches the reference along the
diagonal (score 1 for a match and -4 for a mismatch, at least MIN_CLIP from the aligned bases on) was made by whoever
trimmed primers or masked ends, and its bases are left out. With `ignore_soft_clips` all clips are.

Then mates that overlap become one read, if the stretch says how they lie: it has at least MIN_ANCHOR bases, and moved
against itself by up to half of them it differs in MIN_DIFFERENCES or more. Nor may it lie in a tandem repeat of a
longer unit (up to its own size, or MAX_UNIT): MIN_REPEAT bases or more that the fragment has again one unit further on.
(In a tandem repeat that neither mate spans, a fragment of another length would look alike.) And the mates agree where
they overlap (`anchor.agree`): those that end in different copies of a unit do not. The read is the fragment, which was
sequenced twice in part but is one observation. It has the forward mate's bases up to its reverse mate's end.
Where two bases agree, the better quality remains. Where they differ, the better base remains with the difference of the
two, and an unknown base gives way. The alignment is the forward mate's up to the middle of the stretch, and from there
the reverse mate's: each is aligned best towards its 5' end. The fragment's flag is that of the forward mate, its
mapping quality the better one.

Other reads of one name and sample that overlap (such mates, those of one strand, supplementary alignments, more than
MAX_RECORDS of one name in a row) stay apart, and `merge.merge_mates` lets a base that several of them align to a
position count once, in file order: of two that agree the better one (the first on a tie) keeps its quality, of two that
differ the better one keeps the difference, and the other's becomes 0.

Ends of contigs (`ends.align_overhangs`). An aligner clips a read that hangs over the end of its contig at a difference
near that end. Where at most MAX_DIFFERENCES of the clipped bases that lie on the contig differ from its last MAX_END
bases or fewer, the read is aligned to the end.

`cut_long` leaves of each read what lies in [low, high), from the last aligned base at or before `low` to the first one
at or after `high` - 1, in file order. What it cuts off counts as hidden, in reference bases with clips, so that reads
keep their ends.

Every read depends on its own bases and its mates' alone. Missing qualities (255) count as DEFAULT_QUALITY. Reads are in
order of position again; those of which nothing is left are dropped.
"""

DEFAULT_QUALITY = 20
MAX_RECORDS = 8  # of one name, each of which overlaps one before it, among which mates are looked for
MAX_UNIT, MIN_REPEAT = 60, 10  # the longest unit of a repeat; how many bases must come again one unit further on
MIN_ANCHOR, MIN_DIFFERENCES = 16, 3  # bases in common, and how many must differ where they are moved
MISMATCH = 4  # magnitude of the score, where a match is 1
TOLERANCE = 5  # bases by which a read may begin before its primer
