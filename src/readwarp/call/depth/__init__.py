"""Depth: where too many reads of a sample lie, some of them are left out (host only).

    DepthLimit(max_depth).limit(reads: AlignedReads) -> AlignedReads, and what it has left out

The contig is cut into blocks of BLOCK bases, from its first base on. A read is in the blocks in which it has aligned
bases or deletions. Of the reads of a sample in one block at most `max_depth` count there: those whose names have the
smallest ranks, a hash that is uniform whatever the names are, so that mates count together and no allele, strand or
file is preferred. (A name that has more reads in a block than that counts with all of them.)

In blocks where a read does not count, its bases get quality 0, which no step takes for evidence. A read that counts
nowhere is left out. So every block depends on its own reads alone, and neither on windows nor on threads, and what is
left of a part of the reads in file order still holds what counts of all: deep reads are thinned while they are read,
and memory is bounded by the limit.
"""

BLOCK = 32  # reference bases
