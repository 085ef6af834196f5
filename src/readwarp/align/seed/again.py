"""A second look at weak reads, whose best chain is hardly more than a seed (host only)."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import anchor_of
from readwarp.align.batches import Chains, SeedHits
from readwarp.align.seed.cpu import Seeds, look_up, sketch_reads
from readwarp.align.seed.runs import KEPT, ReferenceRuns, Runs, add_runs, longest_run
from readwarp.align.seed.scalar import entries_of
from readwarp.compiler.jit import kernel
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.rows import each_row, maker_beside, to_host
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.index import Index
from readwarp.index.syncmers import Shape, max_syncmers, mix, scratch_of
from readwarp.ragged import concatenate, empty, offsets_of, replace, take
from readwarp.rules.hashes import hash_of
from readwarp.rules.statuses import Status

UNPAIRED, FIRST = int(Segment.UNPAIRED), int(Segment.FIRST)
ALL = 4  # spellings of a read: each N is A, then C, G, T
FEW = 8  # places of a seed
AT_ONCE = 4096  # reads
WEAK, CHAINED, FREQUENT, FAILED = 1, 2, 4, 8  # a read: has chains, has seeds left out, cannot be chained


class Weak(NamedTuple):
    """Reads that get a second look."""

    rows: Annotated[ndarray, "int64 [reads]"]
    chained: Annotated[ndarray, "uint8 [reads]"]  # 1: has a chain
    has_run: Annotated[ndarray, "uint8 [reads]"]  # 1: see `align.seed.runs`
    spellings: Annotated[ndarray, "int64 [reads]"]  # 1, or ALL for a read with N


def find_weak(reads: ReadBatch, offsets: Any, chains: Chains, parameters: AlignParameters) -> Weak:
    """List the weak reads that may have more places. If mates are searched for near each other, both must be weak.

    offsets: of the reads, on the side of the chains.
    """
    weak, pair = empty(Weak, {"reads": len(reads)}), parameters.pair
    looks = maker_beside(offsets)(len(reads), np.uint8)
    judge_chains(len(reads), offsets, chains, parameters.seed.k, looks)
    number = list_weak(reads, to_host(looks), pair.pairing and pair.rescue, weak)
    return take(weak, "reads", slice(number))


def find_seeds(
    reads: ReadBatch, weak: Weak, index: Index, repeats: ReferenceRuns, parameters: AlignParameters
) -> SeedHits:
    """Find anchors of the weak reads at places where they have none yet."""
    parts = (take(weak, "reads", slice(first, first + AT_ONCE)) for first in range(0, weak.rows.size, AT_ONCE))
    return concatenate([find_some(reads, part, index, repeats, parameters) for part in parts], "reads")


def find_some(
    reads: ReadBatch, weak: Weak, index: Index, repeats: ReferenceRuns, parameters: AlignParameters
) -> SeedHits:
    p, entries = index.parameters, entries_of(index)
    firsts, spelled = offsets_of(weak.spellings), take(reads, "reads", np.repeat(weak.rows, weak.spellings))
    lengths, number = np.diff(spelled.read_offsets), len(spelled)
    letters = np.repeat((np.arange(number) - np.repeat(firsts[:-1], weak.spellings)).astype(np.uint8), lengths)
    spelled = replace(spelled, bases=np.where(spelled.bases < ALL, spelled.bases, letters))
    room = int(max_syncmers(lengths, p.k, p.t).sum()) + 1
    seeds = Seeds.room(number, room, entries)
    sketch_reads(spelled, Shape.of(p), scratch_of(MAX_READ_LENGTH), seeds, np.empty(number, np.uint8))
    last = seeds.offsets[-1]
    look_up(np.arange(last), seeds, entries)
    room = int(np.minimum(seeds.entries[:last], FEW).sum()) + weak.rows.size * 2 * KEPT
    hits = empty(SeedHits, {"reads": weak.rows.size, "anchors": room}, np.zeros)
    rules = p.k, parameters.seed.max_hits, p.k - p.s + 1
    runs = repeats.runs if weak.has_run.any() else Runs(*np.zeros((2, 1, 1), np.int64))
    gather(spelled, firsts, weak, seeds, entries, runs, rules, hits)
    return replace(hits, anchors=hits.anchors[: hits.anchor_offsets[-1]])


@each_row
def judge_chains(read, read_offsets, chains, k, looks):
    """Write whether a read is weak, and why.

    It is if no chain covers two seeds that do not overlap, or half the read.
    """
    length, first = read_offsets[read + 1] - read_offsets[read], chains.chain_offsets[read]
    is_chained = first < chains.chain_offsets[read + 1]
    looks[read] = 0
    if not is_chained or chains.score[first] < min(2 * k, length // 2):
        looks[read] = WEAK | CHAINED * is_chained | FREQUENT * (chains.repetitive[read] > 0)
        looks[read] |= FAILED * (chains.status[read] != Status.OK)


@each_row
def put_repetitive(i, rows, repetitive, out):
    out[rows[i]] = repetitive[i]


@kernel
def list_weak(reads, looks, beside_mates, weak):
    """Write the reads of `find_weak` to `weak`; return their number."""
    number, packed = np.int64(0), np.empty(MAX_READ_LENGTH // 2, np.uint8)
    offsets = reads.read_offsets
    for read in range(reads.segment.size):
        if looks[read] == 0 or looks[read] & FAILED:
            continue
        mate = read + 1 if reads.segment[read] == FIRST else read - 1
        if beside_mates and reads.segment[read] != UNPAIRED and looks[mate] == 0:
            continue
        bases, is_chained = reads.bases[offsets[read] : offsets[read + 1]], looks[read] & CHAINED > 0
        weak.rows[number], weak.chained[number] = read, is_chained
        weak.has_run[number] = longest_run(bases, packed)[1] > 0
        weak.spellings[number] = ALL if np.any(bases >= ALL) else 1
        if looks[read] & FREQUENT or weak.has_run[number] or (weak.spellings[number] > 1 and not is_chained):
            number += 1
    return number


@kernel
def gather(spelled, firsts, weak, seeds, entries, runs, rules, hits):
    """Write sorted anchors of weak reads to `hits`. firsts: of their spellings; rules: k, max_hits, bases per seed."""
    counts, anchors = seeds.entries, hits.anchors
    (k, max_hits, step), size = rules, 0
    packed = np.empty(MAX_READ_LENGTH // 2, np.uint8)
    for read in range(weak.rows.size):
        one, begin = firsts[read], size
        bases = spelled.bases[spelled.read_offsets[one] : spelled.read_offsets[one + 1]]
        length = bases.size
        mixed = mix(hash_of(spelled.names, spelled.name_offsets[one], spelled.name_offsets[one + 1]))
        most, rarest = max_hits if weak.chained[read] else FEW, -1
        found = left_out = 0
        for i in range(seeds.offsets[one], seeds.offsets[firsts[read + 1]]):
            if counts[i] > most:
                left_out += 1
                if rarest < 0 or counts[i] < counts[rarest]:
                    rarest = i
            elif counts[i] > 0:
                found += 1
                if not weak.chained[read]:
                    size = add_places(i, mixed, seeds, entries, length, k, anchors, size)
        if rarest >= 0:
            size = add_places(rarest, mixed, seeds, entries, length, k, anchors, size)
        if weak.has_run[read]:
            start, stop = longest_run(bases, packed)
            size = add_runs(packed, (start, stop), length, mixed, runs, k, anchors, size)
            left_out += (stop - start) // step  # number of seeds it might have
        anchors[begin:size].sort()
        hits.anchor_offsets[read + 1] = size
        hits.repetitive[read] = -(-length * left_out // (step * max(1, left_out + found)))


@kernel
def add_places(seed, mixed, seeds, entries, length, k, anchors, size):
    """Add anchors at FEW places of a seed, evenly spread, or at all if it has no more; return the number so far."""
    (_, tags, positions, _), count = entries, np.int64(seeds.entries[seed])
    number, begin = count if count < FEW else FEW, np.int64(mixed % np.uint64(count))
    for i in range(number):
        entry = np.int64(seeds.first[seed]) + (begin + i * count // number) % count
        anchors[size] = anchor_of(positions[entry], tags[entry] & 1, seeds.query[seed], seeds.strand[seed], length, k)
        size += 1
    return size
