"""Molecules: templates that are copies of one original, told by ends and unique molecular identifiers (UMIs).

Templates with the same ends (library, contigs, places and orientation, see `duplicates`, and which mate is where) form
a group; so do reads without a mapped mate with the same library, contig, 5' place and strand. The UMIs of a group are
clustered by UMI-tools' directional method (Smith, Heger, Sudbery 2017, doi:10.1101/gr.209601.116): a UMI of n templates
joins one that differs in a letter if that has at least 2n - 1 templates; clusters grow breadth first from the most
frequent UMI, ties in alphabetical order. Each cluster is a molecule.

The unmarked template of each molecule is the one that would win among duplicates without UMIs. A read without a mapped
mate is also a duplicate of any end of a pair with the same place and exactly its UMI. With `duplex`, the strands of a
molecule, whose UMIs have swapped parts, form one group; duplicates are marked within a strand.

A UMI with an N has no molecule: neither is its template marked, nor anything as its duplicate. Records that are not
compared have none either: secondary and supplementary ones, unmapped pairs, and reads of more than MAX_READ_LENGTH.

MI names a molecule by its identity: library, places, orientation, which mate is at the leftmost end, and the UMI from
which the cluster grew. So it is unique in the file, the same on both mates, and independent of other molecules:

    0:4:10468:4:10702:FR1:ACGTTGCA      library 0, contig 4 at 10,468 to contig 4 at 10,702, first mate leftmost
    0:4:10468:4:10702:FR:ACG-TGA/B      a duplex: strand A has the first mate leftmost, B the last
    0:4:10468:F1:ACGTTGCA               a read without a mapped mate
"""

from collections import Counter
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.finish.signatures import (
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
    table_for,
    word_at,
)
from readwarp.finish.umi_clusters import Nodes, cluster, mix, number_umis
from readwarp.finish.umis import RecordUmis, read_umis, same_letters
from readwarp.formats.alignments.layout import CONTIG, int32_at
from readwarp.formats.alignments.sam import Encoded
from readwarp.ragged import empty, take


class Molecules(NamedTuple):
    """The molecules of sorted records with signatures."""

    umis: RecordUmis
    nodes: Nodes
    node: Annotated[ndarray, "int64 [records]"]  # -1 without a molecule
    seed: Annotated[ndarray, "int64 [nodes]"]  # the node from which the molecule grew, which identifies it
    best: Annotated[ndarray, "int64 [nodes, 2]"]  # for each seed and strand, the record that stays unmarked; -1: none
    sizes: Annotated[ndarray, "int64 [nodes]"]  # for each seed, the templates of the molecule


def find_molecules(records: Encoded, is_duplex: bool) -> tuple[Molecules, ndarray]:
    """Find the molecules, and which records are duplicates (uint8 [records])."""
    umis, marks = read_umis(records, is_duplex), np.zeros(len(records), np.uint8)
    group, first = np.empty((2, len(records)), np.int64)
    group_by_ends(records, umis, is_duplex, table_for(records), first, group)
    node, table = np.empty(len(records), np.int64), table_for(records)
    nodes = empty(Nodes, {"nodes": len(records)})
    known = number_umis(records, umis, group, table, node, nodes)
    nodes = take(nodes, "nodes", slice(0, known))
    best, sizes = np.full((known, 2), -1, np.int64), np.zeros(known, np.int64)
    molecules = Molecules(umis, nodes, node, cluster(umis, nodes, table), best, sizes)
    mark_molecules(records, molecules, marks)
    mark_singles(records, umis, table_for(records), marks)
    return molecules, marks


def count_families(records: Encoded, rows: slice, molecules: Molecules) -> Counter[int]:
    """Count molecules by number of templates, each at one of its records."""
    counts = np.zeros(int(molecules.sizes.max(initial=0)) + 1, np.int64)
    add_families(records, molecules, rows.start, rows.stop, counts)
    return Counter({size: int(counts[size]) for size in np.flatnonzero(counts).tolist()})


@kernel
def group_by_ends(records, umis, is_duplex, table, first, group):
    """Write the group of each record with a UMI to `group`, else -1, and each group's first record; return the groups.

    Both strands of a duplex are one group. table: see `table_for`.
    """
    data, offsets = records
    bounds, strands = umis.offsets, umis.strands
    mask, groups = table.size - 1, 0
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
def mark_molecules(records, molecules, marks):
    """Mark all templates of each molecule and strand but the best.

    Writes the best, initially -1, and the sizes, initially 0, of the molecules.
    """
    data, offsets = records
    node, best = molecules.node, molecules.best
    for i in range(node.size):
        if node[i] < 0 or word_at(data, offsets[i], KIND) & COMPANION:
            continue
        molecule, strand = molecules.seed[node[i]], molecules.umis.strands[i]
        molecules.sizes[molecule] += 1
        old = best[molecule, strand]
        if old < 0:
            best[molecule, strand] = i
            continue
        new_at, old_at = offsets[i], offsets[old]
        is_pair = word_at(data, new_at, KIND) & PAIR != 0
        wins = pair_wins(data, new_at, old_at) if is_pair else single_wins(data, new_at, old_at)
        marks[old if wins else i] = 1
        best[molecule, strand] = i if wins else old


@kernel
def mark_singles(records, umis, table, marks):
    """Mark reads without a mapped mate at an end of a pair with the same UMI. table: see `table_for`."""
    data, offsets = records
    bounds, mask = umis.offsets, table.size - 1
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


@scalar
def same_end(records, umis, a, b):
    """Return whether two records have the same library, 5' end, strands and UMI."""
    data = records.data
    at, other = records.offsets[a], records.offsets[b]
    same = word_at(data, at, SINGLE) == word_at(data, other, SINGLE)
    same &= word_at(data, at, KIND) & STRAND == word_at(data, other, KIND) & STRAND
    same &= word_at(data, at, LIBRARY) == word_at(data, other, LIBRARY)
    same &= int32_at(data, at + SKIP + CONTIG) == int32_at(data, other + SKIP + CONTIG)
    return same and umis.strands[a] == umis.strands[b] and same_letters(umis, a, b)


@scalar
def slot_of_end(records, umis, row, mask):
    data, at = records.data, records.offsets[row]
    value = np.uint64(word_at(data, at, SINGLE)) << np.uint64(1) | np.uint64(umis.strands[row])
    for i in range(umis.offsets[row], umis.offsets[row + 1]):
        value = mix(value ^ np.uint64(umis.letters[i]))
    return np.int64(value & np.uint64(mask))


@kernel
def add_families(records, molecules, start, stop, counts):
    """Count molecules by number of templates (int64), if their leftmost best record is in [start, stop)."""
    best, sizes = molecules.best, molecules.sizes
    for molecule in range(sizes.size):
        row = best[molecule, 0] if best[molecule, 0] >= 0 else best[molecule, 1]
        if start <= row < stop and sizes[molecule]:
            kind = word_at(records.data, records.offsets[row], KIND)
            if kind & PAIR == 0 or kind & LEFTMOST:
                counts[sizes[molecule]] += 1
