"""Find where to search for a mate that has no seeds near the other read."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.batches import Candidates
from readwarp.align.insert_models import InsertLimits, InsertModels, model_of
from readwarp.align.places import Genome, Places, contig_of, outer_distance, put_window
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.rows import each_row, maker_beside, ragged_rows, to_host, to_side_of
from readwarp.formats.common.reads import ReadBatch, Segment, bring_reads
from readwarp.index.reference import Reference
from readwarp.ragged import empty, offsets_of, replace, take
from readwarp.rules.bases import base_at
from readwarp.rules.statuses import Status

UNPAIRED, FIRST, LAST = map(int, Segment)
UNGAPPED = int(Status.UNGAPPED)
WORD = 10  # bases of an exact match
WORD_MASK = (1 << 2 * WORD) - 1
SLOTS = 4096  # in the hash table of the mate's words
MAX_COPIES = 4  # of one word of the mate, so that homopolymers stay cheap
BAND = 16  # diagonals counted together
MIN_WORDS = 3  # in one band; a random window of 1000 bases and a read of 150 share 0.13 words in all
MAX_WINDOW = 16384


class WordTable(NamedTuple):
    """Words of one oriented read in a chained hash table; positions count from 1, and 0 ends a chain."""

    heads: Annotated[ndarray, "int16 [slots]"]  # first position in the slot
    following: Annotated[ndarray, "int16 [bases]"]  # next position in the same slot
    words: Annotated[ndarray, "int32 [bases]"]  # the word at a position
    counts: Annotated[ndarray, "int16 [diagonals]"]  # matches, for window + read length diagonals


class RescueRules(NamedTuple):
    limits: InsertLimits
    match: int
    min_score: int
    unpaired_penalty: int
    max_rescues: int
    max_candidates: int
    padding: int
    trusts_settled: bool  # no other place of a settled mate could make up for a pair


@kernel
def slot_of(word):
    return (word * 40503 >> 6) & (SLOTS - 1)


@kernel
def index_words(bases, start, stop, strand, table):
    """Add the words of the oriented read bases[start:stop] to the table."""
    heads, following, words, _ = table
    heads[:] = 0
    word, run = np.int64(0), 0
    for q in range(stop - start):
        base = np.int64(bases[start + q]) if strand == 0 else 3 - np.int64(bases[stop - 1 - q])
        run = run + 1 if 0 <= base <= 3 else 0
        word = ((word << 2) | (base & 3)) & WORD_MASK
        if run < WORD:
            continue
        slot, copies = slot_of(word), 0
        other = heads[slot]
        while other > 0:
            copies += words[other - 1] == word
            other = following[other - 1]
        if copies < MAX_COPIES:
            first = q - WORD + 1
            words[first], following[first] = word, heads[slot]
            heads[slot] = first + 1


@kernel
def count_words(packed, start, stop, length, table):
    """Count word matches of reference [start, stop) by diagonal: counts[window position - query position + length]."""
    heads, following, words, counts = table
    counts[: stop - start + length] = 0
    word, run = np.int64(0), 0
    for position in range(start, stop):
        base = np.int64(base_at(packed[position >> 1], position))
        run = run + 1 if base <= 3 else 0
        word = ((word << 2) | (base & 3)) & WORD_MASK
        if run < WORD:
            continue
        other = heads[slot_of(word)]
        while other > 0:
            if words[other - 1] == word:
                counts[position - WORD + 1 - start - (other - 1) + length] += 1
            other = following[other - 1]


@kernel
def promising_diagonals(counts, size):
    """Return the first and last diagonal of the bands with half the matches of the best or more, and the best one.

    -1, -1, -1 if no band has enough matches.
    """
    highest, held = 0, 0
    for i in range(size):
        held += counts[i] - (counts[i - BAND] if i >= BAND else 0)
        highest = max(highest, held)
    if highest < MIN_WORDS:
        return -1, -1, -1
    first, last = size, -1
    best = held = 0
    for i in range(size):
        held += counts[i] - (counts[i - BAND] if i >= BAND else 0)
        if 2 * held >= highest:
            first, last = min(first, max(0, i - BAND + 1)), i
        if counts[i] > counts[best]:
            best = i
    return first, last, best


@kernel
def search_for(mate, reads, rules):
    """Return (the read beside which a mate is searched for, the lengths of both, the limits of their distance)."""
    r, offsets = mate + 1 if reads.segment[mate] == FIRST else mate - 1, reads.read_offsets
    model = model_of(rules.limits, reads.read_group[mate])
    lengths = offsets[r + 1] - offsets[r], offsets[mate + 1] - offsets[mate]
    return r, lengths, (rules.limits.low[model], rules.limits.high[model])


@kernel
def next_alone(a, mate, search, places, contig_offsets, match, min_score):
    """Return the next good candidate of a read, from `a` on, whose mate has no good concordant one, or the last's next.

    search: of the mate; min_score: for a good candidate of the read.
    """
    r, lengths, (low, high) = search
    good, last = 3 * lengths[1] * match // 5, places.offsets[r + 1]
    while a < last:
        if places.status[a] <= UNGAPPED and places.score[a] >= min_score:
            alone = True
            for b in range(places.offsets[mate], places.offsets[mate + 1]):
                if places.strand[a] == places.strand[b] or places.status[b] > UNGAPPED or places.score[b] < good:
                    continue
                d = outer_distance(places.strand[a], places.v[a], lengths[0], places.v[b], lengths[1])
                if low <= d <= high:
                    contig = contig_of(contig_offsets, places.stop[a] - 1)
                    if contig_of(contig_offsets, places.stop[b] - 1) == contig:
                        alone = False
                        break
            if alone:
                return a
        a += 1
    return last


@kernel
def mate_window(strand, v, length, mate_length, low, high, contig_start, contig_stop):
    """Return the window where the mate of a read may be, clipped to the contig."""
    if strand == 0:
        start, stop = v + low - mate_length, v + high
    else:
        start, stop = v + length - high, v + length - low + mate_length
    start = max(start, contig_start)
    return start, min(stop, contig_stop, start + MAX_WINDOW)


@kernel
def is_known(diagonal, mate, strand, places, out, made):
    """Return whether the place is already a candidate of `mate` or one of its windows."""
    for b in range(places.offsets[mate], places.offsets[mate + 1]):
        if places.strand[b] == strand and places.v[b] == diagonal:
            return True
    for w in range(out.candidate_offsets[mate], made):
        if out.strand[w] == strand and out.diagonal[w] == diagonal:
            return True
    return False


@kernel
def min_anchor_score(r, places, rules):
    """Return the minimum score of a candidate of read r for a mate search near it."""
    best = 0
    for a in range(places.offsets[r], places.offsets[r + 1]):
        if places.status[a] <= UNGAPPED:
            best = max(best, places.score[a])
    return max(rules.min_score, best - rules.unpaired_penalty)


@scalar
def first_alone(mate, reads, places, contig_offsets, rules):
    """Return the first good candidate of the other read near which to search for a mate, or -1."""
    search = search_for(mate, reads, rules)
    first, last = places.offsets[search[0]], places.offsets[search[0] + 1]
    min_score = min_anchor_score(search[0], places, rules)
    a = next_alone(first, mate, search, places, contig_offsets, rules.match, min_score)
    return np.int64(a if a < last else -1)


@each_row
def seek(mate, reads, settled, places, contig_offsets, rules, sought):
    """Write the segment of a read to search for near its mate, which has one, else UNPAIRED.

    Other places do not matter for a settled read if all its places are known.
    """
    number = places.offsets[mate + 1] - places.offsets[mate]
    length = reads.read_offsets[mate + 1] - reads.read_offsets[mate]
    sought[mate] = UNPAIRED
    if reads.segment[mate] == UNPAIRED or not WORD <= length <= MAX_READ_LENGTH:
        return
    if rules.trusts_settled and settled[mate] and number < rules.max_candidates:
        return
    if first_alone(mate, reads, places, contig_offsets, rules) >= 0:
        sought[mate] = reads.segment[mate]


@scalar
def room_of_places(row, rows, places):
    return places.offsets[rows[row] + 1] - places.offsets[rows[row]]


@ragged_rows(Places, room_of_places, is_exact=True)
def list_places(row, at, rows, places, out):
    """List the places of these reads."""
    for place in range(places.offsets[rows[row]], places.offsets[rows[row] + 1]):
        out.strand[at], out.v[at] = places.strand[place], places.v[place]
        out.stop[at], out.score[at] = places.stop[place], places.score[place]
        out.query_start[at], out.query_stop[at] = places.query_start[place], places.query_stop[place]
        out.status[at] = places.status[place]
        at += 1
    return at


@kernel
def rescue_mate(a, mate, reads, places, genome, rules, table, out):
    """Write windows in which to search for `mate`, near the other's good candidates from the lone `a` on, to `out`.

    Return the number of rows so far.
    """
    read_offsets, contig_offsets = reads.read_offsets, genome.contig_offsets
    made, search = out.candidate_offsets[mate], search_for(mate, reads, rules)
    r, (length, mate_length), (low, high) = search
    last, min_score = places.offsets[r + 1], min_anchor_score(r, places, rules)
    indexed, searched = -1, 0
    while a < last and searched < rules.max_rescues:
        contig = contig_of(contig_offsets, places.stop[a] - 1)
        strand, v = places.strand[a], places.v[a]
        contig_start, contig_stop = contig_offsets[contig], contig_offsets[contig + 1]
        start, stop = mate_window(strand, v, length, mate_length, low, high, contig_start, contig_stop)
        a = next_alone(a + 1, mate, search, places, contig_offsets, rules.match, min_score)
        if stop - start < WORD:
            continue
        strand = 1 - strand
        if indexed != strand:
            index_words(reads.bases, read_offsets[mate], read_offsets[mate + 1], strand, table)
            indexed = strand
        count_words(genome.packed, start, stop, mate_length, table)
        head, tail, best = promising_diagonals(table.counts, stop - start + mate_length)
        diagonal = start + best - mate_length
        if head >= 0 and not is_known(diagonal, mate, strand, places, out, made):
            window = start + head - mate_length - rules.padding, start + tail + rules.padding
            made = put_window(out, made, (mate, strand, diagonal), window, contig, contig_offsets, (0, 0), (0, 0))
        searched += 1
    return made


@kernel
def rescue(reads, sought, places, genome, rules, out):
    """Write the rescue windows of the reads that are `sought` to `out`; return their number."""
    slots, counts = np.zeros(SLOTS, np.int16), np.zeros(MAX_WINDOW + MAX_READ_LENGTH, np.int16)
    table = WordTable(slots, np.zeros(MAX_READ_LENGTH, np.int16), np.zeros(MAX_READ_LENGTH, np.int32), counts)
    made = out.candidate_offsets[0] = 0
    for mate in range(reads.segment.size):
        if sought[mate] != UNPAIRED:
            a = first_alone(mate, reads, places, genome.contig_offsets, rules)
            made = rescue_mate(a, mate, reads, places, genome, rules, table, out)
        out.candidate_offsets[mate + 1] = made
    return made


def plan_rescue(
    reads: ReadBatch,
    settled: ndarray,
    places: Places,
    reference: Reference,
    sizes: InsertModels,
    parameters: AlignParameters,
) -> Candidates:
    """Plan windows in which to search for mates, near good candidates (`places`) of the other read that lack one.

    settled: of `Chains`. It, the reads and the places are on either side, the windows on the host.
    """
    pair, number = parameters.pair, len(reads)
    if not pair.rescue:
        return empty(Candidates, {"candidates": 0}, candidate_offsets=np.zeros(number + 1, np.int64))
    match, unpaired = parameters.scoring.match, pair.unpaired_penalty
    scores = match, parameters.records.min_score, unpaired
    counts = pair.max_rescues, pair.max_candidates, pair.window_padding
    rules = RescueRules(sizes.limits(), *scores, *counts, parameters.seed.margin * match > unpaired)
    sought = maker_beside(places.v)(number, np.uint8)
    seek(number, reads, settled, places, *to_side_of(places.v, (reference.contig_offsets, rules)), sought)
    sought = to_host(sought)
    firsts = np.concatenate((np.flatnonzero(sought == FIRST), np.flatnonzero(sought == LAST) - 1))
    rows = np.repeat(np.unique(firsts), 2)
    rows[1::2] += 1
    out = empty(Candidates, {"reads": rows.size, "candidates": rows.size * pair.max_rescues})
    some, near = bring_reads(reads, rows), to_host(list_places(rows.size, to_side_of(places.v, rows), places))
    out = take(out, "candidates", slice(rescue(some, sought[rows], near, Genome.of(reference), rules, out)))
    made = np.zeros(number, np.int64)
    made[rows] = np.diff(out.candidate_offsets)
    return replace(out, read=rows[out.read].astype(np.int32), candidate_offsets=offsets_of(made))
