"""Assemble haplotypes locally: find the ways through the forks of a region's graph.

A fork is a node of the core with several edges, each of which has a bit. Forks are in topological order.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.haplotypes import MAX_FORKS, MAX_LONGER
from readwarp.call.likelihoods.haplotypes.drafts import NOT_ASKED, add_draft
from readwarp.call.likelihoods.haplotypes.graph import (
    FIRST_BIT,
    FORK,
    NODES,
    REFERENCE_ITSELF,
    SINK,
    K,
    clear,
    find_core,
    follow,
    sort_core,
    thread,
)
from readwarp.call.likelihoods.haplotypes.ways import (
    NO_WAY,
    RegionReads,
    Seen,
    Ways,
    add_way,
    bit_of,
    count_agreeing,
    new_ways,
)
from readwarp.compiler.jit import kernel
from readwarp.formats.common.text import put_copy
from readwarp.ragged import empty

TRUSTED = 60  # quality of the reference's bases


class Forks(NamedTuple):
    """Forks of one graph, and space for more."""

    node: Annotated[ndarray, "int64 [forks]"]
    first_bit: Annotated[ndarray, "int64 [forks + 1]"]  # first edge of each fork
    leads_to: Annotated[ndarray, "int64 [edges]"]  # next fork; the number of forks for the sink


class GraphRoom(NamedTuple):
    """Scratch space for one graph at a time."""

    forks: Forks
    seen: Seen
    ways: Ways
    trusted: Annotated[ndarray, "uint8 [bases]"]  # qualities of the reference's bases


def room_to_assemble(groups: RegionReads, reference: ndarray) -> GraphRoom:
    return GraphRoom(
        empty(Forks, {"forks": MAX_FORKS, "edges": MAX_FORKS}),
        Seen(*np.empty((2, groups.fragment_offsets[-1]), np.uint64)),
        new_ways(),
        np.full(reference.size, TRUSTED, np.uint8),
    )


@kernel
def assemble(groups, spans, reads, reference, sizes, graph, room, drafts):
    """Add the ways through the graph of each group's reads to the drafts. sizes: the k to try, in this order."""
    for g in range(groups.region.size):
        region = groups.region[g]
        low, high = spans.known_low[region], spans.known_high[region]
        shown = room.seen.shown[groups.fragment_offsets[g] : groups.fragment_offsets[g + 1]]
        known = room.seen.known[groups.fragment_offsets[g] : groups.fragment_offsets[g + 1]]
        for turn in range(sizes.size):
            k = sizes[turn]
            if high - low < k + 2:
                break
            make_room(g, groups, high - low, k, graph)
            graph.state[SINK] = thread(reference, room.trusted, low, high, np.int64(REFERENCE_ITSELF), graph)
            if graph.state[NODES] != high - low - k + 1:
                continue  # the reference repeats a k-mer
            thread_reads(g, groups, reads, graph)
            found = find_core(graph, spans.rarest[region])
            if not sort_core(found, graph):
                continue
            number = number_forks(found, graph, room.forks)
            if number < 0:
                drafts.is_full[region] = True
                continue
            follow_fragments(g, groups, reads, number, room.forks, graph, room.seen)
            start = next_fork(np.int64(0), number, graph)
            found, is_lost = find_ways(number, start, room.forks, shown, known, spans.rarest[region], room.ways)
            drafts.is_full[region] |= is_lost
            for w in range(found):
                if room.ways.support[w] != NO_WAY:
                    spell_way(region, room.ways.bits[w], room.ways.support[w], graph, spans, reference, drafts)
            break


@kernel
def make_room(g, groups, nodes, k, graph):
    """Empty the graph, with space for that many nodes and those of the group's reads."""
    for r in range(groups.read_offsets[g], groups.read_offsets[g + 1]):
        nodes += groups.base_stop[r] - groups.base_start[r]
    clear(graph, k, nodes)


@kernel
def thread_reads(g, groups, reads, graph):
    """Add the group's reads to the graph."""
    for r in range(groups.read_offsets[g], groups.read_offsets[g + 1]):
        thread(reads.bases, reads.qualities, groups.base_start[r], groups.base_stop[r], groups.fragment[r], graph)


