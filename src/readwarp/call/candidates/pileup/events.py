"""Merge the indels of single reads into alleles with counts (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Pileup
from readwarp.call.candidates.pileup.scalar import rotate
from readwarp.call.places.window import Window
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of
from readwarp.rules.cigar import DELETION, INSERTION
from readwarp.rules.hashes import BASIS, add_byte


class PileupLimits(NamedTuple):
    """Limits of where bases are counted, and of their quality."""

    start: int
    stop: int
    min_base_quality: int


class BaseCounts(NamedTuple):
    """Counts and quality sums, see Pileup."""

    counts: Annotated[ndarray, "int32 [positions, 5, 2]"]
    quality_sums: Annotated[ndarray, "int32 [positions, 5, 2]"]


class IndelEvents(NamedTuple):
    """Space for one event per I or D operation of each read; length 0 where it does not count."""

    offsets: Annotated[ndarray, "int64 [reads + 1] of events"]
    position: Annotated[ndarray, "int64 [events]"]  # position of the anchor
    length: Annotated[ndarray, "int32 [events]"]  # negative for deletions
    query: Annotated[ndarray, "int64 [events]"]  # index of the first inserted base in the reads' bases
    shift: Annotated[ndarray, "int32 [events]"]  # bases shifted left


def new_counts(window: Window) -> BaseCounts:
    return BaseCounts(*np.zeros((2, window.stop - window.start, 5, 2), np.int32))


def new_events(reads: AlignedReads) -> IndelEvents:
    is_event = offsets_of(np.isin(reads.cigar & 15, (INSERTION, DELETION)))
    offsets = is_event[reads.cigar_offsets]
    n = int(offsets[-1])
    return IndelEvents(
        offsets, np.zeros(n, np.int64), np.zeros(n, np.int32), np.zeros(n, np.int64), np.zeros(n, np.int32)
    )


def assemble(reads: AlignedReads, window: Window, counts: BaseCounts, events: IndelEvents) -> Pileup:
    """Merge equal events into alleles, ordered by position, kind, length and a hash of the inserted bases."""
    used = np.flatnonzero(events.length)
    position, signed, query, shift = (x[used] for x in (events.position, events.length, events.query, events.shift))
    key = np.zeros(used.size, np.uint64)
    hash_insertions(reads.bases, query, signed, shift, key)
    is_deletion, length = signed < 0, np.abs(signed)
    order = np.lexsort((key, length, is_deletion, position))
    order = order[is_deletion[order] | (key[order] > 0)]
    columns = [x[order] for x in (position, is_deletion, length, key)]
    is_first = np.ones(order.size, bool)
    is_first[1:] = np.any([x[1:] != x[:-1] for x in columns], axis=0)
    first = order[is_first]
    read = np.searchsorted(events.offsets, used[order], side="right") - 1
    cells = 2 * (np.cumsum(is_first) - 1) + reads.strand[read]
    offsets = offsets_of(np.where(is_deletion[first], 0, length[first]))
    allele_bases = np.empty(offsets[-1], np.uint8)
    copy_insertions(reads.bases, query[first], shift[first], offsets, allele_bases)
    return Pileup(
        contig=reads.contig,
        start=window.start,
        stop=window.stop,
        counts=counts.counts,
        quality_sums=counts.quality_sums,
        allele_position=position[first],
        allele_length=length[first].astype(np.int32),
        allele_bases=allele_bases,
        allele_offsets=offsets,
        allele_counts=np.bincount(cells, minlength=2 * first.size).reshape(-1, 2).astype(np.int32),
    )


@kernel
def hash_insertions(bases, query, signed, shift, key):
    """Set `key` to FNV-1a of the shifted inserted bases, made odd; 0 where one of them is not A, C, G or T."""
    for e in range(query.size):
        value = np.uint64(BASIS)
        for i in range(signed[e]):
            base = bases[query[e] + rotate(i, np.int64(shift[e]), np.int64(signed[e]))]
            if base > 3:
                value = np.uint64(0)
                break
            value = add_byte(value, base + 1)
        key[e] = value | np.uint64(1) if value else value


@kernel
def copy_insertions(bases, query, shift, offsets, out):
    for e in range(query.size):
        length = offsets[e + 1] - offsets[e]
        for i in range(length):
            out[offsets[e] + i] = bases[query[e] + rotate(i, np.int64(shift[e]), length)]
