"""Where to look for a mate that seeding did not place near the other one."""

from typing import NamedTuple

import numpy as np

from readwarp.align.pair.scalar import contig_of, outer_distance
from readwarp.align.views import Limits, limits_of, view_places, view_reads, view_reference
from readwarp.batches import Candidates, InsertSizes, Origin, ReadBatch, Scores, Segment, Status
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.jit import kernel
from readwarp.index.reference import Reference

UNPAIRED, FIRST = int(Segment.UNPAIRED), int(Segment.FIRST)
RESCUE, UNGAPPED = int(Origin.RESCUE), int(Status.UNGAPPED)
WORD = 10  # bases of an exact match
WORD_MASK = (1 << 2 * WORD) - 1
SLOTS = 4096  # hash table of the mate's words
MOST_COPIES = 4  # of one word of the mate that are looked at, so that homopolymers stay cheap
BAND = 16  # diagonals that are counted together
ENOUGH_WORDS = 3  # in one band; a random window of 1000 bases and a read of 150 share 0.13 words in all
LONGEST_WINDOW = 16384


class WordTable(NamedTuple):
    """Words of one oriented read as a chained hash table; positions count from 1, 0 ends a chain."""

    heads: np.ndarray  # int16 [SLOTS], first position of the slot
    following: np.ndarray  # int16 [read length], next position of the same slot
    words: np.ndarray  # int32 [read length], the word at a position
    counts: np.ndarray  # int16 [window + read length], matches by diagonal


class Windows(NamedTuple):
    """Rows made so far."""

    read: np.ndarray
    strand: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    diagonal: np.ndarray


class RescueRules(NamedTuple):
    limits: Limits
    match: int
    least_score: int
    unpaired_penalty: int
    most: int
    padding: int


@kernel
def slot_of(word):
    return (word * 40503 >> 6) & (SLOTS - 1)


@kernel
def index_words(bases, start, stop, strand, table):
    """Words of the oriented read bases[start:stop] -> table."""
    table.heads[:] = 0
    word, run = np.int64(0), 0
    for q in range(stop - start):
        base = np.int64(bases[start + q]) if strand == 0 else 3 - np.int64(bases[stop - 1 - q])
        run = run + 1 if 0 <= base <= 3 else 0
        word = ((word << 2) | (base & 3)) & WORD_MASK
        if run < WORD:
            continue
        slot, copies = slot_of(word), 0
        other = table.heads[slot]
        while other > 0:
            copies += table.words[other - 1] == word
            other = table.following[other - 1]
        if copies < MOST_COPIES:
            first = q - WORD + 1
            table.words[first], table.following[first] = word, table.heads[slot]
            table.heads[slot] = first + 1


@kernel
def count_words(packed, start, stop, length, table):
    """Word matches of reference [start, stop) by diagonal: counts[window position - query position + length]."""
    table.counts[: stop - start + length] = 0
    word, run = np.int64(0), 0
    for position in range(start, stop):
        base = np.int64((packed[position >> 1] >> np.uint8((position & 1) << 2)) & 15)
        run = run + 1 if base <= 3 else 0
        word = ((word << 2) | (base & 3)) & WORD_MASK
        if run < WORD:
            continue
        other = table.heads[slot_of(word)]
        while other > 0:
            if table.words[other - 1] == word:
                table.counts[position - WORD + 1 - start - (other - 1) + length] += 1
            other = table.following[other - 1]


@kernel
def promising_diagonals(counts, size):
    """First and last diagonal of the bands with at least half the matches of the best band, and the best diagonal.

    -1, -1, -1 when no band holds enough.
    """
    most, held = 0, 0
    for i in range(size):
        held += counts[i] - (counts[i - BAND] if i >= BAND else 0)
        most = max(most, held)
    if most < ENOUGH_WORDS:
        return -1, -1, -1
    first, last, best, held = size, -1, 0, 0
    for i in range(size):
        held += counts[i] - (counts[i - BAND] if i >= BAND else 0)
        if 2 * held >= most:
            first, last = min(first, max(0, i - BAND + 1)), i
        if counts[i] > counts[best]:
            best = i
    return first, last, best


@kernel
def has_mate(a, length_a, mate, length_b, contig, places, contig_offsets, limits, least):
    """Whether a candidate of `mate` with at least the score `least` is concordant with candidate a of the other."""
    for b in range(places.offsets[mate], places.offsets[mate + 1]):
        if places.strand[a] == places.strand[b] or places.status[b] > UNGAPPED or places.score[b] < least:
            continue
        d = outer_distance(places.strand[a], places.v[a], length_a, places.strand[b], places.v[b], length_b)
        if limits.low <= d <= limits.high and contig_of(contig_offsets, places.stop[b] - 1) == contig:
            return True
    return False


@kernel
def mate_window(strand, v, length, mate_length, limits, contig_start, contig_stop):
    """Where the mate of a read may lie, clipped to the contig."""
    if strand == 0:
        start, stop = v + limits.low - mate_length, v + limits.high
    else:
        start, stop = v + length - limits.high, v + length - limits.low + mate_length
    start = max(start, contig_start)
    return start, min(stop, contig_stop, start + LONGEST_WINDOW)


