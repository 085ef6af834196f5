"""Keep the bases of reads that are evidence, and join the overlapping mates of a pair into one read.

    join_mates(reads: AlignedReads, window: Window, primers: Primers, ignore_soft_clips: bool)
        -> AlignedReads of fragments, and Removed: bases of each read that were not evidence
    cut_long(reads: AlignedReads, low: int, high: int) -> AlignedReads

Clipped ends are compared with the window's bases; the primers are those of its contig.

Bases that are not evidence are removed, so no later step sees them:

Beyond the mate. A fragment that is shorter than its reads ends where its mate begins. Bases beyond the mate's 5' end
are adapter, aligned or not. Where both reads are here, the longest stretch that both align alike, gaps included, maps
the bases of one to the other's. Where the mate was not usable, the read's record gives its start: by MC, or else by its
position and TLEN.

Primers, if given (`primers.Primers`). A read whose 5' end lies in a primer of its strand was made with that primer. So
was its fragment, whose other primer is the mate's or, without a mate, the partner of the first by name. Bases in these
two primers are not evidence: they were synthesised. Bases in another amplicon's primer are.

Deliberate clips. Aligners clip an end where it does not match. A soft clip that matches the reference along the
diagonal (score 1 for a match and -4 for a mismatch, at least MIN_CLIP from the aligned bases on) comes from primer
trimming or masking, and its bases are left out. With `ignore_soft_clips` all clips are.

Then overlapping mates become one read, if the stretch places them reliably: it has at least MIN_ANCHOR bases, and
shifted against itself by up to half of them it differs in MIN_DIFFERENCES or more. Nor may it lie in a tandem repeat of
a longer unit (up to its own size, or MAX_UNIT): MIN_REPEAT bases or more that recur in the fragment one unit further
on. (In a tandem repeat that neither mate spans, a fragment of another length would look alike.) And the mates must
agree where they overlap (`join.agree`): mates that end in different copies of a unit do not. The joined read is the
fragment, sequenced twice in part but one observation, from the forward mate's first base to the reverse mate's last.
Where two bases agree, the higher quality remains. Where they differ, the better base remains with the difference of the
qualities, and a known base replaces an unknown one. The alignment is the forward mate's up to the middle of the
stretch, then the reverse mate's: each is aligned best towards its 5' end. The fragment has the forward mate's flag and
the higher MAPQ.

Other reads of one name and sample that overlap (mates that were not joined or share a strand, supplementary alignments,
more than MAX_RECORDS of one name in a row) stay apart, and `pairs.merge_mates` makes their bases at a position count
once, in file order. If two agree, the better one (the first on a tie) keeps its quality; if they differ, it keeps the
difference. The other's becomes 0.

Ends of contigs (`join.align_overhangs`). An aligner clips a read that hangs over the end of its contig at a difference
near that end. Where at most MAX_DIFFERENCES of the clipped bases that lie on the contig differ from its last MAX_END
bases or fewer, the read is aligned to the end.

`cut_long` keeps the part of each read in [low, high), from the last aligned base at or before `low` to the first one at
or after `high` - 1, in file order. Bases it cuts off count as hidden, in reference bases with clips, so that reads keep
their ends.

Every read depends only on its own bases and its mates'. Missing qualities (255) count as DEFAULT_QUALITY. Reads are
sorted by position again; empty ones are dropped.
"""

DEFAULT_QUALITY = 20
MAX_RECORDS = 8  # most overlapping records of one name among which mates are sought
MAX_UNIT, MIN_REPEAT = 60, 10  # longest unit of a repeat; bases that must recur one unit further on
MIN_ANCHOR, MIN_DIFFERENCES = 16, 3  # shared bases, and differences when they are shifted
MISMATCH = 4  # penalty, where a match scores 1
TOLERANCE = 5  # bases by which a read may begin before its primer
