"""Bins by the rule of the SAM specification, and the same index however a file is cut."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.formats.common.bgzf import BLOCK
from readwarp.formats.common.binning import CONTIG_SHIFT, ItemSpans, bin_items, depth_for
from readwarp.formats.common.indexer import Indexer, bai_of, csi_of, join_file
from readwarp.ragged import offsets_of

CONTIGS = 4
Item = tuple[int, int, int, bool, int]  # contig, begin, bases, whether it is mapped, bytes


def spans_of(items: list[Item], at: int = 0) -> ItemSpans:
    contig, begin, span, is_mapped, size = np.array(items, np.int64).reshape(-1, 5).T
    return ItemSpans(contig, begin, begin + span, is_mapped.astype(bool), at + offsets_of(size))


def reg2bin(begin: int, end: int) -> int:
    end -= 1
    for first, shift in ((4681, 14), (585, 17), (73, 20), (9, 23), (1, 26)):
        if begin >> shift == end >> shift:
            return first + (begin >> shift)
    return 0


@given(st.lists(st.tuples(st.integers(0, (1 << 29) - 2), st.integers(1, 1 << 20)), min_size=1, max_size=20))
@settings(max_examples=50)
def test_bins(places):
    """By the rule of the SAM specification, 5.3."""
    for begin, size in places:
        size = min(size, (1 << 29) - begin)
        (found,) = bin_items(spans_of([(2, begin, size, True, 1)]), 5).chunks.bin.tolist()
        assert found == 2 << CONTIG_SHIFT | reg2bin(begin, begin + size)


@pytest.mark.parametrize(("longest", "depth"), [(1000, 5), ((1 << 29) + 1, 6), ((1 << 31) - 1, 6), (1 << 32, 7)])
def test_depths(longest, depth):
    assert depth_for(longest) == depth


@st.composite
def sorted_items(draw):
    begin = st.one_of(st.integers(-1, 40_000), st.integers((1 << 20) - 100, (1 << 20) + 100), st.integers(0, 1 << 29))
    size = st.one_of(st.integers(1, 300), st.integers(BLOCK - 50, BLOCK + 50))
    item = st.tuples(st.integers(-1, CONTIGS - 1), begin, st.integers(1, 1 << 18), st.booleans(), size)
    return sorted(draw(st.lists(item, max_size=60)), key=lambda own: (own[0] & 0xFF, own[1]))


@given(sorted_items(), st.lists(st.integers(0, 60), max_size=4), st.integers(1, 3))
@settings(max_examples=100)
def test_cuts_do_not_show(items, cuts, threads):
    def index_of(bounds: list[int]) -> tuple[bytes, bytes]:
        indexer = Indexer(lambda part, at: bin_items(spans_of(part, at), 5), 100, threads)
        for first, last in pairwise(bounds):
            part = items[first:last]
            indexer.add(part, sum(own[-1] for own in part))
        whole = join_file(indexer.finish(), 5, lambda at: at // BLOCK * 20_000 << 16 | at % BLOCK)
        return bai_of(whole, CONTIGS), csi_of(whole, CONTIGS, 5)

    assert index_of([0, len(items)]) == index_of([0, *sorted(min(cut, len(items)) for cut in cuts), len(items)])
