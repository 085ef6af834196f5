"""Extend on CPU lanes: the ungapped answer where proven best, else dynamic programming."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.extend.scalar import LEAST_PART, may_be_best, part_around, probe_in
from readwarp.align.extend.steps import OK, UNGAPPED, Oriented, Spans, part_of
from readwarp.compiler.jit import kernel, scalar
from readwarp.compiler.simd import load_eight
from readwarp.config import MAX_READ_LENGTH
from readwarp.formats.common.reads import ReadBatch
from readwarp.pairwise.pairs import Pairs
from readwarp.pairwise.scalar import UNKNOWN_COST, gain_of_bases
from readwarp.ragged import offsets_of
from readwarp.rules.bases import NEVER, UNKNOWN, prefetch_bases, unpack_codes
from readwarp.rules.statuses import Status

AHEAD = 8  # candidates between the prefetch of their windows and their use
MAX_WINDOW = MAX_READ_LENGTH + 1024  # bases searched for a better place without dynamic programming
U0, U1, U2, U3, U4, U8 = (np.uint64(n) for n in (0, 1, 2, 3, 4, 8))
LOW, TWO, FOUR = (np.uint8(n) for n in (3, 2, 4))
TOO_LONG = int(Status.TOO_LONG)


class ExtendRoom(NamedTuple):
    """Working memory for one window."""

    codes: Annotated[ndarray, "uint8 [bases]"]
    fours: Annotated[ndarray, "uint8 [bases]"]  # see `join_fours`


def orient(reads: ReadBatch) -> Oriented:
    """Orient the reads on both strands, once per batch."""
    bases, offsets = reads.bases, reads.read_offsets
    both = np.empty(2 * bases.size, np.uint8)
    both[: bases.size] = bases
    _complement(bases, offsets, both[bases.size :])
    return Oriented(both, offsets)


def windows_of(oriented: ndarray, parts: Spans, packed: ndarray, windows: Spans) -> Pairs:
    """Pair parts of the oriented reads with whole windows of the reference."""
    begins, lengths = windows
    offsets = offsets_of(lengths)
    bases = np.empty(offsets[-1], np.uint8)
    unpack_windows(packed, begins, offsets, bases)
    return Pairs(oriented, *parts, bases, offsets[:-1], lengths)


@kernel
def _complement(bases, offsets, out):
    """Write the reverse complement of each read to its position in `out`.

    Indices are unsigned: tests for negative ones would prevent vector loops.
    """
    for read in range(offsets.size - 1):
        first, stop = np.uint64(offsets[read]), np.uint64(offsets[read + 1])
        for k in range(stop - first):
            base = bases[stop - np.uint64(1) - k]
            out[first + k] = base if base > 3 else np.uint8(3) - base


@kernel
def unpack_windows(packed, starts, offsets, out):
    """Unpack the reference from each start on into out[offsets[window] : offsets[window + 1]]."""
    for window in range(starts.size):
        first, stop = offsets[window], offsets[window + 1]
        unpack_codes(packed, starts[window], starts[window] + stop - first, out[first:stop])


@kernel
def find_mismatches(query, target, first, places):
    """Write the query positions at which query[first:] differs from the target to `places`; return their number.

    Most words of eight bases are equal.
    """
    beside = query[first : first + target.size]
    number, stop = 0, np.uint64(target.size)
    for i in range(U0, stop, U8):
        if i + U8 > stop or load_eight(beside, i) != load_eight(target, i):
            for k in range(i, min(i + U8, stop)):
                places[number] = first + k
                number += beside[k] != target[k]
    return number


@kernel
def best_segment(query, target, first, mismatches, costs):
    """Return (score, stop) of the best ungapped alignment of query[first:] with the target; ties go to the first stop.

    mismatches: positions that differ. Between two of them, a longer segment is always better.
    """
    last, length = first + target.size, query.size
    known, unknown = np.int32(costs.mismatch), np.int32(min(costs.mismatch, UNKNOWN_COST))
    running = np.int32(costs.bonus if first == 0 else 0)
    best = stop = np.int32(0)
    begin = first
    for place in mismatches:
        running += np.int32((place - begin) * costs.match)
        if place > begin and running > best:
            best, stop = running, np.int32(place)
        running -= unknown if query[place] | target[place - first] >= UNKNOWN else known
        reached = np.int32(running + (costs.bonus if place + 1 == length else 0))
        if reached > best:
            best, stop = reached, np.int32(place + 1)
        running, begin = max(running, np.int32(0)), place + 1
    if begin < last:
        running += np.int32((last - begin) * costs.match + (costs.bonus if last == length else 0))
        if running > best:
            best, stop = running, np.int32(last)
    return best, stop


@kernel
def score_without_gaps(reads, candidates, packed, costs, scores):
    """Align each read ungapped on its candidate's diagonal; status UNGAPPED if nothing else can score more."""
    window_start, window_stop = candidates.window_start, candidates.window_stop
    score, query_stop, reference_stop, status = scores
    room = ExtendRoom(np.empty(MAX_WINDOW, np.uint8), np.empty(MAX_WINDOW, np.uint8))
    places = np.empty(MAX_READ_LENGTH + 1, np.int32)
    for c in range(status.size):
        if c + AHEAD < status.size:
            prefetch_bases(packed, window_start[c + AHEAD], window_stop[c + AHEAD])
        window, diagonal = (window_start[c], window_stop[c]), candidates.diagonal[c]
        first, length = part_of(c, candidates, reads.offsets)
        score[c], query_stop[c] = 0, candidates.part_start[c]
        reference_stop[c], status[c] = window[0], OK
        if length > MAX_READ_LENGTH:
            status[c] = TOO_LONG
            continue
        query = reads.bases[first : first + length]
        low, high = max(diagonal, window[0]), min(diagonal + length, window[1])
        if low >= high:
            continue
        target, first = room.codes[: high - low], low - diagonal
        unpack_codes(packed, low, high, target)
        mismatches = places[: find_mismatches(query, target, first, places)]
        best, end = best_segment(query, target, first, mismatches, costs)
        is_whole = low == diagonal and target.size == length
        if best > 0 and (
            (is_whole and are_unknown(query, mismatches))
            or is_proven(query, best, mismatches, packed, window, costs, room)
        ):
            query_stop[c], reference_stop[c] = candidates.part_start[c] + end, diagonal + end
            status[c] = UNGAPPED
        score[c] = best


