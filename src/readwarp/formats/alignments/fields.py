"""Optional fields by name: which of them describe an alignment, and which have a value per base.

    written     align writes them itself
    foreign     other aligners write them
    stale       phasing, duplicate sets and base qualities derived from an alignment; TS and ts as a letter only

Fields with a value per base are in the order of SEQ and as long, as in fgbio and Picard:

    reversed        OQ U2 (SAM tags specification); cd ce, of duplex reads ad ae bd be aq bq (fgbio)
    complemented    E2; ac bc (fgbio)
"""

from collections.abc import Iterable

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.formats.alignments.layout import ARRAY, CHARACTER, TEXT, UNSIGNED, get_number, width_of
from readwarp.formats.common.text import put_bytes, put_copy

KEPT, WRITTEN, FOREIGN, STALE, TURNED, COMPLEMENTED = range(6)
NAMES = {
    WRITTEN: "NM MD AS XS SA XA MC MQ ms de pa cs",
    FOREIGN: "cm tp s1 s2 dv rl nn cg zd CG H0 H1 H2 HI IH NH CC CP PQ SM AM UQ X0 X1 XM XO XG XT XN XE XF XI YS YT YF "
    "ZS mc dt do dc RG OA nM jM jI",
    STALE: "HP PS PC TS ts BQ DT DI DS MI OC OP",
    TURNED: "OQ U2 cd ce ad ae bd be aq bq",
    COMPLEMENTED: "E2 ac bc",
}

PER_BASE = NAMES[TURNED].split() + NAMES[COMPLEMENTED].split()


def numbers_of(names: Iterable[str]) -> ndarray:
    """Convert names to the numbers of their two letters."""
    return np.array([ord(name[0]) << 8 | ord(name[1]) for name in names], np.int64)


_NUMBERS = np.concatenate([numbers_of(names.split()) for names in NAMES.values()])
_KINDS = np.repeat(list(NAMES), [len(names.split()) for names in NAMES.values()])
NUMBERS, KINDS = np.sort(_NUMBERS), _KINDS[np.argsort(_NUMBERS)]
LETTERS = np.arange(256, dtype=np.uint8)  # complement of each letter
for _one, _other in ("AT", "CG", "at", "cg"):
    LETTERS[ord(_one)], LETTERS[ord(_other)] = ord(_other), ord(_one)
STRANDS = 0x54, 0x74  # T and t, of TS and ts


@scalar
def kind_of(fields, at):
    """Return KEPT, or the kind of the field at `at`."""
    number = np.int64(fields[at]) << 8 | np.int64(fields[at + 1])
    found = np.searchsorted(NUMBERS, number)
    if found == NUMBERS.size or NUMBERS[found] != number:
        return KEPT
    if fields[at] in STRANDS and fields[at + 1] & 0xDF == 83 and fields[at + 2] != CHARACTER:
        return KEPT  # trimmed signal or template switches
    return KINDS[found]


@scalar
def is_left_out(kind, was_aligned):
    """Return whether a realigned record drops a field of its old alignment."""
    return kind == WRITTEN or kind == FOREIGN or (kind == STALE and was_aligned)


@scalar
def count_values(fields, at, stop):
    """Count the letters of a text or the elements of an array; 0 for other types."""
    if fields[at + 2] == TEXT:
        return stop - at - 4
    return get_number(fields, at + 4, UNSIGNED) if fields[at + 2] == ARRAY else np.int64(0)


@scalar
def put_turned(fields, at, stop, shown, reverse, out, to):
    """Put a field at out[to:], or, if it has a value per base, those of the bases shown; return where it ends.

    shown: first and last base, and the read's length: values beyond it are of trimmed bases. reverse: use the order of
    the other strand.
    """
    kind, (first, last, length) = kind_of(fields, at), shown
    if count_values(fields, at, stop) < max(length, 1) or (kind != TURNED and kind != COMPLEMENTED):
        return put_copy(fields, at, stop, out, to)
    is_array = fields[at + 2] == ARRAY
    value, width = (at + 8, width_of(fields[at + 3])) if is_array else (at + 3, 1)
    if first == last:
        return to
    to = put_copy(fields, at, value, out, to)
    if is_array:
        put_bytes(last - first, 4, out, to - 4)
    for i in range(last - first):
        place = value + width * (last - 1 - i if reverse else first + i)
        to = put_copy(fields, place, place + width, out, to)
        if reverse and kind == COMPLEMENTED:
            out[to - 1] = LETTERS[out[to - 1]]
    if not is_array:
        out[to] = 0
        to += 1
    return to
