"""Build the de Bruijn graph of a region: k-mers in a hash table, and the sorted core of edges that stay.

The reference's first k-mer is node 0, its last the sink.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.haplotypes import MIN_FRAGMENTS
from readwarp.call.reads.usable import spells
from readwarp.compiler.jit import kernel, scalar
from readwarp.ragged import empty

REFERENCE = 1 << 30  # added to the counts of the reference's edges
NOBODY, REFERENCE_ITSELF = -2, -1  # placeholders of a fragment's number
REACHED, LEADS = 16, 32  # bits of `core`: reachable from node 0; leads to the sink
MIX = 0x9E3779B97F4A7C15
NODES, SLOTS, K, SINK = range(4)  # indices of `state`
ENTERING, FIRST_BIT, FORK = range(3)  # columns of `last`, once the edges are counted


class Graph(NamedTuple):
    """De Bruijn graph of one region, reused for the next."""

    table: Annotated[ndarray, "int32 [slots]"]  # node of a k-mer, -1 none
    keys: Annotated[ndarray, "uint64 [nodes, 2]"]  # high and low word of the k-mer, 2 bits per base: k <= 64
    following: Annotated[ndarray, "int32 [nodes, 4]"]  # next node by the base that is added, -1 none
    preceding: Annotated[ndarray, "int32 [nodes, 4]"]  # previous node by the first base of its k-mer
    counts: Annotated[ndarray, "int32 [nodes, 4]"]  # fragments on each edge, plus REFERENCE on the reference's edges
    last: Annotated[ndarray, "int32 [nodes, 4]"]  # last fragment on each edge; its columns are reused later
    core: Annotated[ndarray, "uint8 [nodes]"]  # a bit for each edge that stays; REACHED; LEADS
    order: Annotated[ndarray, "int32 [nodes]"]  # nodes of the core
    state: Annotated[ndarray, "int64 [4]"]  # nodes so far, slots of the table in use, k, the sink


def new_graph(nodes: int) -> Graph:
    """Allocate a graph of that many nodes."""
    return empty(Graph, {"nodes": nodes, "slots": 1 << max(4, int(2 * nodes - 1).bit_length())})


@scalar
def slot_of(high, low, slots):
    mixed = (low ^ (high * np.uint64(MIX))) * np.uint64(MIX)
    mixed ^= mixed >> np.uint64(29)
    return np.int64((mixed * np.uint64(MIX)) >> np.uint64(20)) & (slots - 1)


@kernel
def clear(graph, k, nodes):
    """Empty the graph, and use as much of the table as that many nodes need."""
    slots = np.int64(16)
    while slots < 2 * nodes:
        slots *= 2
    graph.table[:slots] = -1
    graph.state[NODES], graph.state[SLOTS], graph.state[K] = 0, slots, k


@kernel
def node_of(high, low, graph):
    """Return the node of a k-mer, a new one if it has none."""
    table, keys, following, preceding, counts, last, core, _, state = graph
    slots = state[SLOTS]
    slot = slot_of(high, low, slots)
    while table[slot] >= 0:
        node = np.int64(table[slot])
        if keys[node, 0] == high and keys[node, 1] == low:
            return node
        slot = (slot + 1) & (slots - 1)
    node = state[NODES]
    state[NODES] += 1
    table[slot] = node
    keys[node, 0], keys[node, 1] = high, low
    core[node] = 0
    for base in range(4):
        following[node, base] = preceding[node, base] = -1
        counts[node, base], last[node, base] = 0, NOBODY
    return node


@scalar
def masks_of(k):
    """Return the bits of a k-mer in the low and the high word."""
    low = ~np.uint64(0) >> np.uint64(64 - 2 * min(k, 32))
    return low, ((np.uint64(1) << np.uint64(2 * max(k - 32, 0))) - np.uint64(1))


@kernel
def thread(sequence, qualities, first, stop, fragment, graph):
    """Add the usable k-mers of sequence[first:stop] to the graph; return the last node, -1 for none."""
    k = graph.state[K]
    mask_low, mask_high = masks_of(k)
    high = low = np.uint64(0)
    run, node = 0, np.int64(-1)
    for i in range(first, stop):
        base = np.int64(sequence[i])
        if not spells(base, qualities[i]):
            run, node = 0, np.int64(-1)
            continue
        gone = np.int64(((high if k > 32 else low) >> np.uint64(2 * ((k - 1) & 31))) & np.uint64(3))
        high = ((high << np.uint64(2)) | (low >> np.uint64(62))) & mask_high
        low = ((low << np.uint64(2)) | np.uint64(base)) & mask_low
        run += 1
        if run < k:
            continue
        if node < 0:
            node = node_of(high, low, graph)
            continue
        after = np.int64(graph.following[node, base])
        if after < 0:
            after = node_of(high, low, graph)
            graph.following[node, base] = after
            graph.preceding[after, gone] = node
        if graph.last[node, base] != fragment:
            graph.last[node, base] = fragment
            graph.counts[node, base] += REFERENCE if fragment == REFERENCE_ITSELF else 1
        node = after
    return node


@kernel
def follow(sequence, qualities, first, stop, graph):
    """Return the bits of the fork edges on the usable k-mers of sequence[first:stop], all of which are in the graph."""
    k = graph.state[K]
    mask_low, mask_high = masks_of(k)
    high = low = shown = np.uint64(0)
    run, node = 0, np.int64(-1)
    for i in range(first, stop):
        base = np.int64(sequence[i])
        if not spells(base, qualities[i]):
            run, node = 0, np.int64(-1)
            continue
        high = ((high << np.uint64(2)) | (low >> np.uint64(62))) & mask_high
        low = ((low << np.uint64(2)) | np.uint64(base)) & mask_low
        run += 1
        if run < k:
            continue
        if node < 0:
            node = node_of(high, low, graph)
            continue
        if graph.core[node] & LEADS and (graph.core[node] >> base) & 1 and graph.last[node, FIRST_BIT] >= 0:
            bit = graph.last[node, FIRST_BIT]
            for smaller in range(base):
                bit += (graph.core[node] >> smaller) & 1
            shown |= np.uint64(1) << np.uint64(bit)
        node = np.int64(graph.following[node, base])
    return shown


@kernel
def find_core(graph, rarest):
    """Find the edges that stay, and the nodes on ways from node 0 to the sink; return their number.

    Edges stay that the reference shows, or MIN_FRAGMENTS fragments that are one in `rarest` of those leaving the node.
    """
    sink, reached = graph.state[SINK], np.uint8(REACHED)
    graph.order[0] = done = 0
    number = 1
    graph.core[0] |= reached
    while done < number:
        node = graph.order[done]
        done += 1
        leaving = 0
        for base in range(4):
            leaving += graph.counts[node, base] & (REFERENCE - 1)
        for base in range(4):
            shown, after = graph.counts[node, base], graph.following[node, base]
            if after >= 0 and shown >= MIN_FRAGMENTS and shown * rarest >= leaving:
                graph.core[node] |= np.uint8(1 << base)
                if not graph.core[after] & reached:
                    graph.core[after] |= reached
                    graph.order[number] = after
                    number += 1
    graph.order[0] = sink  # the reference leads there
    found, done = 1, 0
    graph.core[sink] |= LEADS
    while done < found:
        node = graph.order[done]
        done += 1
        added = np.int64(graph.keys[node, 1] & np.uint64(3))  # last base of its k-mer, by all edges to it
        for first in range(4):
            before = graph.preceding[node, first]
            if before >= 0 and (graph.core[before] >> added) & 1 and not graph.core[before] & LEADS:
                graph.core[before] |= LEADS
                graph.order[found] = before
                found += 1
    for i in range(found):
        node = graph.order[i]
        for base in range(4):
            if (graph.core[node] >> base) & 1 and not graph.core[graph.following[node, base]] & LEADS:
                graph.core[node] &= ~np.uint8(1 << base)
    return found


@kernel
def sort_core(number, graph):
    """Sort the `number` nodes of the core topologically, from node 0 on; return False if they have a cycle."""
    entering = graph.last[:, ENTERING]
    for i in range(number):
        entering[graph.order[i]] = 0
    for i in range(number):
        node = graph.order[i]
        for base in range(4):
            if (graph.core[node] >> base) & 1:
                entering[graph.following[node, base]] += 1
    if entering[0] > 0:
        return False
    graph.order[0] = done = 0
    placed = 1
    while done < placed:
        node = graph.order[done]
        done += 1
        for base in range(4):
            if (graph.core[node] >> base) & 1:
                after = graph.following[node, base]
                entering[after] -= 1
                if entering[after] == 0:
                    graph.order[placed] = after
                    placed += 1
    return placed == number
