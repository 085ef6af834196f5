"""Compiled loops that find the molecules of sorted records with signatures; the rules are in `molecules`."""

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments.duplicate_kernels import (
    COMPANION,
    EXAMINED,
    KIND,
    LEFTMOST,
    LIBRARY,
    MATE_CONTIG,
    MATE_PLACE,
    ORIENTATION,
    PAIR,
    PLACE,
    SINGLE,
    SKIP,
    STRAND,
    hash_words,
    pair_wins,
    single_wins,
    word_at,
)
from readwarp.formats.alignments.layout import CONTIG, FLAG, TEXT, int32_at, tag_of, uint16_at
from readwarp.formats.alignments.umi_cluster_kernels import mix, same_letters
from readwarp.formats.common.text import put_copy
from readwarp.rules.flags import FIRST, LAST

R, X, N, MINUS = b"RXN-"


@scalar
def strand_of(data, at):
    """Return the strand of a record's molecule: 0 if the first mate is the leftmost (or reads forward), else 1."""
    kind, flag = word_at(data, at, KIND), uint16_at(data, at + SKIP + FLAG)
    if kind & PAIR:
        return np.uint8((flag & FIRST != 0) != (kind & LEFTMOST != 0))
    is_last = flag & (FIRST if kind & COMPANION else LAST) != 0
    return np.uint8(is_last != (kind & STRAND != 0))


@kernel
def find_bad_umi(records, is_duplex):
    """See `molecules.find_bad_umi`."""
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
    """Write where each record that may have a molecule has its UMI, and its length, to starts and sizes; and its
    strand.

    UMIs with N, and missing ones, have no letters.
    """
    data, offsets = records.data, records.offsets
    for i in range(starts.size):
        at, sizes[i], strands[i] = offsets[i], 0, 0
        if word_at(data, at, KIND) & (EXAMINED | COMPANION):
            start, stop = tag_of(data, at + SKIP, offsets[i + 1], R, X)
            is_known = start > 0 and data[start - 1] == TEXT
            for j in range(start, stop):
                is_known &= data[j] != N
            if is_known:
                starts[i], sizes[i], strands[i] = start, stop - start, strand_of(data, at)


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
def same_ends(data, a, b):
    """Return whether the signatures at a and b are of templates with the same ends, seen from the same one."""
    kind, other = word_at(data, a, KIND), word_at(data, b, KIND)
    mask = PAIR | LEFTMOST | 3 * ORIENTATION if kind & PAIR else PAIR | STRAND
    same = kind & mask == other & mask
    same &= int32_at(data, a + SKIP + CONTIG) == int32_at(data, b + SKIP + CONTIG)
    for word in (LIBRARY, PLACE, MATE_CONTIG, MATE_PLACE):
        same &= word_at(data, a, word) == word_at(data, b, word)
    return same


@scalar
def hash_of_ends(data, at):
    kind = word_at(data, at, KIND)
    kind = kind | STRAND if kind & PAIR else kind & STRAND
    return hash_words(word_at(data, at, PLACE), word_at(data, at, MATE_CONTIG), word_at(data, at, MATE_PLACE), kind)


@kernel
def group_by_ends(records, umis, is_duplex, table, first, group):
    """Write the group of each record with a UMI to `group`, else -1, and each group's first record; return the groups.

    Both strands of a duplex are one group. table: as in `duplicate_kernels.mark_pairs`.
    """
    data, offsets, mask, groups = records.data, records.offsets, table.size - 1, 0
    bounds, strands = umis.offsets, umis.strands
    for i in range(group.size):
        group[i] = -1
        if bounds[i] == bounds[i + 1]:
            continue
        at = offsets[i]
        slot = hash_of_ends(data, at) & mask
        while table[slot] >= 0:
            other = first[table[slot]]
            if same_ends(data, at, offsets[other]) and (is_duplex or strands[i] == strands[other]):
                break
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = groups
            first[groups] = i
            groups += 1
        group[i] = table[slot]
    return groups


@kernel
def mark_molecules(records, umis, node, seed, best, sizes, marks):
    """Mark all templates of each molecule and strand but the best; write the best (int64 [nodes, 2], initially -1).

    Writes the number of templates of each molecule to sizes (int64 [nodes]).
    """
    data, offsets, strands = records.data, records.offsets, umis.strands
    for i in range(node.size):
        if node[i] < 0 or word_at(data, offsets[i], KIND) & COMPANION:
            continue
        molecule, strand = seed[node[i]], strands[i]
        sizes[molecule] += 1
        old = best[molecule, strand]
        if old < 0:
            best[molecule, strand] = i
            continue
        new_at, old_at = offsets[i], offsets[old]
        is_pair = word_at(data, new_at, KIND) & PAIR != 0
        wins = pair_wins(data, new_at, old_at) if is_pair else single_wins(data, new_at, old_at)
        marks[old if wins else i] = 1
        best[molecule, strand] = i if wins else old


@scalar
def same_end(records, umis, a, b):
    """Return whether two records have the same library, 5' end, strands and UMI."""
    data, at, other = records.data, records.offsets[a], records.offsets[b]
    same = word_at(data, at, SINGLE) == word_at(data, other, SINGLE)
    same &= word_at(data, at, KIND) & STRAND == word_at(data, other, KIND) & STRAND
    same &= word_at(data, at, LIBRARY) == word_at(data, other, LIBRARY)
    same &= int32_at(data, at + SKIP + CONTIG) == int32_at(data, other + SKIP + CONTIG)
    return same and umis.strands[a] == umis.strands[b] and same_letters(umis, a, b)


@scalar
def slot_of_end(records, umis, row, mask):
    data, at, letters, offsets = records.data, records.offsets[row], umis.letters, umis.offsets
    value = np.uint64(word_at(data, at, SINGLE)) << np.uint64(1) | np.uint64(umis.strands[row])
    for i in range(offsets[row], offsets[row + 1]):
        value = mix(value ^ np.uint64(letters[i]))
    return np.int64(value & np.uint64(mask))


@kernel
def mark_singles(records, umis, table, marks):
    """Mark reads without a mapped mate at an end of a pair with the same UMI. table: as in `group_by_ends`."""
    data, offsets, bounds, mask = records.data, records.offsets, umis.offsets, table.size - 1
    for for_pairs in (True, False):
        for i in range(marks.size):
            kind = word_at(data, offsets[i], KIND)
            if bounds[i] == bounds[i + 1] or kind & EXAMINED == 0 or (kind & PAIR != 0) != for_pairs:
                continue
            slot = slot_of_end(records, umis, i, mask)
            while table[slot] >= 0 and not same_end(records, umis, i, table[slot]):
                slot = (slot + 1) & mask
            if table[slot] >= 0 and not for_pairs:
                marks[i] = 1
            elif table[slot] < 0 and for_pairs:
                table[slot] = i


@kernel
def count_families(records, best, sizes, start, stop, counts):
    """Count molecules by number of templates (int64), if their leftmost best record is in [start, stop)."""
    data, offsets = records.data, records.offsets
    for molecule in range(sizes.size):
        row = best[molecule, 0] if best[molecule, 0] >= 0 else best[molecule, 1]
        if start <= row < stop and sizes[molecule]:
            kind = word_at(data, offsets[row], KIND)
            if kind & PAIR == 0 or kind & LEFTMOST:
                counts[sizes[molecule]] += 1
