"""Events of single reads to alleles with counts (host only)."""

from dataclasses import dataclass

import numpy as np

from readwarp.batches import AlignedReads, Pileup
from readwarp.call.pileup.scalar import rotated
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of
from readwarp.rules.cigar import DELETION, INSERTION
from readwarp.rules.hashes import BASIS, hashed


@dataclass(frozen=True, slots=True)
class Events:
    """Room for one event per I or D operation of each read; length 0 where it does not count."""

    offsets: np.ndarray  # int64 [n + 1], by read
    position: np.ndarray  # int64 [e], anchor
    length: np.ndarray  # int32 [e], negative for deletions
    query: np.ndarray  # int64 [e], first inserted base in the reads' bases
    shift: np.ndarray  # int32 [e], bases moved to the left


def new_events(reads: AlignedReads) -> Events:
    is_event = offsets_of(np.isin(reads.cigar & 15, (INSERTION, DELETION)))
    offsets = is_event[reads.cigar_offsets]
    n = int(offsets[-1])
    return Events(
        offsets,
        np.zeros(n, np.int64),
        np.zeros(n, np.int32),
        np.zeros(n, np.int64),
        np.zeros(n, np.int32),
    )


def assemble(
    reads: AlignedReads, events: Events, counts: np.ndarray, quality_sums: np.ndarray, start: int, stop: int
) -> Pileup:
    """Equal events to alleles, ordered by position, kind, length and a hash of the inserted bases."""
    used = np.flatnonzero(events.length)
    position, signed, query, shift = (x[used] for x in (events.position, events.length, events.query, events.shift))
    key = np.zeros(used.size, np.uint64)
    hash_insertions(reads.bases, query, signed, shift, key)
    is_deletion, length = signed < 0, np.abs(signed)
    order = np.lexsort((key, length, is_deletion, position))
    columns = [x[order] for x in (position, is_deletion, length, key)]
    is_first = np.ones(used.size, bool)
    is_first[1:] = np.any([x[1:] != x[:-1] for x in columns], axis=0)
    has_n = (columns[3] == 0) & ~columns[1]
    allele = np.cumsum(is_first) - 1
    number = int(is_first.sum())
    strand = (reads.flag[np.searchsorted(events.offsets, used[order], side="right") - 1] >> 4) & 1
    cells = allele * 2 + strand
    allele_counts = np.bincount(cells, minlength=2 * number).reshape(number, 2)
    kept = np.flatnonzero(is_first & ~has_n)
    rows, first = allele[kept], order[kept]
    sizes = np.where(is_deletion[first], 0, length[first])
    offsets = offsets_of(sizes)
    allele_bases = np.empty(offsets[-1], np.uint8)
    copy_insertions(reads.bases, query[first], shift[first], offsets, allele_bases)
    return Pileup(
        contig=reads.contig,
        start=start,
        stop=stop,
        counts=counts,
        quality_sums=quality_sums,
        allele_position=position[first],
        allele_length=length[first].astype(np.int32),
        allele_bases=allele_bases,
        allele_offsets=offsets,
        allele_counts=allele_counts[rows].astype(np.int32),
    )


@kernel
def hash_insertions(bases, query, signed, shift, key):
    """FNV-1a over the inserted bases as moved, made odd; 0 where one of them is not A, C, G or T."""
    for e in range(query.size):
        value = np.uint64(BASIS)
        for i in range(signed[e]):
            base = bases[query[e] + rotated(i, np.int64(shift[e]), np.int64(signed[e]))]
            if base > 3:
                value = np.uint64(0)
                break
            value = hashed(value, base + 1)
        key[e] = value if signed[e] < 0 or value == 0 else value | np.uint64(1)


@kernel
def copy_insertions(bases, query, shift, offsets, out):
    for e in range(query.size):
        length = offsets[e + 1] - offsets[e]
        for i in range(length):
            out[offsets[e] + i] = bases[query[e] + rotated(i, np.int64(shift[e]), length)]
