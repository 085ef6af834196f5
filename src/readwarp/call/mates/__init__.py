"""Mates: where the two reads of a pair cover the same base of the reference, it was read twice, and counts once.

    merge_mates(reads: AlignedReads) -> qualities uint8 [b]

At a reference position that records of one name and sample cover with aligned bases, these are one observation. They
are merged in file order: where two agree, the better one is kept (the first on a tie) and the other gets quality 0;
where they differ, the better one keeps the difference of the qualities and the other gets 0. Every position depends on
the records across it alone. Missing qualities (255) are taken as DEFAULT_QUALITY before.
"""

DEFAULT_QUALITY = 30
