"""Compiled loops of duplicate marking; the rules are in `readwarp.formats.alignments.duplicates`."""

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.config import MAX_READ_LENGTH
from readwarp.formats.alignments import layout
from readwarp.formats.common.text import find_name, put_bytes, put_copy
from readwarp.rules import flags
from readwarp.rules.cigar import HARD_CLIP, SOFT_CLIP, run_of

KIND, LIBRARY, SINGLE, PLACE, MATE_CONTIG, MATE_PLACE, OWN_SCORE, SCORE = range(8)  # words of a signature
WORDS = 8
SKIP = 4 * WORDS  # bytes of a signature, which precedes its record
EXAMINED, PAIR, STRAND, LEFTMOST, ORIENTATION = 1, 2, 4, 8, 16  # bits of KIND, ORIENTATION and above: FF RR FR RF
COMPANION = 64  # bit of KIND: an unmapped read with its mapped mate's signature
FF, RR, FR, RF = 0, 1, 2, 3
NOT_EXAMINED = flags.NOT_PRIMARY | flags.UNMAPPED | flags.FAILED
MIN_QUALITY = 15


@scalar
def unclipped_span(data, at):
    """Return the first and last reference position (from 1) that the read covers, clipped bases included."""
    cigar, operations = layout.cigar_of(data, at)
    start = layout.int32_at(data, at + layout.POSITION) + 1
    stop, left, right = start - 1, np.int64(0), np.int64(0)
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
def library_of(data, at, stop, letters, offsets, number):
    """Return the library of the record's read group among these names, or 0."""
    start, end = layout.read_group_of(data, at, stop)
    group = find_name(data, start, end, letters, offsets) if end > start else -1
    return number[group] if group >= 0 else np.int64(0)


@kernel
def find_mates(records, mates):
    """Write the row of the mate's primary record to mates (int64), -1 none. Mates are neighbours, first before last."""
    data, offsets, first = records.data, records.offsets, -1
    for i in range(mates.size):
        mates[i] = -1
        flag = layout.uint16_at(data, offsets[i] + layout.FLAG)
        if flag & flags.NOT_PRIMARY == 0:
            if flag & flags.LAST and first >= 0:
                mates[i], mates[first] = first, i
            first = i if flag & flags.PAIRED and flag & flags.FIRST else -1


@kernel
def sign(records, mates, order, libraries, by_umi, out):
    """Write the records in this order, each after its signature, to out (Encoded, its offsets are set); return the
    reach.

    by_umi: of two mates at one place, only one is leftmost, and unmapped reads get a signature too.

    The reach is the largest distance between a record's position and a place at which it is compared.
    """
    data, offsets = records
    out_data, out_offsets = out
    (letters, name_offsets), number = libraries
    words = np.empty(WORDS, np.int64)
    reach = np.int64(0)
    for i in range(order.size):
        at, stop, to = offsets[order[i]], offsets[order[i] + 1], out_offsets[i]
        for word in range(WORDS):
            words[word] = 0
        flag = layout.uint16_at(data, at + layout.FLAG)
        if flag & NOT_EXAMINED == 0 and layout.int32_at(data, at + layout.LENGTH) <= MAX_READ_LENGTH:
            start, end = unclipped_span(data, at)
            words[KIND] = EXAMINED | (STRAND if flag & flags.REVERSE else 0)
            words[SINGLE] = end if flag & flags.REVERSE else start
            words[PLACE] = words[SINGLE]
            words[LIBRARY] = library_of(data, at, stop, letters, name_offsets, number)
            words[OWN_SCORE] = words[SCORE] = quality_score(data, at)
            if flag & flags.PAIRED and not flag & flags.MATE_UNMAPPED and mates[order[i]] >= 0:
                mate = offsets[mates[order[i]]]
                words[SCORE] += quality_score(data, mate)
                sign_pair(data, at, flag, start, end, mate, by_umi, words)
            position = layout.int32_at(data, at + layout.POSITION) + 1
            reach = max(reach, abs(words[SINGLE] - position), abs(words[PLACE] - position))
        elif by_umi and flag & flags.UNMAPPED and flag & flags.PAIRED and mates[order[i]] >= 0:
            mate = offsets[mates[order[i]]]
            sign_companion(data, mate, offsets[mates[order[i]] + 1], libraries, words)
        for word in range(WORDS):
            put_bytes(words[word], 4, out_data, to + 4 * word)
        put_copy(data, at, stop, out_data, to + SKIP)
    return reach


