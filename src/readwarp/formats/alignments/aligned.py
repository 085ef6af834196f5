"""Reads of alignment files."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray


class AlignedReads(NamedTuple):
    """Usable aligned reads that overlap a region of one contig, in file order (ascending position).

    Bases are those of BAM: on the forward strand of the reference, clipped ones included. Reads of no sample are left
    out; `unassigned` gives their positions. Mates may be joined to fragments (`readwarp.call.reads.mates`): bases that
    both read are `shared`, those before are the forward mate's, those after the reverse mate's. Without a mate,
    `shared` is empty, at the end of a forward read or the start of a reverse one.
    """

    contig: int
    start: int  # start of the region, 0-based in the contig
    stop: int
    position: Annotated[ndarray, "int64 [reads]"]  # first aligned reference base, 0-based in the contig
    reference_stop: Annotated[ndarray, "int64 [reads]"]  # after the last aligned reference base
    flag: Annotated[ndarray, "uint16 [reads]"]  # SAM flag
    mapping_quality: Annotated[ndarray, "uint8 [reads]"]
    name_hash: Annotated[ndarray, "uint64 [reads]"]  # equal for the mates of a pair
    fragment_end: Annotated[ndarray, "int64 [reads]"]  # where the mate's 5' end bounds the read's 3' end, -1 unknown
    shared: Annotated[ndarray, "int32 [reads, 2]"]  # [from, to) of its bases: on both strands; bases before are on the
    # forward strand only, bases after on the reverse strand
    hidden: Annotated[ndarray, "int32 [reads, 2]"]  # bases of the fragment left out before the first, after the last
    sample: Annotated[ndarray, "uint16 [reads]"]  # index among the called samples
    cigar: Annotated[ndarray, "uint32 [operations]"]  # BAM coding
    cigar_offsets: Annotated[ndarray, "int64 [reads + 1] of operations"]
    bases: Annotated[ndarray, "uint8 [bases]"]  # 0-4
    qualities: Annotated[ndarray, "uint8 [bases]"]  # Phred; 255 throughout a read that has none
    read_offsets: Annotated[ndarray, "int64 [reads + 1] of bases"]
    unassigned: Annotated[ndarray, "int64 [unassigned]"]  # positions of the reads left out

    @property
    def strand(self) -> ndarray:
        """Strand of each read: uint8 [reads]."""
        return ((self.flag >> 4) & 1).astype(np.uint8)

    def __len__(self) -> int:
        return self.position.size