@kernel
def follow_fragments(g, groups, reads, number, forks, graph, seen):
    """Set the forks' edges that each fragment of a group shows, and all edges of the forks it passes."""
    qualities, shown = reads.qualities, seen.shown
    first, stop = groups.fragment_offsets[g], groups.fragment_offsets[g + 1]
    for f in range(first, stop):
        shown[f] = seen.known[f] = np.uint64(0)
    for r in range(groups.read_offsets[g], groups.read_offsets[g + 1] if number > 0 else 0):
        shown[groups.fragment[r]] |= follow(reads.bases, qualities, groups.base_start[r], groups.base_stop[r], graph)
    for f in range(first, stop):
        for fork in range(number):
            choice = choice_of(fork, forks)
            if shown[f] & choice:
                seen.known[f] |= choice


@kernel
def number_forks(found, graph, forks):
    """Assign bits to the edges of forks; return the number of forks, -1 if they have more than MAX_FORKS edges."""
    nodes, bits, leads_to = forks
    number, bit = 0, 0
    bits[0] = 0
    for i in range(found):
        node = graph.order[i]
        degree = 0
        for base in range(4):
            degree += (graph.core[node] >> base) & 1
        graph.last[node, FIRST_BIT] = -1
        if degree > 1:
            if bit + degree > MAX_FORKS:
                return -1
            nodes[number], graph.last[node, FIRST_BIT], graph.last[node, FORK] = node, bit, number
            number, bit = number + 1, bit + degree
            bits[number] = bit
    for fork in range(number):
        bit = bits[fork]
        for base in range(4):
            if (graph.core[nodes[fork]] >> base) & 1:
                leads_to[bit] = next_fork(np.int64(graph.following[nodes[fork], base]), number, graph)
                bit += 1
    return number


@kernel
def next_fork(node, number, graph):
    """Return the fork to which the only way from a node leads; `number` for the sink."""
    sink = graph.state[SINK]
    while node != sink and graph.last[node, FIRST_BIT] < 0:
        for base in range(4):
            if (graph.core[node] >> base) & 1:
                node = np.int64(graph.following[node, base])
                break
    return number if node == sink else np.int64(graph.last[node, FORK])


@kernel
def choice_of(fork, forks):
    """Return the bits of a fork's edges."""
    return bit_of(forks.first_bit[fork + 1]) - bit_of(forks.first_bit[fork])


@kernel
def find_ways(number, start, forks, shown, known, rarest, ways):
    """Fill the ways from fork `start` to the sink; return their number, and whether some were left out.

    shown, known, rarest: see `count_agreeing`.
    """
    bits, place, support = ways
    bits[0], place[0] = 0, start
    support[0] = shown.size
    found, is_full = np.int64(1), False
    for fork in range(start, number):
        choice = choice_of(fork, forks)
        for w in range(found):
            if place[w] != fork or support[w] < 0:
                continue
            way, so_far = bits[w], support[w]
            before = np.uint64(0)
            for earlier in range(fork):
                taken = choice_of(earlier, forks)
                before = taken if way & taken else before
            support[w], went_on = NO_WAY, False
            for bit in range(forks.first_bit[fork], forks.first_bit[fork + 1]):
                on, after = way | bit_of(bit), forks.leads_to[bit]
                agreeing = count_agreeing(shown, known, rarest, before, choice, on)
                if agreeing != NO_WAY and not went_on:
                    bits[w], place[w], support[w], went_on = on, after, min(so_far, agreeing), True
                elif agreeing != NO_WAY:
                    found, is_lost = add_way(ways, found, on, after, min(so_far, agreeing))
                    is_full |= is_lost
    return found, is_full


@kernel
def spell_way(region, way, support, graph, spans, reference, drafts):
    """Add the haplotype of a way to the drafts, unless it is too long."""
    low, high = spans.low[region], spans.high[region]
    k, sink = graph.state[K], graph.state[SINK]
    place = drafts.used[1]
    stop = place + high - low + MAX_LONGER
    place = put_copy(reference, low, spans.known_low[region] + k, drafts.bases, place)
    node = np.int64(0)
    while node != sink and place < stop:
        bit = np.int64(graph.last[node, FIRST_BIT])
        for base in range(4):
            if (graph.core[node] >> base) & 1:
                if bit < 0 or way & bit_of(bit):
                    drafts.bases[place] = base
                    node = np.int64(graph.following[node, base])
                    place += 1
                    break
                bit += 1
    rest = spans.known_high[region]
    if place + high - rest <= stop and node == sink:
        add_draft(drafts, region, put_copy(reference, rest, high, drafts.bases, place), support, NOT_ASKED)