@kernel
def are_unknown(query, places):
    """Return whether the read has N at all these places."""
    i = 0
    while i < places.size and query[places[i]] == UNKNOWN:
        i += 1
    return i == places.size


@kernel
def is_proven(query, score, mismatches, packed, window, costs, room):
    """Return whether no alignment in the window beats the ungapped one with these mismatches (see `scalar`)."""
    size = window[1] - window[0]
    if score == query.size * costs.match + 2 * costs.bonus:
        return True
    if not may_be_best(score, query.size, mismatches.size, costs) or size > room.codes.size:
        return False
    codes, fours = room.codes[:size], room.fours[:size]
    unpack_codes(packed, window[0], window[1], codes)
    highest = np.uint8(0)
    for i in range(U0, np.uint64(size)):
        highest = max(highest, codes[i])
    if highest == NEVER:
        return False
    join_fours(codes, fours)
    for i in range(mismatches.size):
        if query[mismatches[i]] == UNKNOWN:
            return False
        start, stop = part_around(i, mismatches, mismatches.size, query.size)
        if stop - start < LEAST_PART:
            return False
        probe = np.uint64(probe_in(start, stop, mismatches[i]) - start)
        if occurs(query[start:stop], probe, codes, fours):
            return False
    return True


@scalar
def four_at(codes, t):
    """Pack the low two bits of four neighbouring codes into one byte, the first lowest."""
    low, high = codes[t] & LOW | (codes[t + U1] & LOW) << TWO, codes[t + U2] & LOW | (codes[t + U3] & LOW) << TWO
    return np.uint8(low | high << FOUR)


@kernel
def join_fours(codes, fours):
    """Write `four_at` of each place with four codes to `fours`."""
    for t in range(np.uint64(max(0, codes.size - 3))):
        fours[t] = four_at(codes, t)


@kernel
def occurs(part, probe, codes, fours):
    """Return whether a window holds a part of a read, of at least LEAST_PART bases, exactly.

    probe: where in the part the eight bases begin that are first compared with all places of the window (see
    `scalar.probe_in`). codes, fours: of the window (see `join_fours`).
    """
    number, least = np.uint64(max(0, codes.size - part.size + 1)), np.uint8(255)
    low, high = four_at(part, probe), four_at(part, probe + U4)
    ahead = fours[probe:]
    for t in range(number):
        least = min(least, (ahead[t] ^ low) | (ahead[t + U4] ^ high))
    if least > 0:
        return False
    for t in range(np.int64(number)):
        if ahead[t] == low and ahead[t + 4] == high:
            i = 0
            while i < part.size and part[i] == codes[t + i]:
                i += 1
            if i == part.size:
                return True
    return False


@kernel
def trace_without_gaps(reads, candidates, packed, costs, found, spans):
    """Trace the candidates with status UNGAPPED."""
    score, query_stop, reference_stop, status = found
    space, places = np.empty(MAX_READ_LENGTH, np.uint8), np.empty(MAX_READ_LENGTH + 1, np.int32)
    for c in range(status.size):
        if c + AHEAD < status.size:
            prefetch_bases(packed, reference_stop[c + AHEAD] - query_stop[c + AHEAD], reference_stop[c + AHEAD])
        if status[c] == UNGAPPED:
            begin, length = part_of(c, candidates, reads.offsets)
            query, stop = reads.bases[begin : begin + length], np.int64(query_stop[c] - candidates.part_start[c])
            first = max(0, stop - reference_stop[c])
            target = space[: stop - first]
            unpack_codes(packed, reference_stop[c] - target.size, reference_stop[c], target)
            mismatches = places[: find_mismatches(query, target, first, places)]
            spans.score[c], spans.query_start[c], spans.edit_distance[c] = walk_back(
                query, target, first, mismatches, score[c], costs
            )


@kernel
def walk_back(query, target, first, mismatches, score, costs):
    """See scalar.walk_ungapped: walk from mismatch to mismatch of query[first:] with the target, which ends with it."""
    match, stop = costs.match, first + target.size
    if score == query.size * match + 2 * costs.bonus:
        return score - np.int32(2 * costs.bonus), np.int32(0), np.int32(0)
    raw = left = np.int64(score - (costs.bonus if stop == query.size else 0))
    i, edits = stop, 0
    for k in range(mismatches.size - 1, -2, -1):
        if i < stop and left <= 0:
            break
        place = np.int64(mismatches[k]) if k >= 0 else -1
        steps = min(i - place - 1, max((left + match - 1) // match, 1))
        i, left = i - steps, left - steps * match
        if i == 0 or i > place + 1 or (steps > 0 and left <= 0):
            break
        i, left, edits = place, left - gain_of_bases(query[place], target[place - first], costs), edits + 1
    return np.int32(raw - left), np.int32(i), np.int32(edits)