@kernel
def is_known(diagonal, mate, strand, places, windows, first, made):
    """Whether the place is a candidate of `mate` already, or one of the windows first..made."""
    for b in range(places.offsets[mate], places.offsets[mate + 1]):
        if places.strand[b] == strand and places.v[b] == diagonal:
            return True
    for w in range(first, made):  # noqa: SIM110
        if windows.strand[w] == strand and windows.diagonal[w] == diagonal:
            return True
    return False


@kernel
def anchors_from(r, places, rules):
    """Lowest score of a candidate of read r near which its mate is looked for."""
    best = 0
    for a in range(places.offsets[r], places.offsets[r + 1]):
        if places.status[a] <= UNGAPPED:
            best = max(best, places.score[a])
    return max(rules.least_score, best - rules.unpaired_penalty)


@kernel
def rescue_mate(mate, r, reads, places, reference, rules, table, windows, made):
    """Windows in which `mate` is looked for near the good candidates of read r; returns the rows made by then."""
    length, mate_length = reads.offsets[r + 1] - reads.offsets[r], reads.offsets[mate + 1] - reads.offsets[mate]
    if not WORD <= mate_length <= MAX_READ_LENGTH:
        return made
    least, good_mate = anchors_from(r, places, rules), 3 * mate_length * rules.match // 5
    indexed, looked, first = -1, 0, made
    for a in range(places.offsets[r], places.offsets[r + 1]):
        if places.status[a] > UNGAPPED or places.score[a] < least:
            continue
        contig = contig_of(reference.contig_offsets, places.stop[a] - 1)
        if has_mate(a, length, mate, mate_length, contig, places, reference.contig_offsets, rules.limits, good_mate):
            continue
        contig_start, contig_stop = reference.contig_offsets[contig], reference.contig_offsets[contig + 1]
        start, stop = mate_window(
            places.strand[a], places.v[a], length, mate_length, rules.limits, contig_start, contig_stop
        )
        if stop - start < WORD:
            continue
        strand = 1 - places.strand[a]
        if indexed != strand:
            index_words(reads.bases, reads.offsets[mate], reads.offsets[mate + 1], strand, table)
            indexed = strand
        count_words(reference.packed, start, stop, mate_length, table)
        head, tail, best = promising_diagonals(table.counts, stop - start + mate_length)
        diagonal = start + best - mate_length
        if head >= 0 and not is_known(diagonal, mate, strand, places, windows, first, made):
            windows.read[made], windows.strand[made], windows.diagonal[made] = mate, strand, diagonal
            windows.start[made] = max(contig_start, start + head - mate_length - rules.padding)
            windows.stop[made] = min(contig_stop, start + tail + rules.padding)
            made += 1
        looked += 1
        if looked == rules.most:
            break
    return made


@kernel
def rescue(reads, places, reference, rules, offsets, windows):
    """Rescue windows of all reads -> offsets (by read) and a row each; how many."""
    table = WordTable(
        np.zeros(SLOTS, np.int16),
        np.zeros(MAX_READ_LENGTH, np.int16),
        np.zeros(MAX_READ_LENGTH, np.int32),
        np.zeros(LONGEST_WINDOW + MAX_READ_LENGTH, np.int16),
    )
    made = 0
    offsets[0] = 0
    for mate in range(reads.segment.size):
        if reads.segment[mate] != UNPAIRED:
            other = mate + 1 if reads.segment[mate] == FIRST else mate - 1
            made = rescue_mate(mate, other, reads, places, reference, rules, table, windows, made)
        offsets[mate + 1] = made
    return made


def plan_rescue(
    reads: ReadBatch,
    candidates: Candidates,
    scores: Scores,
    reference: Reference,
    sizes: InsertSizes,
    parameters: AlignParameters,
) -> Candidates:
    """Windows in which to look for mates near the good candidates of the other read that have no concordant one."""
    pair, room = parameters.pair, len(reads) * parameters.pair.max_rescues
    rules = RescueRules(
        limits_of(sizes), parameters.scoring.match, parameters.records.min_score, pair.unpaired_penalty,
        pair.max_rescues, pair.window_padding,
    )  # fmt: skip
    windows = Windows(np.empty(room, np.int32), np.empty(room, np.uint8), *(np.empty(room, np.int64) for _ in range(3)))
    offsets = np.empty(len(reads) + 1, np.int64)
    made = rescue(
        view_reads(reads), view_places(candidates, scores), view_reference(reference), rules, offsets, windows
    )
    return Candidates(
        candidate_offsets=offsets,
        read=windows.read[:made],
        strand=windows.strand[:made],
        window_start=windows.start[:made],
        window_stop=windows.stop[:made],
        diagonal=windows.diagonal[:made],
        chain_score=np.zeros(made, np.int32),
        query_start=np.zeros(made, np.int32),
        query_stop=np.zeros(made, np.int32),
        origin=np.full(made, RESCUE, np.uint8),
    )
