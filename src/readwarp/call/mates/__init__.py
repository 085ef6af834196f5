"""Mates: where the reads of a pair overlap, the fragment was read twice but counts once.

    merge_mates(reads: AlignedReads) -> AlignedReads, with other qualities

The bases that reads of one name and sample align to a reference position are one observation. They are merged in file
order. Where two agree, the better one (the first on a tie) keeps its quality, and the other's becomes 0. Where they
differ, the better one keeps the difference of the two qualities, and the other's becomes 0. Every position depends on
the reads across it alone. Missing qualities (255) count as DEFAULT_QUALITY.
"""

DEFAULT_QUALITY = 20
