"""UMIs of records with signatures, and the strands of their molecules."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.finish.signatures import COMPANION, EXAMINED, KIND, LEFTMOST, PAIR, SKIP, STRAND, word_at
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.layout import FLAG, TEXT, tag_of, uint16_at
from readwarp.formats.common.text import put_copy
from readwarp.ragged import empty, offsets_of, ranges
from readwarp.rules.flags import FIRST, LAST

R, X, N, MINUS = b"RXN-"


class RecordUmis(NamedTuple):
    """The UMI of each record; no letters if it has no usable one."""

    letters: Annotated[ndarray, "uint8 [letters]"]  # on strand 0, with - between parts
    offsets: Annotated[ndarray, "int64 [records + 1] of letters"]
    strands: Annotated[ndarray, "uint8 [records]"]  # 0: the first mate is leftmost, or reads forward


def read_umis(records: Encoded, is_duplex: bool) -> RecordUmis:
    """Read the UMIs of records; those of a duplex as on strand 0."""
    starts, sizes = np.zeros((2, len(records)), np.int64)
    strands = np.zeros(len(records), np.uint8)
    find_umis(records, starts, sizes, strands)
    umis = empty(RecordUmis, {}, offsets=offsets_of(sizes), strands=strands)
    copy_umis(records, starts, strands, is_duplex, umis.letters, umis.offsets)
    return umis


def as_texts(umis: RecordUmis, records: ndarray) -> ndarray:
    """Return the UMIs of these records as NumPy strings."""
    lengths = np.diff(umis.offsets)[records]
    longest = max(1, int(lengths.max(initial=0)))
    letters = np.zeros((records.size, longest), np.uint8)
    letters[np.arange(longest) < lengths[:, None]] = umis.letters[ranges(umis.offsets, records)]
    return letters.view(f"S{longest}").ravel()


@kernel
def find_bad_umi(records, is_duplex):
    """Find the first record (without signature) without a UMI in RX, of two equal parts for a duplex; -1 if none."""
    data, offsets = records
    for i in range(offsets.size - 1):
        start, stop = tag_of(data, offsets[i], offsets[i + 1], R, X)
        if start == 0 or data[start - 1] != TEXT or start == stop:
            return i
        dashes = 0
        for j in range(start, stop):
            dashes += data[j] == MINUS
        half = (stop - start) >> 1
        if is_duplex and (dashes != 1 or 2 * half + 1 != stop - start or data[start + half] != MINUS):
            return i
    return -1


@kernel
def find_umis(records, starts, sizes, strands):
    """Write where each record that may have a molecule has its UMI, its length, and its strand to starts, sizes and
    strands (initially 0).

    UMIs with N, and missing ones, have no letters.
    """
    data, offsets = records
    for i in range(starts.size):
        at = offsets[i]
        if word_at(data, at, KIND) & (EXAMINED | COMPANION):
            start, stop = tag_of(data, at + SKIP, offsets[i + 1], R, X)
            is_known = start > 0 and data[start - 1] == TEXT
            for j in range(start, stop):
                is_known &= data[j] != N
            if is_known:
                starts[i], sizes[i] = start, stop - start
                strands[i] = strand_of(data, at)


@kernel
def copy_umis(records, starts, strands, is_duplex, letters, offsets):
    """Copy the UMIs to letters; in a duplex, swap the equally long parts of strand 1."""
    data = records.data
    for i in range(starts.size):
        size, to = offsets[i + 1] - offsets[i], offsets[i]
        half = size >> 1
        if is_duplex and strands[i] and size and data[starts[i] + half] == MINUS:
            put_copy(data, starts[i] + half + 1, starts[i] + size, letters, to)
            letters[to + half] = MINUS
            put_copy(data, starts[i], starts[i] + half, letters, to + half + 1)
        else:
            put_copy(data, starts[i], starts[i] + size, letters, to)


@scalar
def strand_of(data, at):
    """Return the strand of a record's molecule: 0 if the first mate is the leftmost (or reads forward), else 1."""
    kind, flag = word_at(data, at, KIND), uint16_at(data, at + SKIP + FLAG)
    if kind & PAIR:
        return np.uint8((flag & FIRST != 0) != (kind & LEFTMOST != 0))
    is_last = flag & (FIRST if kind & COMPANION else LAST) != 0
    return np.uint8(is_last != (kind & STRAND != 0))


@scalar
def same_letters(umis, a, b):
    """Return whether two records have the same UMI."""
    letters, offsets = umis.letters, umis.offsets
    same = offsets[a + 1] - offsets[a] == offsets[b + 1] - offsets[b]
    for i in range(offsets[a + 1] - offsets[a] if same else 0):
        same &= letters[offsets[a] + i] == letters[offsets[b] + i]
    return same
