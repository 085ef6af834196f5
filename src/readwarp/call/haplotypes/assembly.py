"""Haplotypes by local assembly: ways through the forks of a region's graph.

A fork is a node of the core with several edges; each of its edges has a bit, forks in topological order.
"""

import numpy as np

from readwarp.call.haplotypes import MAX_FORKS, MAX_LONGER, MAX_WAYS
from readwarp.call.haplotypes.graph import REFERENCE_ITSELF, clear, find_core, follow, sort_core, thread
from readwarp.call.haplotypes.rows import NOT_ASKED, close_row, copy
from readwarp.call.haplotypes.ways import NO_WAY, add_way, agreement
from readwarp.device.jit import kernel


@kernel
def assemble(spans, read_offsets, fragment, cut, bases, qualities, reference, trusted, sizes, graph, rows):  # fmt: skip
    """Add the ways of each region to `rows`; returns bool [g], whether some were left out.

    `spans` int64 [g, 4]: low and high of each region in `reference`, and its part without N that is assembled.
    `fragment`: each read's number among the names of its region; `cut` int64 [r, 2]: its bases; `trusted`: qualities
    of the reference's bases.
    """
    is_full = np.zeros(len(spans), np.bool_)
    most = 1
    for g in range(len(spans)):
        most = max(most, read_offsets[g + 1] - read_offsets[g])
    shown, known = np.empty(most, np.uint64), np.empty(most, np.uint64)
    forks = np.empty(MAX_FORKS, np.int64), np.empty(MAX_FORKS + 1, np.int64), np.empty(MAX_FORKS, np.int64)
    ways = np.empty(MAX_WAYS, np.uint64), np.empty(MAX_WAYS, np.int64), np.empty(MAX_WAYS, np.int64)
    for g in range(len(spans)):
        first, stop = read_offsets[g], read_offsets[g + 1]
        for k in sizes:
            if spans[g, 3] - spans[g, 2] < k + 2:
                break
            slots, sink = build(spans[g], first, stop, fragment, cut, bases, qualities, reference, trusted, k, graph)
            found = find_core(sink, graph) if sink >= 0 else 0
            if found == 0 or not sort_core(found, graph):
                continue
            number = number_forks(found, sink, graph, forks)
            is_full[g] |= number < 0
            if number < 0:
                continue
            fragments = know(
                first, stop, fragment, cut, bases, qualities, k, slots, graph, number, forks[1], shown, known
            )
            start = next_fork(np.int64(0), sink, graph, number)
            found, lost = find_ways(number, start, forks[1], forks[2], shown, known, fragments, ways)
            is_full[g] |= lost
            for w in range(found):
                if ways[2][w] != NO_WAY:
                    emit(g, spans[g], k, sink, graph, reference, ways[0][w], ways[2][w], rows)
            break
    return is_full


@kernel
def know(first, stop, fragment, cut, bases, qualities, k, slots, graph, number, bits, shown, known):
    """Which edges of forks each fragment shows, and which forks it knows so. Returns the number of fragments."""
    fragments = np.int64(0)
    for r in range(first, stop):
        fragments = max(fragments, fragment[r] + 1)
    for f in range(fragments):
        shown[f] = known[f] = 0
    if number > 0:
        for r in range(first, stop):
            shown[fragment[r]] |= follow(bases, qualities, cut[r, 0], cut[r, 1], k, slots, graph)
    for f in range(fragments):
        for fork in range(number):
            choice = choice_of(fork, bits)
            if shown[f] & choice:
                known[f] |= choice
    return fragments


@kernel
def build(span, first, stop, fragment, cut, bases, qualities, reference, trusted, k, graph):
    """Make the graph of a region; returns (slots of its table, sink), sink -1 where the reference repeats a k-mer."""
    low, high, used = span[2], span[3], graph[-1]
    most = high - low
    for r in range(first, stop):
        most += cut[r, 1] - cut[r, 0]
    slots = clear(graph, most)
    sink = thread(reference, trusted, low, high, np.int64(REFERENCE_ITSELF), k, slots, graph)
    if used[0] != high - low - k + 1:
        return slots, np.int64(-1)
    for r in range(first, stop):
        thread(bases, qualities, cut[r, 0], cut[r, 1], fragment[r], k, slots, graph)
    return slots, sink


