"""A second look at weak reads, whose best chain is hardly more than a seed (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import anchor_of
from readwarp.align.batches import Chains, SeedHits
from readwarp.align.seed.cpu import Seeds, look_up, sketch_reads
from readwarp.align.seed.runs import KEPT, ReferenceRuns, Runs, add_runs, longest_run
from readwarp.align.seed.scalar import entries_of
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.rows import each_row, maker_beside, to_host
from readwarp.formats.common.reads import ReadBatch, Segment, bring_reads
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

    rows: Annotated[ndarray, "int64 [reads]"]  # in their batch
    chained: Annotated[ndarray, "uint8 [reads]"]  # 1: has a chain
    has_run: Annotated[ndarray, "uint8 [reads]"]  # 1: see `align.seed.runs`
    spellings: Annotated[ndarray, "int64 [reads]"]  # 1, or ALL for a read with N


def find_weak(reads: ReadBatch, chains: Chains, parameters: AlignParameters) -> tuple[ReadBatch, Weak]:
    """Find the weak reads that may have more places, on the host.

    If mates are searched for near each other, both must be weak. The reads and chains are on either side.
    """
    pair, looks = parameters.pair, maker_beside(reads.segment)(len(reads), np.uint8)
    judge_chains(len(reads), reads, chains, parameters.seed.k, pair.pairing and pair.rescue, looks)
    looks = to_host(looks)
    rows = np.flatnonzero(looks)
    some, weak = bring_reads(reads, rows), empty(Weak, {"reads": rows.size}, rows=rows)
    kept = np.empty(rows.size, bool)
    weigh_weak(some, looks[rows], weak, kept)
    return take(some, "reads", kept), take(weak, "reads", kept)


def find_seeds(
    reads: ReadBatch, weak: Weak, index: Index, repeats: ReferenceRuns, parameters: AlignParameters
) -> SeedHits:
    """Find anchors of the weak reads at places where they have none yet."""
    parts = [slice(first, first + AT_ONCE) for first in range(0, weak.rows.size, AT_ONCE)]
    found = (
        find_some(take(reads, "reads", part), take(weak, "reads", part), index, repeats, parameters) for part in parts
    )
    return concatenate([*found], "reads")


def find_some(
    reads: ReadBatch, weak: Weak, index: Index, repeats: ReferenceRuns, parameters: AlignParameters
) -> SeedHits:
    p, entries = index.parameters, entries_of(index)
    firsts, rows = offsets_of(weak.spellings), np.repeat(np.arange(len(reads)), weak.spellings)
    spelled = take(reads, "reads", rows)
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


@scalar
def look_at(read, reads, chains, k):
    """Return whether a read is weak, and why; 0: it is not.

    It is if no chain covers two seeds that do not overlap, or half the read.
    """
    length, first = reads.read_offsets[read + 1] - reads.read_offsets[read], chains.chain_offsets[read]
    is_chained = first < chains.chain_offsets[read + 1]
    if is_chained and chains.score[first] >= min(2 * k, length // 2):
        return 0
    look = WEAK | CHAINED * is_chained | FREQUENT * (chains.repetitive[read] > 0)
    return look | FAILED * (chains.status[read] != Status.OK)


@each_row
def judge_chains(read, reads, chains, k, beside_mates, looks):
    """Write the look at a read, or 0 if that is enough. beside_mates: its mate must be weak too."""
    look = look_at(read, reads, chains, k)
    if look & FAILED:
        look = 0
    if look and beside_mates and reads.segment[read] != UNPAIRED:
        mate = read + 1 if reads.segment[read] == FIRST else read - 1
        if look_at(mate, reads, chains, k) == 0:
            look = 0
    looks[read] = look


@each_row
def put_repetitive(i, rows, repetitive, out):
    out[rows[i]] = repetitive[i]


@kernel
def weigh_weak(reads, looks, weak, kept):
    """Fill `weak`, and write to `kept` whether each read may have more places. looks: at each."""
    packed, offsets = np.empty(MAX_READ_LENGTH // 2, np.uint8), reads.read_offsets
    for read in range(looks.size):
        bases, is_chained = reads.bases[offsets[read] : offsets[read + 1]], looks[read] & CHAINED > 0
        weak.chained[read] = is_chained
        has_run, has_n = longest_run(bases, packed)[1] > 0, np.any(bases >= ALL)
        weak.has_run[read], weak.spellings[read] = has_run, ALL if has_n else 1
        kept[read] = looks[read] & FREQUENT > 0 or has_run or (has_n and not is_chained)


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
