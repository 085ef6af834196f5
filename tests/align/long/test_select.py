"""Which chains are extended, compared with plain Python."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.align.batches import LongChains
from readwarp.align.long.select import select_chains
from readwarp.config import LongExtendParameters

K, LENGTH = 20, 3000
Chain = tuple[int, int, list[int]]  # strand, score, query positions of its anchors

CHAINS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(40, 400),
        st.lists(st.integers(0, LENGTH - K), min_size=3, max_size=8, unique=True).map(sorted),
    ),
    max_size=8,
)


def chains_of(reads: list[list[Chain]]) -> LongChains:
    chains = [chain for read in reads for chain in read]
    anchors = [s << 63 | (5000 + q) << 24 | q for s, _, queries in chains for q in queries]
    return LongChains(
        np.cumsum([0, *map(len, reads)]).astype(np.int64),
        np.cumsum([0, *(len(queries) for _, _, queries in chains)]).astype(np.int64),
        np.array(anchors, np.uint64),
        np.array([score for _, score, _ in chains], np.int32),
    )


def on_read(chain: Chain) -> set[tuple[int, int]]:
    """(start, stop) of its anchors, on the read as it was sequenced."""
    strand, _, queries = chain
    return {(q, q + K) if strand == 0 else (LENGTH - q - K, LENGTH - q) for q in queries}


def expected(chains: list[Chain], p: LongExtendParameters) -> list[int]:
    selected, parts = [], []
    for row, chain in enumerate(chains):
        mine = on_read(chain)
        start, stop = min(a for a, _ in mine), max(b for _, b in mine)
        for part in parts:
            low, high = min(a for a, _ in part["places"]), max(b for _, b in part["places"])
            shared = min(stop, high) - max(start, low)
            if part["strand"] == 0:
                here = sum(start <= a < stop for a, _ in part["places"])
            else:
                here = sum(start < b <= stop for _, b in part["places"])
            if 2 * shared >= min(stop - start, high - low) and 2 * here >= len(mine):
                if part["rivals"] < p.max_rivals and 1000 * chain[1] >= round(1000 * p.min_ratio) * part["score"]:
                    part["rivals"] += 1
                    selected.append(row)
                break
        else:
            parts.append({"strand": chain[0], "places": mine, "score": chain[1], "rivals": 0})
            selected.append(row)
    return selected


@settings(max_examples=300)
@given(st.lists(CHAINS, max_size=3), st.sampled_from([0.0, 0.5, 0.8]), st.integers(0, 3))
def test_selection_is_that_of_plain_python(reads, ratio, most):
    reads = [sorted(read, key=lambda chain: -chain[1]) for read in reads]
    p = LongExtendParameters(min_ratio=ratio, max_rivals=most)
    wanted, before = [], 0
    for read in reads:
        wanted += [before + row for row in expected(read, p)]
        before += len(read)
    found = select_chains(chains_of(reads), np.full(len(reads), LENGTH), K, p)
    assert found.tolist() == wanted


def test_what_is_inverted_within_a_chain_is_no_rival_of_it():
    around = (0, 900, [*range(0, 1000, 50), *range(2000, 2900, 50)])
    inverted = (1, 100, [LENGTH - K - q for q in range(1900, 1100, -100)])
    copy = (1, 100, [LENGTH - K - q for q in range(900, 100, -100)])
    rows = select_chains(chains_of([[around, inverted, copy]]), np.array([LENGTH]), K, LongExtendParameters())
    assert rows.tolist() == [0, 1]
