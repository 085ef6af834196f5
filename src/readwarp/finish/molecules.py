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
from readwarp.finish import signatures
from readwarp.finish.signatures import COMPANION, EXAMINED, KIND, LEFTMOST, PAIR, SINGLE, word_at
from readwarp.finish.umi_clusters import Nodes, cluster, number_umis
from readwarp.finish.umis import RecordUmis, read_umis, same_letters
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.layout import values_at
from readwarp.ragged import empty, take
from readwarp.rules.hashes import mix


class Molecules(NamedTuple):
    """The molecules of sorted records with"""

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
    group_by_ends(records, umis, is_duplex, signatures.table_for(records), first, group)
    node, table = np.empty(len(records), np.int64), signatures.table_for(records)
    nodes = empty(Nodes, {"nodes": len(records)})
    known = number_umis(records, umis, group, table, node, nodes)
    nodes = take(nodes, "nodes", slice(0, known))
    best, sizes = np.full((known, 2), -1, np.int64), np.zeros(known, np.int64)
    molecules = Molecules(umis, nodes, node, cluster(umis, nodes, table), best, sizes)
    mark_molecules(records, molecules, marks)
    mark_singles(records, umis, signatures.table_for(records), marks)
    return molecules, marks


def count_families(records: Encoded, rows: slice, molecules: Molecules) -> Counter[int]:
    """Count molecules by number of templates, each at its leftmost best record."""
    best, sizes = molecules.best, molecules.sizes
    row = np.where(best[:, 0] >= 0, best[:, 0], best[:, 1])
    own = np.flatnonzero((sizes > 0) & (row >= rows.start) & (row < rows.stop))
    kind = values_at(records.data, records.offsets[row[own]] + 4 * KIND, "<i4")
    found, counts = np.unique(sizes[own[(kind & PAIR == 0) | (kind & LEFTMOST != 0)]], return_counts=True)
    return Counter(dict(zip(found.tolist(), counts.tolist(), strict=True)))


@kernel
def group_by_ends(records, umis, is_duplex, table, first, group):
    """Write the group of each record with a UMI to `group`, else -1, and each group's first record.

    Both strands of a duplex are one group. table: see `signatures.table_for`.
    """
    data, offsets = records
    bounds, strands = umis.offsets, umis.strands
    mask, groups = table.size - 1, 0
    for i in range(group.size):
        group[i] = -1
        if bounds[i] == bounds[i + 1]:
            continue
        at = offsets[i]
        slot = signatures.hash_ends(data, at) & mask
        while table[slot] >= 0:
            other = first[table[slot]]
            if signatures.same_ends(data, at, offsets[other]) and (is_duplex or strands[i] == strands[other]):
                break
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = groups
            first[groups] = i
            groups += 1
        group[i] = table[slot]


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
        wins = signatures.pair_wins(data, new_at, old_at) if is_pair else signatures.single_wins(data, new_at, old_at)
        marks[old if wins else i] = 1
        best[molecule, strand] = i if wins else old


@kernel
def mark_singles(records, umis, table, marks):
    """Mark reads without a mapped mate at an end of a pair with the same UMI. table: see `signatures.table_for`."""
    data, offsets = records
    bounds, mask = umis.offsets, table.size - 1
    for for_pairs in (True, False):
        for i in range(marks.size):
            kind = word_at(data, offsets[i], KIND)
            if bounds[i] == bounds[i + 1] or kind & EXAMINED == 0 or (kind & PAIR != 0) != for_pairs:
                continue
            slot = slot_of_end(records, umis, i, mask)
            while table[slot] >= 0 and not same_end_and_umi(records, umis, i, table[slot]):
                slot = (slot + 1) & mask
            if table[slot] >= 0 and not for_pairs:
                marks[i] = 1
            elif table[slot] < 0 and for_pairs:
                table[slot] = i


@scalar
def same_end_and_umi(records, umis, a, b):
    """Return whether two records have the same library, 5' end, strands and UMI."""
    same = signatures.same_end(records.data, records.offsets[a], records.offsets[b])
    return same and umis.strands[a] == umis.strands[b] and same_letters(umis, a, b)


@scalar
def slot_of_end(records, umis, row, mask):
    data, at = records.data, records.offsets[row]
    value = np.uint64(word_at(data, at, SINGLE)) << np.uint64(1) | np.uint64(umis.strands[row])
    for i in range(umis.offsets[row], umis.offsets[row + 1]):
        value = mix(value ^ np.uint64(umis.letters[i]))
    return np.int64(value & np.uint64(mask))