@scalar
def sign_companion(data, mate, stop, libraries, words):
    """Sign an unmapped read like its mate, if that is examined."""
    (letters, name_offsets), number = libraries
    flag = layout.uint16_at(data, mate + layout.FLAG)
    if flag & NOT_EXAMINED == 0 and layout.int32_at(data, mate + layout.LENGTH) <= MAX_READ_LENGTH:
        start, end = unclipped_span(data, mate)
        words[KIND] = COMPANION | (STRAND if flag & flags.REVERSE else 0)
        words[SINGLE] = words[PLACE] = end if flag & flags.REVERSE else start
        words[LIBRARY] = library_of(data, mate, stop, letters, name_offsets, number)


@scalar
def sign_pair(data, at, flag, start, end, mate, by_umi, words):
    """Sign a pair: which end is leftmost, its orientation, and the two places that identify its template."""
    mate_start, mate_end = unclipped_span(data, mate)
    contig, mate_contig = layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, mate + layout.CONTIG)
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
    words[PLACE], words[MATE_CONTIG], words[MATE_PLACE] = place, mate_contig, mate_place


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
def same_pair(data, a, b):
    """Return whether the signatures at a and b are those of one template, seen from the same end."""
    same = word_at(data, a, PLACE) == word_at(data, b, PLACE)
    same &= word_at(data, a, KIND) | STRAND == word_at(data, b, KIND) | STRAND
    same &= layout.int32_at(data, a + SKIP + layout.CONTIG) == layout.int32_at(data, b + SKIP + layout.CONTIG)
    for word in (LIBRARY, MATE_CONTIG, MATE_PLACE):
        same &= word_at(data, a, word) == word_at(data, b, word)
    return same


@scalar
def same_single(data, a, b):
    same = word_at(data, a, SINGLE) == word_at(data, b, SINGLE)
    same &= word_at(data, a, KIND) & STRAND == word_at(data, b, KIND) & STRAND
    same &= word_at(data, a, LIBRARY) == word_at(data, b, LIBRARY)
    return same and layout.int32_at(data, a + SKIP + layout.CONTIG) == layout.int32_at(data, b + SKIP + layout.CONTIG)


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


@kernel
def mark_pairs(records, marks, table):
    """Mark duplicate pairs. table: int32, a power of two, at least twice the records, all -1."""
    data, offsets, mask = records.data, records.offsets, table.size - 1
    for i in range(marks.size):
        at = offsets[i]
        if word_at(data, at, KIND) & PAIR:
            words = word_at(data, at, MATE_CONTIG), word_at(data, at, MATE_PLACE), word_at(data, at, KIND) | STRAND
            slot = hash_words(word_at(data, at, PLACE), *words) & mask
            while table[slot] >= 0 and not same_pair(data, at, offsets[table[slot]]):
                slot = (slot + 1) & mask
            old = table[slot]
            if old >= 0:
                wins = pair_wins(data, at, offsets[old])
                marks[old if wins else i] = 1
                table[slot] = i if wins else old
            else:
                table[slot] = i


@kernel
def mark_singles(records, marks, table):
    """Mark duplicates like `mark_pairs`, among reads without a mapped mate, with which ends of pairs compete."""
    data, offsets, mask = records.data, records.offsets, table.size - 1
    for i in range(marks.size):
        at = offsets[i]
        if word_at(data, at, KIND) & EXAMINED:
            contig = layout.int32_at(data, at + SKIP + layout.CONTIG)
            key = word_at(data, at, LIBRARY), word_at(data, at, KIND) & STRAND, contig
            slot = hash_words(word_at(data, at, SINGLE), *key) & mask
            while table[slot] >= 0 and not same_single(data, at, offsets[table[slot]]):
                slot = (slot + 1) & mask
            old = table[slot]
            if old < 0:
                table[slot] = i
            elif single_wins(data, at, offsets[old]):
                marks[old] = 1
                table[slot] = i
            elif word_at(data, at, KIND) & PAIR == 0:
                marks[i] = 1


@kernel
def set_flags(records, marks):
    """Set the duplicate flag of the marked records in place; return their number."""
    data, offsets, marked = records.data, records.offsets, 0
    for i in range(offsets.size - 1):
        if marks[i]:
            data[offsets[i] + SKIP + layout.FLAG + 1] |= flags.DUPLICATE >> 8
            marked += 1
    return marked