@kernel
def number_forks(found, sink, graph, forks):
    """Number the edges of forks; returns the number of forks, -1 where they have more than MAX_FORKS edges.

    `forks`: the node of each, its first bit (one more at the end), and for each edge the fork it leads to, their
    number for the sink.
    """
    core, order, first_bit = graph[6], graph[7], graph[5]
    nodes, bits, leads = forks
    number, bit = 0, 0
    bits[0] = 0
    for i in range(found):
        node = order[i]
        degree = 0
        for base in range(4):
            degree += (core[node] >> base) & 1
        first_bit[node, 1] = -1
        if degree > 1:
            if bit + degree > MAX_FORKS:
                return -1
            nodes[number], first_bit[node, 1], first_bit[node, 2] = node, bit, number
            number, bit = number + 1, bit + degree
            bits[number] = bit
    for fork in range(number):
        bit = bits[fork]
        for base in range(4):
            if (core[nodes[fork]] >> base) & 1:
                leads[bit] = next_fork(np.int64(graph[2][nodes[fork], base]), sink, graph, number)
                bit += 1
    return number


@kernel
def next_fork(node, sink, graph, number):
    """The fork that the only way from a node leads to, or `number` for the sink."""
    following, first_bit, core = graph[2], graph[5], graph[6]
    while node != sink and first_bit[node, 1] < 0:
        for base in range(4):
            if (core[node] >> base) & 1:
                node = np.int64(following[node, base])
                break
    return number if node == sink else np.int64(first_bit[node, 2])


@kernel
def choice_of(fork, bits):
    """The bits of a fork's edges."""
    return (np.uint64(1) << np.uint64(bits[fork + 1])) - (np.uint64(1) << np.uint64(bits[fork]))


@kernel
def find_ways(number, start, bits, leads, shown, known, fragments, ways):
    """Ways from fork `start` to the sink, and their supports; returns (how many, whether some were left out)."""
    way_of, place, support = ways
    way_of[0], place[0], support[0] = 0, start, fragments
    found, is_full = np.int64(1), False
    for fork in range(start, number):
        choice = choice_of(fork, bits)
        for w in range(found):
            if place[w] != fork or support[w] < 0:
                continue
            way, least, before = way_of[w], support[w], np.uint64(0)
            for earlier in range(fork):
                taken = choice_of(earlier, bits)
                before = taken if way & taken else before
            support[w], went_on = NO_WAY, False
            for bit in range(bits[fork], bits[fork + 1]):
                on = way | (np.uint64(1) << np.uint64(bit))
                agreeing = agreement(shown, known, fragments, before, choice, on)
                if agreeing != NO_WAY and not went_on:
                    way_of[w], place[w], support[w], went_on = on, leads[bit], min(least, agreeing), True
                elif agreeing != NO_WAY:
                    found, lost = add_way(ways, found, on, leads[bit], min(least, agreeing))
                    is_full |= lost
    return found, is_full


@kernel
def emit(region, span, k, sink, graph, reference, way, support, rows):
    """Add the haplotype of a way to `rows`, unless it is longer than MAX_LONGER allows."""
    following, core, first_bit = graph[2], graph[6], graph[5]
    bases, used = rows[0], rows[-1]
    begin = used[1]
    stop = begin + span[1] - span[0] + MAX_LONGER
    place = copy(reference, span[0], span[2] + k, bases, begin)
    node = np.int64(0)
    while node != sink and place < stop:
        bit = np.int64(first_bit[node, 1])
        for base in range(4):
            if (core[node] >> base) & 1:
                if bit < 0 or (way >> np.uint64(bit)) & np.uint64(1):
                    bases[place] = base
                    node = np.int64(following[node, base])
                    place += 1
                    break
                bit += 1
    if place + span[1] - span[3] <= stop and node == sink:
        place = copy(reference, span[3], span[1], bases, place)
        close_row(rows, region, place, support, NOT_ASKED)
