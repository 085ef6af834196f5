"""On which strand alleles are shown, for strand bias (host only)."""

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Likelihoods
from readwarp.call.evidence import DEPENDENT
from readwarp.device.jit import kernel, scalar
from readwarp.rules.cigar import SOFT_CLIP
from readwarp.rules.hashes import clear_slots, new_table

FIRST = 0x40  # in FLAG


@scalar
def strand_at(shared, flag, read, k):
    """The strand on which the read's base k was read; that of the first read, and DEPENDENT, if both mates show it."""
    if shared[read, 0] <= k < shared[read, 1]:  # of a fragment, which has the flag of its forward mate
        return DEPENDENT if flag[read] & FIRST else DEPENDENT | 1
    return 1 if k >= shared[read, 1] else 0


def count_ends_once(reads: AlignedReads, likelihoods: Likelihoods) -> None:
    """Add DEPENDENT to a pair's strand if one before it shows the same allele from the same 5' end of that strand."""
    number = int(np.diff(likelihoods.pair_offsets).max(initial=1))
    mark_repeated(likelihoods, ends_of(reads), new_table(number))


def ends_of(reads: AlignedReads) -> ndarray:
    """Where each read or fragment begins on either strand, clips included (int64 [2, reads])."""
    out = np.stack((reads.position - reads.hidden[:, 0], reads.reference_stop + reads.hidden[:, 1]))
    if len(reads):
        for side, places, sign in ((0, reads.cigar_offsets[:-1], -1), (1, reads.cigar_offsets[1:] - 1, 1)):
            code = reads.cigar[places]
            out[side] += sign * np.where(code & 15 == SOFT_CLIP, code >> 4, 0).astype(np.int64)
    return out


@kernel
def mark_repeated(likelihoods, ends, table):
    """table: room for a hash table of any site's pairs."""
    pair_offsets, read, allele, strand = (
        likelihoods.pair_offsets,
        likelihoods.read,
        likelihoods.allele,
        likelihoods.strand,
    )
    for site in range(pair_offsets.size - 1):
        slots = clear_slots(table, pair_offsets[site + 1] - pair_offsets[site])
        for pair in range(pair_offsets[site], pair_offsets[site + 1]):
            side, own = np.int64(strand[pair]), np.int64(allele[pair])
            if own < 0 or side & DEPENDENT:
                continue
            end = ends[side, read[pair]]
            slot, is_new = (end * 31 + own * 2 + side) & (slots - 1), True
            while is_new and table[slot] >= 0:
                other = table[slot]
                is_new = ends[side, read[other]] != end or allele[other] != own or strand[other] != side
                slot = (slot + 1) & (slots - 1)
            if is_new:
                table[slot] = pair
            else:
                strand[pair] |= DEPENDENT
