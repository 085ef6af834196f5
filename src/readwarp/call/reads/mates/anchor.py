"""Decide whether shared bases place two mates reliably: they agree, and lie in no tandem repeat (host only)."""

import numpy as np

from readwarp.call.reads.mates import MAX_UNIT, MIN_ANCHOR, MIN_DIFFERENCES, MIN_REPEAT, MISMATCH
from readwarp.compiler.jit import kernel

MIN_QUALITY, MAX_LOSS = 15, 16  # least quality of a base that can contradict; most score to lose, where a match is 1
STEPS = 1, 2, 4, 2  # shifts, MIN_REPEAT - 1 in all, that reduce a run of MIN_REPEAT bits to one
ONE = np.uint64(1)


@kernel
def is_anchor(bases, fragment, begin, end):
    """Return whether the shared bases [begin, end) are enough, and in no tandem repeat.

    fragment: its first base, stop of the forward read, stop, and the shift of the reverse one, whose bases follow.
    """
    size = end - begin
    if size < MIN_ANCHOR or is_repeat(bases, begin, end):
        return False
    for unit in range(size // 2 + 1, size):
        if bases[begin] == bases[begin + unit] and is_in_repeat(bases, fragment, begin, end, unit):
            return False
    return size > MAX_UNIT or not is_in_longer_repeat(bases, fragment, begin, end)


@kernel
def agree(reads, overlap, begin, end, shift):
    """Return whether mates agree where they overlap, [low, high), outwards from the stretch [begin, end)."""
    low, high = overlap
    return extends(reads, end, high, 1, shift) and extends(reads, begin - 1, low - 1, -1, shift)


@kernel
def extends(reads, place, stop, step, shift):
    """Return whether the score from `place` to `stop` never drops by MAX_LOSS, as it does where an alignment ends."""
    loss = 0
    while place != stop and loss < MAX_LOSS:
        if reads.bases[place] == reads.bases[place - shift]:
            loss = max(0, loss - 1)
        elif min(reads.qualities[place], reads.qualities[place - shift]) >= MIN_QUALITY:
            loss += MISMATCH
        place += step
    return loss < MAX_LOSS


@kernel
def is_repeat(bases, begin, end):
    """Return whether the bases are a tandem repeat of a unit up to half of them."""
    for unit in range(1, (end - begin) // 2 + 1):
        differences = 0
        for base in range(begin + unit, end):
            differences += bases[base] != bases[base - unit]
            if differences == MIN_DIFFERENCES:
                break
        if differences < MIN_DIFFERENCES:
            return True
    return False


@kernel
def is_in_repeat(bases, fragment, begin, end, unit):
    """Return whether the bases lie in a repeat of a unit that is shorter than they are."""
    first, own_stop, stop, shift = fragment
    low = high = begin
    while high + unit < stop and base_of(bases, high, own_stop, shift) == base_of(bases, high + unit, own_stop, shift):
        high += 1
    while low > first and bases[low - 1] == base_of(bases, low - 1 + unit, own_stop, shift):
        low -= 1
    return high >= end - unit and high - low >= MIN_REPEAT


@kernel
def is_in_longer_repeat(bases, fragment, begin, end):
    """Return whether the bases lie in a repeat of a unit of their size up to MAX_UNIT.

    Bit k of the words stands for base `left` + k and for base `right` + k: one unit further on, bit k + MAX_UNIT - unit
    of the first is bit k of the second. Any run of MIN_REPEAT bits there touches [end - unit, begin].
    """
    first, own_stop, stop, shift = fragment
    left, right = end - MIN_REPEAT - MAX_UNIT, end - MIN_REPEAT
    number = begin + MIN_REPEAT - left  # at most MAX_UNIT + 2 MIN_REPEAT - MIN_ANCHOR, which is 64
    own_high = own_low = own_known = other_high = other_low = other_known = np.uint64(0)
    for k in range(number):
        if first <= left + k < stop:
            base = np.uint64(base_of(bases, left + k, own_stop, shift))
            own_known |= ONE << np.uint64(k)
            own_high |= (base >> ONE) << np.uint64(k)
            own_low |= (base & ONE) << np.uint64(k)
        if first <= right + k < stop:
            base = np.uint64(base_of(bases, right + k, own_stop, shift))
            other_known |= ONE << np.uint64(k)
            other_high |= (base >> ONE) << np.uint64(k)
            other_low |= (base & ONE) << np.uint64(k)
    for unit in range(end - begin, MAX_UNIT + 1):
        move = np.uint64(MAX_UNIT - unit)
        same = ~((own_high >> move) ^ other_high | (own_low >> move) ^ other_low) & (own_known >> move) & other_known
        for step in STEPS:
            same &= same >> np.uint64(step)
        if same:
            return True
    return False


@kernel
def base_of(bases, place, own_stop, shift):
    return bases[place if place < own_stop else place - shift]
