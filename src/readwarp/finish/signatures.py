"""Signatures: what tells the duplicates of a record, noted while mates are still neighbours.

A signature has 32 bytes and travels before its record.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.config import MAX_READ_LENGTH
from readwarp.device.rows import each_row, empty_beside, to_host
from readwarp.finish.order import gather
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.header import field
from readwarp.formats.common.text import Names, find_name, pack_names
from readwarp.rules import flags
from readwarp.rules.cigar import HARD_CLIP, SOFT_CLIP, run_of

KIND, LIBRARY, SINGLE, PLACE, MATE_CONTIG, MATE_PLACE, OWN_SCORE, SCORE = range(8)  # words of a signature
TEMPLATE = LIBRARY, PLACE, MATE_CONTIG, MATE_PLACE
WORDS = 8
SKIP = 4 * WORDS  # bytes of a signature, which precedes its record
EXAMINED, PAIR, STRAND, LEFTMOST, ORIENTATION = (1 << bit for bit in range(5))  # bits of KIND; ORIENTATION: two bits
COMPANION = 64  # bit of KIND: an unmapped read with its mapped mate's signature
FF, RR, FR, RF = range(4)
NOT_EXAMINED = flags.NOT_PRIMARY | flags.UNMAPPED | flags.FAILED
MIN_QUALITY = 15


class Libraries(NamedTuple):
    """Read groups and their libraries (LB). Groups without LB share a library."""

    groups: Names
    number: Annotated[ndarray, "int64 [groups]"]  # of the library

    @classmethod
    def of(cls, lines: Sequence[str]) -> "Libraries":
        """Build it from the @RG lines of a header."""
        names = [field(line, "LB") or "" for line in lines]
        order = {name: number for number, name in enumerate(dict.fromkeys(names))}
        groups = pack_names([field(line, "ID") or "" for line in lines])
        return cls(groups, np.array([order[name] for name in names], np.int64))


class Signatures(NamedTuple):
    words: Annotated[ndarray, "int32 [records, 8]"]
    reach: Annotated[ndarray, "int64 [records]"]  # bases from the record's position to where it is compared


def sign(records: Encoded, order: ndarray, libraries: Libraries, by_umi: bool = False) -> tuple[Encoded, int]:
    """Sign a batch in which mates are neighbours: its records in this order, each after its signature; and their reach.

    records, libraries: on one side. by_umi: of two mates at one place, only one is leftmost, and unmapped reads get a
    signature too.
    """
    n = len(records)
    made = empty_beside(records.data, Signatures, {"records": n})
    sign_record(n, records, libraries, by_umi, made)
    return gather(records, order, 0, made.words), int(to_host(made.reach).max(initial=0))


def table_for(records: Encoded) -> ndarray:
    """Make an empty hash table of these records: int32, a power of two, at least twice their number, all -1."""
    return np.full(1 << (2 * len(records)).bit_length(), -1, np.int32)


@scalar
def flag_of(records, row):
    return layout.uint16_at(records.data, records.offsets[row] + layout.FLAG)


@scalar
def next_primary(records, row, step):
    """Return the next primary record in a direction (1 or -1), or -1."""
    row += step
    while 0 <= row < records.offsets.size - 1 and flag_of(records, row) & flags.NOT_PRIMARY:
        row += step
    return row if row < records.offsets.size - 1 else -1


@scalar
def mate_of(records, row):
    """Return the row of the mate's primary record, or -1. Mates are neighbours, first before last."""
    flag, first = flag_of(records, row), flags.PAIRED | flags.FIRST
    if flag & flags.NOT_PRIMARY:
        return -1
    if flag & first == first:
        mate = next_primary(records, row, 1)
        if mate >= 0 and flag_of(records, mate) & flags.LAST:
            return mate
    mate = next_primary(records, row, -1) if flag & flags.LAST else -1
    return mate if mate >= 0 and flag_of(records, mate) & first == first else -1


