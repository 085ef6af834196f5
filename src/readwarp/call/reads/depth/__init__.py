"""Depth limit: reads are left out where a sample has too many (host only).

    DepthLimit(max_depth).limit(reads: AlignedReads) -> AlignedReads, and records of what it left out

The contig is cut into blocks of BLOCK bases, from its first base on. A read is in the blocks in which it has aligned
bases or deletions. At most `max_depth` reads of a sample count in a block: those whose names have the smallest ranks. A
rank is a hash that is uniform whatever the names are, so mates count together and no allele, strand or file is
preferred. (A name with more reads in a block than that counts with all of them.)

In blocks where a read does not count, its bases get quality 0, which no step uses as evidence. A read that counts
nowhere is left out. So every block depends on its own reads alone, never on windows or threads. A thinned part of the
reads in file order still holds all reads that count in the whole, so deep reads are thinned while they are read, and
the limit bounds memory.
"""
