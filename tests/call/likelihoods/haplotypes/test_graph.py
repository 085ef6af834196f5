"""The graph, its ways, and the ways through alleles, compared with plain Python."""

from itertools import pairwise, product

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.making import LETTERS, aligned_reads, codes, offsets, random_sequence
from readwarp.call.likelihoods.haplotypes import MAX_FORKS, MAX_WAYS, MIN_FRAGMENTS, RAREST
from readwarp.call.likelihoods.haplotypes.alleles import Alleles, combine_alleles
from readwarp.call.likelihoods.haplotypes.assembly import assemble, room_to_assemble
from readwarp.call.likelihoods.haplotypes.drafts import DraftSpans, new_drafts
from readwarp.call.likelihoods.haplotypes.graph import new_graph
from readwarp.call.likelihoods.haplotypes.ways import RegionReads, Seen, new_ways
from readwarp.ragged import replace, take


def assembled(
    reference: str, reads: list[tuple[int, str]], k: int, rarest: int = RAREST
) -> tuple[list[tuple[str, int]], bool]:
    """(haplotypes with their support, whether some were left out) of one region, by the step's kernels."""
    bases = codes("".join(read for _, read in reads))
    cuts = offsets(len(read) for _, read in reads)
    drafts = new_drafts(2 * MAX_WAYS, 2 * MAX_WAYS * (len(reference) + 300), 1)
    ends = np.array([0]), np.array([len(reference)])
    groups = RegionReads(
        region=np.zeros(1, np.int64),
        read_offsets=np.array([0, len(reads)]),
        fragment_offsets=np.array([0, max((f + 1 for f, _ in reads), default=0)]),
        read=np.arange(len(reads), dtype=np.int32),
        fragment=np.array([f for f, _ in reads], np.int64),
        base_start=cuts[:-1],
        base_stop=cuts[1:],
    )
    batch = replace(aligned_reads([]), bases=bases, qualities=np.full(bases.size, 30, np.uint8))
    graph = new_graph(bases.size + len(reference))
    spans, room = DraftSpans(*ends, *ends, *ends, np.array([rarest])), room_to_assemble(groups, codes(reference))
    assemble(groups, spans, batch, codes(reference), np.array([k]), graph, room, drafts)
    made = take(drafts, "drafts", slice(0, drafts.used[0]))
    texts = ["".join(LETTERS[b] for b in made.bases[a:z]) for a, z in pairwise(made.base_offsets)]
    return list(zip(texts, made.support.tolist(), strict=True)), bool(made.is_full[0])


def kmers(text: str, k: int) -> list[str]:
    return [text[i : i + k] for i in range(len(text) - k + 1)]


def expected(reference: str, reads: list[tuple[int, str]], k: int, rarest: int = RAREST) -> list[tuple[str, int]]:
    """The same with dictionaries of strings and recursion; [] if k is refused."""
    own = kmers(reference, k)
    if len(set(own)) < len(own) or len(reference) < k + 2:
        return []
    fragments: dict[str, set[int]] = {edge: set() for edge in kmers(reference, k + 1)}
    for f, read in reads:
        for part in read.split("N"):
            for edge in kmers(part, k + 1):
                fragments.setdefault(edge, set()).add(f)
    leaving = {node: sum(len(fragments.get(node + b, ())) for b in "ACGT") for node in {e[:-1] for e in fragments}}
    strong = [e for e, f in fragments.items() if len(f) >= MIN_FRAGMENTS and len(f) * rarest >= leaving[e[:-1]]]
    kept = {*kmers(reference, k + 1), *strong}
    ahead = reachable(own[0], kept, lambda e: (e[:-1], e[1:]))
    behind = reachable(own[-1], kept, lambda e: (e[1:], e[:-1]))
    core = {e for e in kept if e[:-1] in ahead & behind and e[1:] in ahead & behind}
    if has_cycle(core):
        return []
    following = {node: sorted(e for e in core if e[:-1] == node) for node in ahead & behind}
    forks = {node for node, edges in following.items() if len(edges) > 1}
    shown = {f: {e for e in core if e[:-1] in forks and f in fragments[e]} for f, _ in reads}

    def ways(node: str, taken: list[str], support: int):
        if node == own[-1]:
            yield taken, support
            return
        for edge in following[node]:
            least = support
            if node in forks:
                before = next((e[:-1] for e in reversed(taken) if e[:-1] in forks), None)
                least = min(support, agreeing(edge, before, [e for e in taken if e[:-1] in forks]))
            if least >= 0:
                yield from ways(edge[1:], [*taken, edge], least)

    def agreeing(edge: str, before: str | None, taken: list[str]) -> int:
        here = [own for own in shown.values() if any(e[:-1] == edge[:-1] for e in own)]
        linked = [own for own in here if before is None or any(e[:-1] == before for e in own)]
        alone = [own for own in here if {e for e in own if e[:-1] == edge[:-1]} == {edge}]
        leaving = [o for o in linked if before is None or {e for e in o if e[:-1] == before} == {taken[-1]}]
        if not linked or (alone and not (leaving and [own for own in linked if own in alone])):
            return len(alone)
        upstream = reachable(edge[:-1], core, lambda e: (e[1:], e[:-1]))
        good = sum(upto(own, upstream) == upto({*taken, edge}, {e[:-1] for e in own} & upstream) for own in linked)
        return good if good >= 1 + len(linked) // rarest else -1

    def upto(edges: set[str], nodes: set[str]) -> set[str]:
        return {e for e in edges if e[:-1] in nodes}

    found = list(ways(own[0], [], len({f for f, _ in reads})))
    return [(own[0] + "".join(edge[-1] for edge in taken), support) for taken, support in found]