@each_row
def sign_record(row, records, libraries, by_umi, out):
    """Sign a record: see `sign`."""
    data, offsets = records
    at, stop, words, other = offsets[row], offsets[row + 1], out.words[row], mate_of(records, row)
    mate, flag = offsets[max(other, 0)], flag_of(records, row)
    for word in range(WORDS):
        words[word] = 0
    out.reach[row] = 0
    if is_examined(data, at):
        sign_end(data, at, stop, EXAMINED, libraries, words)
        words[OWN_SCORE] = words[SCORE] = quality_score(data, at)
        if flag & flags.PAIRED and not flag & flags.MATE_UNMAPPED and other >= 0:
            words[SCORE] += quality_score(data, mate)
            sign_pair(data, at, mate, by_umi, words)
        position = layout.int32_at(data, at + layout.POSITION) + 1
        out.reach[row] = max(abs(words[SINGLE] - position), abs(words[PLACE] - position))
    elif by_umi and flag & flags.UNMAPPED and flag & flags.PAIRED and other >= 0 and is_examined(data, mate):
        sign_end(data, mate, offsets[other + 1], COMPANION, libraries, words)


@scalar
def is_examined(data, at):
    """Return whether the record can be a duplicate."""
    is_short = layout.int32_at(data, at + layout.LENGTH) <= MAX_READ_LENGTH
    return is_short and layout.uint16_at(data, at + layout.FLAG) & NOT_EXAMINED == 0


@scalar
def sign_end(data, at, stop, kind, libraries, words):
    """Sign the 5' end of the record [at, stop)."""
    reverse = layout.uint16_at(data, at + layout.FLAG) & flags.REVERSE != 0
    start, end = unclipped_span(data, at)
    words[KIND] = kind | (STRAND if reverse else 0)
    words[SINGLE] = words[PLACE] = end if reverse else start
    words[LIBRARY] = library_of(data, at, stop, libraries)


@scalar
def sign_pair(data, at, mate, by_umi, words):
    """Sign a pair: which end is leftmost, its orientation, and the two places that identify its template."""
    start, end = unclipped_span(data, at)
    mate_start, mate_end = unclipped_span(data, mate)
    contig, mate_contig = layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, mate + layout.CONTIG)
    flag = layout.uint16_at(data, at + layout.FLAG)
    reverse, mate_reverse = flag & flags.REVERSE != 0, layout.uint16_at(data, mate + layout.FLAG) & flags.REVERSE != 0
    same = reverse == mate_reverse
    if contig != mate_contig:
        leftmost = contig < mate_contig
    else:
        own = end if reverse else start
        other = mate_end if mate_reverse else mate_start
        leftmost = own <= other
        if by_umi and own == other:
            leftmost = flag & flags.FIRST != 0 if same else not reverse
    if same:
        forward_first = reverse != (flag & flags.FIRST != 0)
        orientation = FF if forward_first == leftmost else RR
        place, mate_place = (start, mate_end) if leftmost else (end, mate_start)
    else:
        orientation = FR if reverse != leftmost else RF
        place, mate_place = (end, mate_start) if reverse else (start, mate_end)
    words[KIND] |= PAIR | (LEFTMOST if leftmost else 0) | orientation * ORIENTATION
    words[PLACE] = place
    words[MATE_CONTIG], words[MATE_PLACE] = mate_contig, mate_place


@scalar
def unclipped_span(data, at):
    """Return the first and last reference position (from 1) that the read covers, clipped bases included."""
    cigar, operations = layout.cigar_of(data, at)
    start = layout.int32_at(data, at + layout.POSITION) + 1
    stop = start - 1
    left = right = np.int64(0)
    for i in range(operations):
        operation, length, on_reference, _ = run_of(layout.uint32_at(data, cigar + 4 * i))
        if operation == SOFT_CLIP or operation == HARD_CLIP:
            right += length
            if stop == start - 1:
                left += length
        else:
            right = np.int64(0)
            stop += on_reference
    return start - left, stop + right


