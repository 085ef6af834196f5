"""The de Bruijn graph of a region: its k-mers in a hash table, the edges that enough fragments show, its order.

Node n has a k-mer `keys[n]` (two words of 2 bits per base, so k <= 64), nodes `following[n, base]` and
`preceding[n, first base]`, and `count[n, base]` fragments on the edge; an edge of the reference counts REFERENCE more.
The reference's first k-mer is node 0, its last the node of its last k-mer.
"""

import numpy as np

from readwarp.call.haplotypes import MIN_FRAGMENTS, MIN_QUALITY, RAREST
from readwarp.device.jit import kernel, scalar

REFERENCE = 1 << 30
NOBODY, REFERENCE_ITSELF = -2, -1  # in place of a fragment's number
REACHED, LEADS = 16, 32  # bits of `core`: node 0 leads here, and this leads to the sink as well
MIX = 0x9E3779B97F4A7C15


def new_graph(most: int) -> tuple[np.ndarray, ...]:
    """Room for `most` nodes: table, keys, following, preceding, count, last fragment, core, order, [nodes used]."""
    slots = 1 << max(4, int(2 * most - 1).bit_length())
    return (
        np.empty(slots, np.int32),
        np.empty((most, 2), np.uint64),
        *(np.empty((most, 4), np.int32) for _ in range(4)),
        np.empty(most, np.uint8),
        np.empty(most, np.int32),
        np.zeros(1, np.int64),
    )


@scalar
def is_usable(base, quality):
    """A base of quality 0 gave way to its mate's: it adds no weight, as a fragment counts once, but joins k-mers."""
    return base < 4 and (quality >= MIN_QUALITY or quality == 0)


@scalar
def slot_of(high, low, slots):
    mixed = (low ^ (high * np.uint64(MIX))) * np.uint64(MIX)
    mixed ^= mixed >> np.uint64(29)
    return np.int64((mixed * np.uint64(MIX)) >> np.uint64(20)) & (slots - 1)


@kernel
def clear(graph, most):
    """Forget all nodes; returns how much of the table `most` nodes need."""
    table, used = graph[0], graph[-1]
    slots = np.int64(16)
    while slots < 2 * most:
        slots *= 2
    table[:slots] = -1
    used[0] = 0
    return slots


@kernel
def node_of(high, low, slots, graph):
    """The node of a k-mer, a new one where there was none."""
    table, keys, following, preceding, count, last, core, _, used = graph
    slot = slot_of(high, low, slots)
    while table[slot] >= 0:
        node = np.int64(table[slot])
        if keys[node, 0] == high and keys[node, 1] == low:
            return node
        slot = (slot + 1) & (slots - 1)
    node = used[0]
    used[0] += 1
    table[slot] = node
    keys[node, 0], keys[node, 1] = high, low
    core[node] = 0
    for base in range(4):
        following[node, base] = preceding[node, base] = -1
        count[node, base], last[node, base] = 0, NOBODY
    return node


@scalar
def masks_of(k):
    """The bits of a k-mer in the low and in the high word."""
    low = ~np.uint64(0) >> np.uint64(64 - 2 * min(k, 32))
    return low, ((np.uint64(1) << np.uint64(2 * max(k - 32, 0))) - np.uint64(1))


@kernel
def thread(sequence, qualities, first, stop, fragment, k, slots, graph):
    """Lay the usable k-mers of sequence[first:stop] into the graph; returns the last node, -1 for none."""
    following, preceding, count, last = graph[2], graph[3], graph[4], graph[5]
    mask_low, mask_high = masks_of(k)
    high, low, run, node = np.uint64(0), np.uint64(0), 0, np.int64(-1)
    for i in range(first, stop):
        base = np.int64(sequence[i])
        if not is_usable(base, qualities[i]):
            run, node = 0, np.int64(-1)
            continue
        gone = np.int64(((high if k > 32 else low) >> np.uint64(2 * ((k - 1) & 31))) & np.uint64(3))
        high = ((high << np.uint64(2)) | (low >> np.uint64(62))) & mask_high
        low = ((low << np.uint64(2)) | np.uint64(base)) & mask_low
        run += 1
        if run < k:
            continue
        if node < 0:
            node = node_of(high, low, slots, graph)
            continue
        after = np.int64(following[node, base])
        if after < 0:
            after = node_of(high, low, slots, graph)
            following[node, base] = after
            preceding[after, gone] = node
        if last[node, base] != fragment:
            last[node, base] = fragment
            count[node, base] += REFERENCE if fragment == REFERENCE_ITSELF else 1
        node = after
    return node


