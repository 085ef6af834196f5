"""Seeds of reads compared with plain Python on small references, and CPU with CUDA."""

import random
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.seeding import entries, planned, random_letters, read_batch, reverse_complement, syncmers, write_fasta
from readwarp import Index
from readwarp.align.seed.cpu import find_seeds
from readwarp.batches import ReadBatch, SeedHits, Status
from readwarp.config import MAX_READ_LENGTH, PRESETS, SeedParameters
from readwarp.device.backend import Backend
from readwarp.errors import WorkspaceFullError
from readwarp.ragged import columns_of, replace

SEEDS = {name: preset.parameters.seed for name, preset in PRESETS.items()}
RNG = random.Random(5)
UNIT, LONG = random_letters(RNG, 60), random_letters(RNG, 700)
CONTIGS = [
    LONG,
    random_letters(RNG, 80) + "".join(random_letters(RNG, 9) + UNIT for _ in range(20)),
    reverse_complement(LONG[100:300]) + "N" * 30 + LONG[400:450],
    "ACGTACG",
    (random_letters(RNG, 31) * 8)[:200] + "A" * 60 + "CA" * 40,
]


@pytest.fixture(scope="module")
def indexes(tmp_path_factory) -> dict[str, Index]:
    path = write_fasta(tmp_path_factory.mktemp("seed") / "ref.fa", CONTIGS)
    return {name: Index.build(path, p) for name, p in SEEDS.items()}


def anchors_of(hits: SeedHits, read: int) -> list[tuple[int, int, int]]:
    """(strand, reference, query) of a read's anchors."""
    mine = hits.anchors[hits.anchor_offsets[read] : hits.anchor_offsets[read + 1]]
    assert np.array_equal(mine, np.sort(mine))
    return [(int(a) >> 63, (int(a) >> 24) & ((1 << 39) - 1), int(a) & 0xFFFFFF) for a in mine]


@cache
def places_of(p: SeedParameters, bits: int) -> dict[int, list[tuple[int, int]]]:
    """(strand, position) of the entries of each bucket and tag."""
    places = defaultdict(list)
    for bucket, tag, strand, position in entries(CONTIGS, p, bits):
        places[bucket << 15 | tag].append((strand, position))
    return places


def expected(read: str, index: Index, p: SeedParameters) -> tuple[list[tuple[int, int, int]], int]:
    """Anchors and omitted seeds by the rules of the step, before weak places are left out."""
    bits = (index.bucket_starts.size - 1).bit_length() - 1
    places = places_of(index.parameters, bits)
    seeds = [(i, strand, places.get(h >> (64 - bits - 15), [])) for i, h, strand in syncmers(read, index.parameters)]

    def total(cap):
        return sum(len(found) for _, _, found in seeds if len(found) <= cap)

    def crowded(cap):
        return 5 * sum(len(found) > cap for _, _, found in seeds) > 3 * len(seeds)

    cap = p.max_hits
    if total(cap) > p.max_anchors:
        while total(cap) > p.max_anchors and cap > 1:
            cap //= 2
    elif total(10**9):
        while (total(cap) == 0 or (crowded(cap) and cap < 4 * p.max_hits)) and cap < p.rescue_hits:
            if total(cap) > p.max_anchors:
                break
            cap = min(2 * cap, p.rescue_hits if total(cap) == 0 else min(4 * p.max_hits, p.rescue_hits))
    anchors = [
        (entry ^ strand, position, i if entry == strand else len(read) - index.parameters.k - i)
        for i, strand, found in seeds
        for entry, position in found
        if len(found) <= cap
    ]
    return sorted(anchors), sum(len(found) > cap for _, _, found in seeds)