@scalar
def quality_score(data, at):
    """Sum the base qualities of at least MIN_QUALITY."""
    start, stop = layout.qualities_of(data, at)
    qualities, score = data[start:stop], np.int64(0)
    for i in range(qualities.size):
        score += qualities[i] if qualities[i] >= MIN_QUALITY else 0
    return score


@scalar
def library_of(data, at, stop, libraries):
    """Return the library of the record's read group, or 0."""
    letters, offsets = libraries.groups
    start, end = layout.read_group_of(data, at, stop)
    group = find_name(data, start, end, letters, offsets) if end > start else -1
    return libraries.number[group] if group >= 0 else np.int64(0)


@scalar
def word_at(data, at, word):
    return layout.int32_at(data, at + 4 * word)


@scalar
def hash_words(a, b, c, d):
    value = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(b)
    value = (value ^ (value >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) ^ np.uint64(c)
    value = (value ^ (value >> np.uint64(32))) * np.uint64(0x94D049BB133111EB) ^ np.uint64(d)
    value = (value ^ (value >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(value >> np.uint64(33))


@scalar
def same_words(data, a, b, words):
    """Return whether two records lie on one contig and these words of their signatures agree."""
    same = layout.int32_at(data, a + SKIP + layout.CONTIG) == layout.int32_at(data, b + SKIP + layout.CONTIG)
    for word in words:
        same &= word_at(data, a, word) == word_at(data, b, word)
    return same


@scalar
def same_end(data, a, b):
    """Return whether the signatures at a and b have the same 5' end and strand."""
    same = word_at(data, a, KIND) & STRAND == word_at(data, b, KIND) & STRAND
    return same and same_words(data, a, b, (LIBRARY, SINGLE))


@scalar
def hash_end(data, at):
    contig = layout.int32_at(data, at + SKIP + layout.CONTIG)
    return hash_words(word_at(data, at, SINGLE), word_at(data, at, LIBRARY), word_at(data, at, KIND) & STRAND, contig)


@scalar
def same_pair(data, a, b):
    """Return whether the signatures at a and b are those of one template, seen from the same end."""
    same = word_at(data, a, KIND) | STRAND == word_at(data, b, KIND) | STRAND
    return same and same_words(data, a, b, TEMPLATE)


@scalar
def same_ends(data, a, b):
    """Return whether the signatures at a and b are of templates with the same ends, seen from the same one."""
    kind, other = word_at(data, a, KIND), word_at(data, b, KIND)
    mask = PAIR | LEFTMOST | 3 * ORIENTATION if kind & PAIR else PAIR | STRAND
    return kind & mask == other & mask and same_words(data, a, b, TEMPLATE)


@scalar
def hash_ends(data, at):
    """Hash what `same_pair` and `same_ends` compare."""
    kind = word_at(data, at, KIND)
    kind = kind | STRAND if kind & PAIR else kind & STRAND
    return hash_words(word_at(data, at, PLACE), word_at(data, at, MATE_CONTIG), word_at(data, at, MATE_PLACE), kind)


@scalar
def pair_wins(data, new, old):
    """Return whether the pair at `new` beats the one at `old`: by higher qualities, then by the smaller name."""
    if word_at(data, new, SCORE) != word_at(data, old, SCORE):
        return word_at(data, new, SCORE) > word_at(data, old, SCORE)
    a, b = new + SKIP + layout.NAME, old + SKIP + layout.NAME
    while data[a] != 0 and data[a] == data[b]:
        a += 1
        b += 1
    return data[a] < data[b]


@scalar
def single_wins(data, new, old):
    """Return whether `new` beats `old`: pairs beat reads without a mapped mate, then qualities decide, then order."""
    if word_at(data, new, KIND) & PAIR or word_at(data, old, KIND) & PAIR:
        return word_at(data, old, KIND) & PAIR == 0
    return word_at(data, new, OWN_SCORE) > word_at(data, old, OWN_SCORE)
