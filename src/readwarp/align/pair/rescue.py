"""Where to look for a mate that seeding did not place near the other one."""

import numpy as np

from readwarp.align.pair.scalar import contig_of, outer_distance
from readwarp.batches import Candidates, InsertSizes, Origin, ReadBatch, Scores, Segment, Status
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.jit import kernel
from readwarp.index.store import Reference

FIRST, RESCUE, UNGAPPED = int(Segment.FIRST), int(Origin.RESCUE), int(Status.UNGAPPED)
WORD = 10  # bases of an exact match
WORD_MASK = (1 << 2 * WORD) - 1
SLOTS = 4096  # hash table of the mate's words
MOST_COPIES = 4  # of one word of the mate that are looked at, so that homopolymers stay cheap
BAND = 16  # diagonals that are counted together
ENOUGH_WORDS = 3  # in one band; a random window of 1000 bases and a read of 150 share 0.13 words in all
LONGEST_WINDOW = 16384


@kernel
def slot_of(word):
    return (word * 40503 >> 6) & (SLOTS - 1)


@kernel
def index_words(bases, start, stop, strand, heads, following, words):
    """Words of the oriented read -> chained hash table (heads: slot -> query position + 1; cleared by the caller)."""
    heads[:] = 0
    length, word, run = stop - start, 0, 0
    for q in range(length):
        base = np.int64(bases[start + q]) if strand == 0 else 3 - np.int64(bases[stop - 1 - q])
        run = run + 1 if 0 <= base <= 3 else 0
        word = ((word << 2) | (base & 3)) & WORD_MASK
        first = q - WORD + 1
        if first < 0:
            continue
        words[first] = -1
        if run >= WORD:
            slot, copies = slot_of(word), 0
            other = heads[slot]
            while other > 0:
                copies += words[other - 1] == word
                other = following[other - 1]
            if copies < MOST_COPIES:
                words[first], following[first] = word, heads[slot]
                heads[slot] = first + 1


@kernel
def count_words(packed, start, stop, length, heads, following, words, counts):
    """Word matches of window [start, stop) with the read by diagonal: counts[window position - query position + length]."""
    counts[: stop - start + length] = 0
    word, run = 0, 0
    for position in range(start, stop):
        base = np.int64((packed[position >> 1] >> np.uint8((position & 1) << 2)) & 15)
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
    """First and last diagonal of the bands with at least half the matches of the best band, and the best diagonal;
    -1 when no band holds enough."""
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
def usable(status, score, least):
    return status <= UNGAPPED and score >= least


@kernel
def has_mate(
    a, length_a, first, last, length_b, contig, strand, v, stop, score, status, contig_offsets, low, high, least
):
    """Whether a row first..last is a good candidate that is concordant with candidate a."""
    for b in range(first, last):
        if strand[a] == strand[b] or not usable(status[b], score[b], least):
            continue
        d = outer_distance(strand[a], v[a], length_a, strand[b], v[b], length_b)
        if low <= d <= high and contig_of(contig_offsets, stop[b] - 1) == contig:
            return True
    return False


@kernel
def mate_window(strand, v, length, mate_length, low, high, contig_start, contig_stop):
    """Where the mate of a read may lie, clipped to the contig."""
    if strand == 0:
        start, stop = v + low - mate_length, v + high
    else:
        start, stop = v + length - high, v + length - low + mate_length
    start = max(start, contig_start)
    return start, min(stop, contig_stop, start + LONGEST_WINDOW)


@kernel
def known(diagonal, mate_strand, first, last, strand, v, made_first, made, made_strand, made_diagonal):
    """Whether the place is a candidate already."""
    for b in range(first, last):
        if strand[b] == mate_strand and v[b] == diagonal:
            return True
    for m in range(made_first, made):  # noqa: SIM110
        if made_strand[m] == mate_strand and made_diagonal[m] == diagonal:
            return True
    return False