@kernel
def follow(sequence, qualities, first, stop, k, slots, graph):
    """The edges of forks (`last[node, 1]`: a fork's first bit) that the usable k-mers of sequence[first:stop] take."""
    following, first_bit, core = graph[2], graph[5], graph[6]
    mask_low, mask_high = masks_of(k)
    high, low, run, node, shown = np.uint64(0), np.uint64(0), 0, np.int64(-1), np.uint64(0)
    for i in range(first, stop):
        base = np.int64(sequence[i])
        if not is_usable(base, qualities[i]):
            run, node = 0, np.int64(-1)
            continue
        high = ((high << np.uint64(2)) | (low >> np.uint64(62))) & mask_high
        low = ((low << np.uint64(2)) | np.uint64(base)) & mask_low
        run += 1
        if run < k:
            continue
        if node < 0:
            node = node_of(high, low, slots, graph)
            continue
        if core[node] & LEADS and (core[node] >> base) & 1 and first_bit[node, 1] >= 0:
            bit = first_bit[node, 1]
            for smaller in range(base):
                bit += (core[node] >> smaller) & 1
            shown |= np.uint64(1) << np.uint64(bit)
        node = np.int64(following[node, base])
    return shown


@kernel
def find_core(sink, graph):
    """Bits in `core[node]`: bases whose edges are kept and lie on a way from node 0 to `sink`. Returns nodes there.

    An edge is kept where the reference shows it, or MIN_FRAGMENTS fragments that are one in RAREST of those that leave
    its node.
    """
    following, preceding, count, core, order = graph[2], graph[3], graph[4], graph[6], graph[7]
    kept = np.uint8(REACHED)
    order[0], number, done = 0, 1, 0
    core[0] |= kept
    while done < number:
        node = order[done]
        done += 1
        leaving = 0
        for base in range(4):
            leaving += count[node, base] & (REFERENCE - 1)
        for base in range(4):
            shown, after = count[node, base], following[node, base]
            if after >= 0 and shown >= MIN_FRAGMENTS and shown * RAREST >= leaving:
                core[node] |= np.uint8(1 << base)
                if not core[after] & kept:
                    core[after] |= kept
                    order[number] = after
                    number += 1
    if not core[sink] & kept:
        return 0
    order[0], found, done = sink, 1, 0
    core[sink] |= LEADS
    while done < found:
        node = order[done]
        done += 1
        for first in range(4):
            before = preceding[node, first]
            if before < 0 or not core[before] & kept or core[before] & LEADS:
                continue
            leads = False
            for base in range(4):
                leads |= following[before, base] == node and (core[before] >> base) & 1
            if leads:
                core[before] |= LEADS
                order[found] = before
                found += 1
    for i in range(found):
        node = order[i]
        for base in range(4):
            if (core[node] >> base) & 1 and not core[following[node, base]] & LEADS:
                core[node] &= ~np.uint8(1 << base)
    return found


@kernel
def sort_core(number, graph):
    """Put the `number` nodes of the core into topological order, from node 0 on; False where they have a cycle."""
    following, entering, core, order = graph[2], graph[5], graph[6], graph[7]
    for i in range(number):
        entering[order[i], 0] = 0
    for i in range(number):
        node = order[i]
        for base in range(4):
            if (core[node] >> base) & 1:
                entering[following[node, base], 0] += 1
    if entering[0, 0] > 0:
        return False
    order[0], sorted_ones, done = 0, 1, 0
    while done < sorted_ones:
        node = order[done]
        done += 1
        for base in range(4):
            if (core[node] >> base) & 1:
                after = following[node, base]
                entering[after, 0] -= 1
                if entering[after, 0] == 0:
                    order[sorted_ones] = after
                    sorted_ones += 1
    return sorted_ones == number