def reachable(start: str, edges: set[str], ends) -> set[str]:
    seen, open_ones = {start}, [start]
    while open_ones:
        node = open_ones.pop()
        for source, target in map(ends, edges):
            if source == node and target not in seen:
                seen.add(target)
                open_ones.append(target)
    return seen


def has_cycle(edges: set[str]) -> bool:
    while edges:
        rest = {e for e in edges if any(other[:-1] == e[1:] for other in edges)}
        if rest == edges:
            return True
        edges = rest
    return False


@st.composite
def small_regions(draw):
    """A short reference and reads of a few changed copies of it, so that there are forks, cycles and repeats."""
    reference = random_sequence(draw(st.integers(20, 50)), draw(st.integers(0, 10**6)))
    copies = [reference]
    for _ in range(draw(st.integers(0, 5))):
        copy = draw(st.sampled_from(copies))
        p, size = draw(st.integers(4, len(copy) - 5)), draw(st.integers(0, 2))
        copies.append(copy[:p] + draw(st.text("ACGTN", max_size=3)) + copy[p + size :])
    reads = []
    for f in range(draw(st.sampled_from([0, 3, 8, 20, 40]))):
        copy = draw(st.sampled_from(copies))
        a = draw(st.integers(0, len(copy) // 2))
        reads.append((f, copy[a : a + draw(st.integers(10, 80))]))
        if draw(st.booleans()):
            reads.append((f, copy[draw(st.integers(0, len(copy) // 2)) :]))
    return reference, reads, draw(st.integers(4, 8)), draw(st.sampled_from((4, RAREST, 64)))


@settings(max_examples=300)
@given(small_regions())
@example(("ACGTACCAGTTGCA", [(0, "ACGTACCAGTTGCA"), (1, "ACGTACTAGTTGCA"), (2, "ACGTACTAGTTGCA")], 4, RAREST))
def test_ways_are_those_of_plain_python(region):
    reference, reads, k, rarest = region
    made, is_full = assembled(reference, reads, k, rarest)
    if not is_full:
        assert sorted(made) == sorted(expected(reference, reads, k, rarest))


def test_k_mers_of_two_words():
    """If nothing repeats, all sizes up to 63 give the same haplotypes."""
    random = np.random.default_rng(1)
    reference = "".join(random.choice(list("ACGT"), 300))
    changed = reference[:140] + "GATTACA" + reference[140:]
    reads = [(i, text) for i, text in enumerate([reference[20:280], changed[20:280]] * 2)]
    for k in (5, 16, 31, 32, 33, 47, 63):
        made, _ = assembled(reference, reads, k)
        assert sorted(made) == (
            sorted([(reference, 2), (changed, 2)]) if k > 5 else sorted(expected(reference, reads, k))
        )


def expected_ways(begins: list[int], deleted: list[int], seen: Seen, rarest: int) -> dict[int, int]:
    """Every set of alleles that does not overlap and passes the rule at each of its alleles -> support."""
    number, out, shown, known = len(begins), {}, seen.shown.tolist(), seen.known.tolist()
    used = [i for i in range(number) if any(s >> i & 1 for s in shown)]
    for bits in product((0, 1), repeat=len(used)):
        way = sum(bit << i for bit, i in zip(bits, used, strict=True))
        taken = [i for i in used if way >> i & 1]
        if any(begins[b] < begins[a] + deleted[a] for a, b in pairwise(taken)):
            continue
        support = len(shown)
        for place, i in enumerate(used):
            here = [f for f in range(len(shown)) if known[f] >> i & 1]
            linked = [f for f in here if place == 0 or known[f] >> used[place - 1] & 1]
            below = 2 << i
            good = sum((shown[f] ^ way) & known[f] % below == 0 for f in linked)
            alone = [f for f in here if (shown[f] ^ way) >> i & 1 == 0]
            leaving = [f for f in linked if place == 0 or (shown[f] ^ way) >> used[place - 1] & 1 == 0]
            if not linked or (alone and not (leaving and set(alone) & set(linked))):
                good = len(alone)
            elif good < 1 + len(linked) // rarest:
                break
            support = min(support, good)
        else:
            out[way] = support
    return out


@settings(max_examples=300)
@given(st.data())
def test_ways_through_alleles_are_those_of_plain_python(data):
    number = data.draw(st.integers(0, 5))
    begins = sorted(data.draw(st.lists(st.integers(0, 12), min_size=number, max_size=number, unique=True)))
    deleted = data.draw(st.lists(st.integers(1, 4), min_size=number, max_size=number))
    fragments = data.draw(st.lists(st.tuples(st.integers(0, 31), st.integers(0, 31)), max_size=40))
    known = [k & ((1 << number) - 1) for k, _ in fragments]
    shown = [k & s for k, (_, s) in zip(known, fragments, strict=True)]
    columns = [np.array(column, np.int64) for column in (begins, deleted, [1] * number, [0] * number, begins)]
    bits = np.uint64(1) << np.arange(number, dtype=np.uint64)
    alleles = Alleles(*columns, np.zeros(number, bool), bits, np.zeros(1, np.uint8))
    ways = new_ways()
    rarest = data.draw(st.sampled_from((4, RAREST, 64)))
    seen = Seen(np.array(shown, np.uint64), np.array(known, np.uint64))
    found, is_full = combine_alleles(0, number, alleles, *seen, rarest, ways)
    assert not is_full and number <= MAX_FORKS
    made = {int(ways.bits[w]): int(ways.support[w]) for w in range(found) if ways.support[w] >= 0}
    assert made == expected_ways(begins, deleted, seen, rarest)