@kernel
def rescue(segment, read_offsets, bases, offsets, strand, v, aligned_stop, score, status, packed, contig_offsets, low, high,
           match, least_score, penalty, most, padding, out_offsets, read, out_strand, window_start, window_stop, diagonal):  # fmt: skip
    """Rescue windows of all reads -> out_offsets (by read) and one row each."""
    heads = np.zeros(SLOTS, np.int16)
    longest = MAX_READ_LENGTH
    following, words = np.zeros(longest, np.int16), np.zeros(longest, np.int32)
    counts = np.zeros(LONGEST_WINDOW + longest, np.int16)
    made = 0
    out_offsets[0] = 0
    for mate in range(segment.size):
        if segment[mate] == 0:
            out_offsets[mate + 1] = made
            continue
        r = mate + 1 if segment[mate] == FIRST else mate - 1  # the read whose candidates say where to look
        length, mate_length = read_offsets[r + 1] - read_offsets[r], read_offsets[mate + 1] - read_offsets[mate]
        best = 0
        for a in range(offsets[r], offsets[r + 1]):
            if status[a] <= UNGAPPED:
                best = max(best, score[a])
        least = max(least_score, best - penalty)
        indexed, looked, made_first = -1, 0, made
        for a in range(offsets[r], offsets[r + 1]):
            if looked == most or not WORD <= mate_length <= longest:
                break
            if not usable(status[a], score[a], least):
                continue
            contig = contig_of(contig_offsets, aligned_stop[a] - 1)
            if has_mate(a, length, offsets[mate], offsets[mate + 1], mate_length, contig, strand, v, aligned_stop, score, status,
                        contig_offsets, low, high, (3 * mate_length * match) // 5):  # fmt: skip
                continue
            start, stop = mate_window(
                strand[a], v[a], length, mate_length, low, high, contig_offsets[contig], contig_offsets[contig + 1]
            )
            if stop - start < WORD:
                continue
            looked += 1
            mate_strand = 1 - strand[a]
            if indexed != mate_strand:
                index_words(bases, read_offsets[mate], read_offsets[mate + 1], mate_strand, heads, following, words)
                indexed = mate_strand
            count_words(packed, start, stop, mate_length, heads, following, words, counts)
            head, tail, middle = promising_diagonals(counts, stop - start + mate_length)
            place = start + middle - mate_length
            if head < 0 or known(
                place, mate_strand, offsets[mate], offsets[mate + 1], strand, v, made_first, made, out_strand, diagonal
            ):
                continue
            read[made], out_strand[made], diagonal[made] = mate, mate_strand, place
            window_start[made] = max(contig_offsets[contig], start + head - mate_length - padding)
            window_stop[made] = min(contig_offsets[contig + 1], start + tail + padding)
            made += 1
        out_offsets[mate + 1] = made
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
    scoring, pair = parameters.scoring, parameters.pair
    room = len(reads) * pair.max_rescues
    offsets, read = np.empty(len(reads) + 1, np.int64), np.empty(room, np.int32)
    strand, window_start, window_stop, diagonal = (
        np.empty(room, np.uint8),
        *(np.empty(room, np.int64) for _ in range(3)),
    )
    made = rescue(
        reads.segment, reads.read_offsets, reads.bases, candidates.candidate_offsets, candidates.strand,
        scores.reference_stop - scores.query_stop, scores.reference_stop, scores.score, scores.status, reference.packed, reference.contig_offsets,
        sizes.low, sizes.high, scoring.match, parameters.records.min_score, pair.unpaired_penalty, pair.max_rescues,
        pair.window_padding, offsets, read, strand, window_start, window_stop, diagonal,
    )  # fmt: skip
    return Candidates(
        candidate_offsets=offsets,
        read=read[:made],
        strand=strand[:made],
        window_start=window_start[:made],
        window_stop=window_stop[:made],
        diagonal=diagonal[:made],
        chain_score=np.zeros(made, np.int32),
        query_start=np.zeros(made, np.int32),
        query_stop=np.zeros(made, np.int32),
        origin=np.full(made, RESCUE, np.uint8),
    )