def strong(anchors: list[tuple[int, int, int]]) -> set[tuple[int, int, int]]:
    """Anchors of places (64 bases of the diagonal) with a quarter of the best place's: these are never left out."""
    if len(anchors) <= 32:
        return set(anchors)
    halves = [Counter((s, (r - q + h * 64) >> 7) for s, r, q in anchors) for h in (0, 1)]
    most = max(max(counts.values()) for counts in halves)
    return {(s, r, q) for s, r, q in anchors if 4 * max(halves[h][s, (r - q + h * 64) >> 7] for h in (0, 1)) >= most}


def some_read(draw) -> str:
    letters = draw(st.sampled_from(CONTIGS))
    start = draw(st.integers(0, len(letters) - 1))
    read = list(letters[start : start + draw(st.integers(0, 160))])
    for place in draw(st.lists(st.integers(0, 159), max_size=3)):
        if place < len(read):
            read[place] = draw(st.sampled_from("ACGTN"))
    text = "".join(read)
    return reverse_complement(text) if draw(st.booleans()) and "N" not in text else text


@pytest.mark.parametrize("preset", SEEDS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_same_as_plain_python(indexes, preset, data):
    p = SEEDS[preset]
    p = replace(p, max_hits=data.draw(st.sampled_from([1, 4, 64])), rescue_hits=data.draw(st.sampled_from([4, 1024])))
    p = replace(p, max_anchors=data.draw(st.sampled_from([5, 100, 2048])))
    reads = [some_read(data.draw) for _ in range(data.draw(st.integers(0, 4)))]
    hits = find_seeds(read_batch(reads), indexes[preset], p)
    for i, read in enumerate(reads):
        anchors, left_out = expected(read, indexes[preset], p)
        assert hits.repetitive[i] == left_out and hits.status[i] == Status.OK
        if len(anchors) <= 32:
            assert anchors_of(hits, i) == anchors
        else:
            assert strong(anchors) <= set(anchors_of(hits, i)) <= set(anchors)


def test_oriented_read_matches_at_each_anchor(indexes):
    index, joined = indexes["standard"], "".join(CONTIGS)
    reads = [LONG[50:200], reverse_complement(LONG[120:260]), CONTIGS[1][200:350], CONTIGS[2][:150]]
    hits = find_seeds(read_batch(reads), index, SeedParameters())
    for i, read in enumerate(reads):
        assert anchors_of(hits, i)
        for strand, reference, query in anchors_of(hits, i):
            oriented = reverse_complement(read) if strand else read
            assert oriented[query : query + 20] == joined[reference : reference + 20]


def test_no_anchor_across_borders_and_gaps(indexes):
    """A read made of two contigs' ends has no anchor where they meet."""
    read = CONTIGS[0][-40:] + CONTIGS[1][:40]
    hits = find_seeds(read_batch([read]), indexes["standard"], SeedParameters())
    assert anchors_of(hits, 0)
    assert all(query + 20 <= 40 or query >= 40 for _, _, query in anchors_of(hits, 0))


def test_repeats_are_capped_then_rescued(indexes):
    read = read_batch([UNIT])
    few = SeedParameters(max_hits=8, rescue_hits=16)
    hits = find_seeds(read, indexes["standard"], few)
    assert hits.anchors.size == 0 and hits.repetitive[0] > 3
    hits = find_seeds(read, indexes["standard"], SeedParameters(max_hits=8, rescue_hits=64))
    assert hits.anchors.size >= 20 and hits.repetitive[0] == 0
    hits = find_seeds(read, indexes["standard"], SeedParameters(max_hits=64, max_anchors=30))
    assert hits.anchors.size == 0 and hits.repetitive[0] > 3


def test_odd_reads(indexes):
    reads = ["", "A", "N" * 100, "ACGT" * 30, "A" * (MAX_READ_LENGTH + 1), LONG, "A" * MAX_READ_LENGTH]
    hits = find_seeds(read_batch(reads), indexes["standard"], SeedParameters())
    assert hits.status.tolist() == [Status.OK] * 4 + [Status.TOO_LONG] + [Status.OK] * 2
    assert [i for i in range(len(reads)) if anchors_of(hits, i)] == [5]
    empty = find_seeds(read_batch([]), indexes["standard"], SeedParameters())
    assert empty.anchor_offsets.tolist() == [0] and empty.anchors.size == 0


def test_index_without_entries(tmp_path):
    index = Index.build(write_fasta(tmp_path / "ref.fa", ["ACGT"]))
    assert find_seeds(read_batch([LONG]), index, SeedParameters()).anchors.size == 0


def test_batches_change_nothing(indexes):
    reads = [LONG[i : i + 150] for i in range(0, 500, 27)] + [CONTIGS[1][i : i + 150] for i in range(0, 900, 31)]
    whole = find_seeds(read_batch(reads), indexes["standard"], SeedParameters())
    for i, read in enumerate(reads):
        assert anchors_of(find_seeds(read_batch([read]), indexes["standard"], SeedParameters()), 0) == anchors_of(
            whole, i
        )


def on_card(reads: ReadBatch, index: Index, p: SeedParameters) -> SeedHits:
    """What the CUDA side finds, copied to the host."""
    from readwarp.align.seed import cuda
    from readwarp.device.memory import current

    backend = Backend("cuda", (0,))
    with backend.frame():
        there = backend.to_device(reads, "bases", "read_offsets")
        return SeedHits(*current().download(*cuda.find_seeds(there, backend.resident(index), p)))


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_cuda_gives_the_same_bytes(indexes, data):
    preset = data.draw(st.sampled_from(sorted(SEEDS)))
    p = replace(
        SEEDS[preset],
        max_hits=data.draw(st.sampled_from([2, 64])),
        max_anchors=data.draw(st.sampled_from([9, 2048])),
    )
    reads = read_batch([some_read(data.draw) for _ in range(data.draw(st.integers(0, 40)))])
    assert_same(find_seeds(reads, indexes[preset], p), on_card(reads, indexes[preset], p))


def test_cuda_odd_reads(indexes):
    reads = read_batch(["", "N" * 60, "A" * (MAX_READ_LENGTH + 1), LONG[:90]])
    here = find_seeds(reads, indexes["standard"], SeedParameters())
    assert_same(here, on_card(reads, indexes["standard"], SeedParameters()))


def test_cuda_many_anchors(indexes):
    """Weak places are left out. Anchors are sorted in shared memory, or elsewhere if there are too many for it."""
    from readwarp.align.seed import cuda

    spread = "".join(UNIT + "N" * (5 + 3 * i) for i in range(8))  # no two on one diagonal
    reads = read_batch([CONTIGS[1][100:250], LONG[20:60], spread])
    here = find_seeds(reads, indexes["standard"], SeedParameters())
    sizes = np.diff(here.anchor_offsets)
    assert 64 < sizes[0] < cuda.SORTED < sizes[2]
    assert_same(here, on_card(reads, indexes["standard"], SeedParameters()))


def test_cuda_takes_the_bytes_it_says(indexes):
    from readwarp.align.seed import cuda

    reads, index, backend = read_batch([LONG[:70], LONG[90:150]]), indexes["standard"], Backend("cuda", (0,))
    with planned(1 << 20) as workspace, workspace.frame():
        there = backend.to_device(reads, "bases", "read_offsets")
        before = workspace.high_water
        hits = cuda.find_seeds(there, backend.resident(index), SeedParameters())
        anchors = hits.anchors.size
        taken = cuda.device_bytes(len(reads), reads.bases.size, index.parameters.t, anchors, anchors)
        assert workspace.high_water - before == taken and 0 < anchors <= 32
    with planned(before + taken - 1) as workspace, workspace.frame(), pytest.raises(WorkspaceFullError):
        cuda.find_seeds(backend.to_device(reads, "bases", "read_offsets"), backend.resident(index), SeedParameters())


def assert_same(one, other):
    for field in columns_of(one):
        a, b = getattr(one, field), getattr(other, field)
        assert a.dtype == b.dtype and np.array_equal(a, b), field
