"""Clusters of the UMIs of each group, by the directional method of UMI-tools (Smith, Heger, Sudbery 2017).

A node is a UMI of a group. The code of a node is an XOR of hashes, from which the codes of its neighbours follow, the
UMIs that differ in a letter: they are looked up, and the work grows with the number of nodes, not with its square.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.finish.signatures import COMPANION, KIND, word_at
from readwarp.finish.umis import MINUS, RecordUmis, as_texts, same_letters
from readwarp.rules.hashes import mix

ACGT = np.frombuffer(b"ACGT", np.uint8)


class Nodes(NamedTuple):
    """The UMIs of the groups."""

    record: Annotated[ndarray, "int64 [nodes]"]  # the first with this UMI
    group: Annotated[ndarray, "int64 [nodes]"]
    number: Annotated[ndarray, "int64 [nodes]"]  # number of templates
    code: Annotated[ndarray, "uint64 [nodes]"]


def cluster(umis: RecordUmis, nodes: Nodes, table: ndarray) -> ndarray:
    """Return the seed of each node (int64 [nodes])."""
    seed = np.arange(nodes.group.size)
    rows = np.flatnonzero(np.bincount(nodes.group)[nodes.group] > 1) if nodes.group.size else seed
    seed[rows] = -1
    order = rows[np.lexsort((as_texts(umis, nodes.record[rows]), -nodes.number[rows], nodes.group[rows]))]
    join_neighbours(umis, nodes, order, table, seed)
    return seed


@kernel
def number_umis(records, umis, group, table, node, nodes):
    """Write the node of each record, a UMI of a group, to `node`, -1 for none; fill `nodes` (Nodes); return their
    number.

    table: see `signatures.table_for`; afterwards it finds nodes by their codes.
    """
    data, starts = records
    letters, offsets = umis.letters, umis.offsets
    record, of_group, number, code = nodes
    mask, known = table.size - 1, 0
    for i in range(group.size):
        node[i] = -1
        if group[i] < 0:
            continue
        value = mix(np.uint64(group[i]) + np.uint64(0x9E3779B97F4A7C15))
        for j in range(offsets[i], offsets[i + 1]):
            value ^= code_of(j - offsets[i], letters[j])
        slot = np.int64(value & np.uint64(mask))
        while table[slot] >= 0:
            other = table[slot]
            if code[other] == value and of_group[other] == group[i] and same_letters(umis, i, record[other]):
                break
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = known
            record[known], of_group[known] = i, group[i]
            number[known], code[known] = 0, value
            known += 1
        node[i] = table[slot]
        number[node[i]] += word_at(data, starts[i], KIND) & COMPANION == 0
    return known


@scalar
def find_neighbour(umis, nodes, table, at, place, letter):
    """Find the node whose UMI is that of node `at` with another letter at one place; -1 if there is none."""
    record, group, _, code = nodes
    letters, offsets = umis.letters, umis.offsets
    mask = np.uint64(table.size - 1)
    start, size = offsets[record[at]], offsets[record[at] + 1] - offsets[record[at]]
    value = code[at] ^ code_of(place, letters[start + place]) ^ code_of(place, letter)
    slot = np.int64(value & mask)
    while table[slot] >= 0:
        other = table[slot]
        if code[other] == value and group[other] == group[at]:
            begin = offsets[record[other]]
            same = offsets[record[other] + 1] - begin == size and letters[begin + place] == letter
            for i in range(size if same else 0):
                same &= i == place or letters[begin + i] == letters[start + i]
            if same:
                return np.int64(other)
        slot = (slot + 1) & np.int64(mask)
    return np.int64(-1)


@kernel
def join_neighbours(umis, nodes, order, table, seed):
    """Write the node from which each node's molecule grew to seed (int64; initially the node itself, or -1 in `order`).

    order: nodes of groups with several, group by group, in the order in which they become seeds.
    """
    letters, offsets = umis.letters, umis.offsets
    record, number = nodes.record, nodes.number
    queue = np.empty(order.size, np.int64)
    for i in range(order.size):
        s = order[i]
        if seed[s] >= 0:
            continue
        seed[s] = queue[0] = s
        done, waiting = 0, 1
        while done < waiting:
            at = queue[done]
            done += 1
            start = offsets[record[at]]
            for change in range(4 * (offsets[record[at] + 1] - start)):
                place, letter = change >> 2, ACGT[change & 3]
                own = letters[start + place]
                if own == letter or own == MINUS:
                    continue
                other = find_neighbour(umis, nodes, table, at, place, letter)
                if other >= 0 and seed[other] < 0 and number[at] >= 2 * number[other] - 1:
                    seed[other] = s
                    queue[waiting] = other
                    waiting += 1


@scalar
def code_of(place, letter):
    """Return a letter's part of a UMI's code, which is the XOR of all: so that a neighbour's code follows from it."""
    return mix(np.uint64(place) << np.uint64(8) | np.uint64(letter))
