"""Merge the reads of one molecule (MI) into one consensus read: `readwarp consensus`.

In: records of molecules (`group.py` finds where each ends). Out: unaligned reads, a ReadBatch with tags.

    group.py     records -> Families: all records of each molecule, once no more of them can follow
    reads.py     Families -> Reads: bases in sequencing order, overlapping mates made to agree, ends trimmed
    agree.py     reads whose indels differ from most reads of their pile are dropped
    columns.py   stacks of reads -> the most likely base of each column, its quality, depth and errors
    combine.py   one stack or two, one for each strand -> a consensus read, if it passes the filters
    umis.py      the consensus of the UMIs
    tags.py      names and tags; the ReadBatch
    steps.py     Families through these steps
    job.py       files and their headers; api.py

A *pile* is one end of a molecule: single reads, the end where strand A has its first mates and strand B its last ones,
and the other end. A *stack* is the reads of one strand in a pile; without --duplex all reads are of strand A.

For a column with bases b_i of adjusted error e_i (see `model.py`), with L(X) = prod (1 - e_i if b_i = X else e_i / 3),

    consensus = argmax L    error = 1 - L(consensus) / sum of L    p = pre (+) error    quality = floor(-10 log10 p)

where x (+) y = x + y - 4/3 x y is the probability of an error in either of two trials, or in both unless they cancel
out. Ties are N. The rules are those of fgbio's CallMolecularConsensusReads and CallDuplexConsensusReads
(docs/methods/consensus.md). Likelihoods are integers, so their sum does not depend on the order of the reads.
"""
