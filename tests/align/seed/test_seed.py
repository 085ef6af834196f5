"""Seeds of reads compared with plain Python on small references, and CPU with CUDA."""

import random
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.seeding import entries, planned, random_letters, read_batch, reverse_complement, syncmers, write_fasta
from readwarp import Index
from readwarp.align.batches import SeedHits
from readwarp.align.places import Genome
from readwarp.align.seed.cpu import find_seeds
from readwarp.align.seed.scalar import least_loss
from readwarp.config import MAX_INTEGER, MAX_READ_LENGTH, PRESETS, Scoring, SeedParameters
from readwarp.device.backend import Backend
from readwarp.errors import WorkspaceFullError
from readwarp.formats.common.reads import ReadBatch
from readwarp.ragged import columns_of, replace
from readwarp.rules.statuses import Status

SEEDS = {name: preset.parameters.seed for name, preset in PRESETS.items()}
MARGINS = [5, 20, MAX_INTEGER]
RNG = random.Random(5)
UNIT, LONG = random_letters(RNG, 60), random_letters(RNG, 700)
CONTIGS = [
    LONG,
    random_letters(RNG, 80) + "".join(random_letters(RNG, 9) + UNIT for _ in range(20)),
    reverse_complement(LONG[100:300]) + "N" * 30 + LONG[400:450],
    "ACGTACG",
    (random_letters(RNG, 31) * 8)[:200] + "A" * 60 + "CA" * 40,
]


def widened(index: Index) -> Index:
    """With the dtypes of a large reference."""
    starts, positions = (array.astype(np.uint64) for array in (index.bucket_starts, index.positions))
    return replace(index, bucket_starts=starts, positions=positions)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory) -> dict[str, Index]:
    path = write_fasta(tmp_path_factory.mktemp("seed") / "ref.fa", CONTIGS)
    return {name: Index.build(path, p) for name, p in SEEDS.items()}


def found_in(index: Index, reads: ReadBatch, p: SeedParameters | None = None) -> SeedHits:
    return find_seeds(reads, index, Genome.of(index.reference), p or SeedParameters(), Scoring())


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


def seeds_of(read: str, index: Index) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """(position, strand, places) of a read's syncmers."""
    bits = (index.bucket_starts.size - 1).bit_length() - 1
    places = places_of(index.parameters, bits)
    return [(i, strand, places.get(h >> (64 - bits - 15), [])) for i, h, strand in syncmers(read, index.parameters)]


def apart(seeds: list, k: int) -> list:
    """The seeds that begin after the end of the last one that is taken."""
    taken, free = [], 0
    for seed in seeds:
        if seed[0] >= free:
            taken.append(seed)
            free = seed[0] + k
    return taken


def differences_at(read: str, seed: tuple, k: int) -> int | None:
    """Mismatches of the read at the first place of a seed, None if it is not within one contig there."""
    i, strand, [(entry, position), *_] = seed
    is_reverse = entry != strand
    start = position - (len(read) - k - i if is_reverse else i)
    begin = 0
    for letters in CONTIGS:
        if begin <= position < begin + len(letters):
            break
        begin += len(letters)
    if start < begin or start + len(read) > begin + len(letters):
        return None
    complement = str.maketrans("ACGT", "TGCA")
    oriented = read.translate(complement)[::-1] if is_reverse else read
    there = letters[start - begin : start - begin + len(read)]
    return sum(a != b or a == "N" for a, b in zip(oriented, there, strict=True))


def is_settled(read: str, seeds: list, p: SeedParameters, k: int) -> bool:
    """With bwa's scores: a mismatch, or a seed that is not there, takes 5."""
    known = [seed for seed in apart(seeds, k) if len(seed[2]) <= p.max_hits]
    rarest = min((seed for seed in known if seed[2]), key=lambda seed: len(seed[2]), default=None)
    if rarest is None or sum(len(seed[2]) for seed in known) > p.max_anchors or 5 * len(known) < p.margin:
        return False
    differences = differences_at(read, rarest, k)
    return differences is not None and 5 * len(known) - 5 * differences >= p.margin


def expected(read: str, index: Index, p: SeedParameters) -> tuple[list[tuple[int, int, int]], int]:
    """Anchors and omitted seeds by the rules of the step, before weak places are left out."""
    k, seeds = index.parameters.k, seeds_of(read, index)
    settled = is_settled(read, seeds, p, k)
    seeds = apart(seeds, k) if settled else seeds

    def total(cap):
        return sum(len(found) for _, _, found in seeds if len(found) <= cap)

    def crowded(cap):
        return 5 * sum(len(found) > cap for _, _, found in seeds) > 3 * len(seeds)

    cap = p.max_hits
    if settled:
        pass
    elif total(cap) > p.max_anchors:
        while total(cap) > p.max_anchors and cap > 1:
            cap //= 2
    elif total(10**9):
        while (total(cap) == 0 or (crowded(cap) and cap < 4 * p.max_hits)) and cap < p.rescue_hits:
            if total(cap) > p.max_anchors:
                break
            cap = min(2 * cap, p.rescue_hits if total(cap) == 0 else min(4 * p.max_hits, p.rescue_hits))
    anchors = [
        (entry ^ strand, position, i if entry == strand else len(read) - k - i)
        for i, strand, found in seeds
        for entry, position in found
        if len(found) <= cap
    ]
    return sorted(anchors), 0 if settled else sum(len(found) > cap for _, _, found in seeds)


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
@settings(max_examples=80)
@given(data=st.data())
def test_same_as_plain_python(indexes, preset, data):
    p = SEEDS[preset]
    p = replace(p, max_hits=data.draw(st.sampled_from([1, 4, 64])), rescue_hits=data.draw(st.sampled_from([4, 1024])))
    p = replace(p, max_anchors=data.draw(st.sampled_from([5, 100, 2048])))
    p = replace(p, margin=data.draw(st.sampled_from(MARGINS)))
    reads = [some_read(data.draw) for _ in range(data.draw(st.integers(0, 4)))]
    hits = found_in(indexes[preset], read_batch(reads), p)
    for i, read in enumerate(reads):
        anchors, left_out = expected(read, indexes[preset], p)
        settled = is_settled(read, seeds_of(read, indexes[preset]), p, p.k)
        assert (hits.repetitive[i], hits.settled[i], hits.status[i]) == (left_out, settled, Status.OK)
        if len(anchors) <= 32:
            assert anchors_of(hits, i) == anchors
        else:
            kept = set(anchors_of(hits, i))
            assert strong(anchors) <= kept <= set(anchors)
            starts = [start_of(anchor, read, p.k) for anchor in kept]
            left_out = [start_of(anchor, read, p.k) for anchor in set(anchors) - kept]
            assert all(any(abs(start - other) < p.k + 4 for other in starts) for start in left_out)


def start_of(anchor: tuple[int, int, int], read: str, k: int) -> int:
    """Where its seed begins on the read."""
    strand, _, query = anchor
    return len(read) - k - query if strand else query


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("at", [0, 120, 250])
def test_a_short_part_of_a_read_keeps_its_anchors(indexes, at, turned):
    """Its place has less than a quarter of the anchors of the other part's, but no other place has that part."""
    read = LONG[:at] + CONTIGS[1][:50] + LONG[at:250]
    read = reverse_complement(read) if turned else read
    anchors = anchors_of(found_in(indexes["standard"], read_batch([read])), 0)
    assert anchors == expected(read, indexes["standard"], SeedParameters())[0]
    assert len(strong(anchors)) < len(anchors)


def test_oriented_read_matches_at_each_anchor(indexes):
    index, joined = indexes["standard"], "".join(CONTIGS)
    reads = [LONG[50:200], reverse_complement(LONG[120:260]), CONTIGS[1][200:350], CONTIGS[2][:150]]
    hits = found_in(index, read_batch(reads))
    for i, read in enumerate(reads):
        assert anchors_of(hits, i)
        for strand, reference, query in anchors_of(hits, i):
            oriented = reverse_complement(read) if strand else read
            assert oriented[query : query + 20] == joined[reference : reference + 20]


def test_no_anchor_across_borders_and_gaps(indexes):
    """A read made of two contigs' ends has no anchor where they meet."""
    read = CONTIGS[0][-40:] + CONTIGS[1][:40]
    hits = found_in(indexes["standard"], read_batch([read]))
    assert anchors_of(hits, 0)
    assert all(query + 20 <= 40 or query >= 40 for _, _, query in anchors_of(hits, 0))


def test_repeats_are_capped_then_rescued(indexes):
    read = read_batch([UNIT])
    few = SeedParameters(max_hits=8, rescue_hits=16)
    hits = found_in(indexes["standard"], read, few)
    assert hits.anchors.size == 0 and hits.repetitive[0] > 3
    hits = found_in(indexes["standard"], read, SeedParameters(max_hits=8, rescue_hits=64))
    assert hits.anchors.size >= 20 and hits.repetitive[0] == 0
    hits = found_in(indexes["standard"], read, SeedParameters(max_hits=64, max_anchors=30))
    assert hits.anchors.size == 0 and hits.repetitive[0] > 3


def test_odd_reads(indexes):
    reads = ["", "A", "N" * 100, "ACGT" * 30, "A" * (MAX_READ_LENGTH + 1), LONG, "A" * MAX_READ_LENGTH]
    hits = found_in(indexes["standard"], read_batch(reads))
    assert hits.status.tolist() == [Status.OK] * 4 + [Status.TOO_LONG] + [Status.OK] * 2
    assert [i for i in range(len(reads)) if anchors_of(hits, i)] == [5]
    empty = found_in(indexes["standard"], read_batch([]))
    assert empty.anchor_offsets.tolist() == [0] and empty.anchors.size == 0


def test_index_without_entries(tmp_path):
    index = Index.build(write_fasta(tmp_path / "ref.fa", ["ACGT"]))
    assert found_in(index, read_batch([LONG])).anchors.size == 0


def test_batches_change_nothing(indexes):
    reads = [LONG[i : i + 150] for i in range(0, 500, 27)] + [CONTIGS[1][i : i + 150] for i in range(0, 900, 31)]
    whole = found_in(indexes["standard"], read_batch(reads))
    for i, read in enumerate(reads):
        assert anchors_of(found_in(indexes["standard"], read_batch([read])), 0) == anchors_of(whole, i)


def test_settled_reads_need_few_seeds(indexes):
    """A read without differences has the anchors of seeds that do not overlap; one with many has all its anchors."""
    index, read = indexes["standard"], LONG[500:650]
    changed = "".join("ACGT"["TACG".index(b)] if i % 30 == 2 else b for i, b in enumerate(read))
    few, more = (anchors_of(found_in(index, read_batch([each])), 0) for each in (read, changed))
    queries = [query for _, _, query in few]
    assert 4 <= len(queries) <= 7 and min(np.diff(queries)) >= 20
    assert any(b - a < 20 for (_, _, a), (_, _, b) in pairwise(more))
    every = anchors_of(found_in(index, read_batch([read]), SeedParameters(margin=MAX_INTEGER)), 0)
    assert set(few) < set(every)


@settings(max_examples=80)
@given(data=st.data())
def test_places_not_looked_for_are_worse(indexes, data):
    """On every diagonal without an anchor, a settled read scores less than at its best place by the margin."""
    index, read = indexes["standard"], some_read(data.draw)
    p = SeedParameters(margin=data.draw(st.sampled_from([5, 20])), max_hits=data.draw(st.sampled_from([2, 64])))
    if not is_settled(read, seeds_of(read, index), p, p.k):
        return
    seen = {
        (strand, reference - query)
        for strand, reference, query in anchors_of(found_in(index, read_batch([read]), p), 0)
    }
    losses = {place: 5 * n for place, n in all_differences(read).items()}
    best = min(losses[place] for place in seen if place in losses)
    assert all(loss >= best + p.margin for place, loss in losses.items() if place not in seen)


def all_differences(read: str) -> dict[tuple[int, int], int]:
    """(strand, start) of every place of a read within a contig -> its mismatches there."""
    found, begin = {}, 0
    for letters in CONTIGS:
        for strand, oriented in enumerate((read, read.translate(str.maketrans("ACGT", "TGCA"))[::-1])):
            for start in range(len(letters) - len(read) + 1):
                there = letters[start : start + len(read)]
                found[strand, begin + start] = sum(a != b or a == "N" for a, b in zip(oriented, there, strict=True))
        begin += len(letters)
    return found


@pytest.mark.parametrize(
    ("scoring", "loss"),
    [
        (Scoring(), 5),  # a mismatch
        (Scoring(mismatch=9, gap_open=16), 6),  # a base clipped
        (Scoring(2, 4, 4, 2, 10), 6),  # a mismatch, or a base deleted
        (Scoring(1, 40, 18, 1, 40), 11),  # two bases inserted at the border of two seeds: 22 for both
        (Scoring(1, 99, 99, 1, 99), 20),  # many seeds clipped: 20 bases each
    ],
)
def test_least_loss_by_a_seed_that_is_not_there(scoring, loss):
    assert least_loss(scoring, 20) == loss


def on_card(reads: ReadBatch, index: Index, p: SeedParameters) -> SeedHits:
    """What the CUDA side finds, copied to the host."""
    from readwarp.align.seed import cuda
    from readwarp.device.memory import current

    backend = Backend("cuda", (0,))
    with backend.frame():
        there = backend.to_device(reads, "bases", "read_offsets")
        placed = backend.resident(index), Genome.of(backend.resident(index.reference))
        return SeedHits(*current().download(*cuda.find_seeds(there, *placed, p, Scoring())))


@pytest.mark.cards
@settings(max_examples=25)
@given(data=st.data())
def test_cuda_gives_the_same_bytes(indexes, data):
    preset = data.draw(st.sampled_from(sorted(SEEDS)))
    p = replace(
        SEEDS[preset],
        max_hits=data.draw(st.sampled_from([2, 64])),
        max_anchors=data.draw(st.sampled_from([9, 2048])),
        margin=data.draw(st.sampled_from(MARGINS)),
    )
    reads = read_batch([some_read(data.draw) for _ in range(data.draw(st.integers(0, 40)))])
    assert_same(found_in(indexes[preset], reads, p), on_card(reads, indexes[preset], p))


@pytest.mark.cards
def test_wide_entries_on_both_sides(indexes):
    index = indexes["standard"]
    reads = read_batch([LONG[i : i + 150] for i in range(0, 500, 90)] + [CONTIGS[1][i : i + 150] for i in (0, 100)])
    narrow = found_in(index, reads)
    assert_same(narrow, found_in(widened(index), reads))
    assert_same(narrow, on_card(reads, widened(index), SeedParameters()))


@pytest.mark.cards
@pytest.mark.parametrize(("first", "count", "kept"), [(0, 0, 0), ((1 << 35) + 5, 77, 77), (3, 1 << 40, (1 << 28) - 1)])
def test_cuda_slots_hold_first_and_number(first, count, kept):
    from readwarp.align.seed.cuda_slots import count_of, entry_of, found_at

    slot = found_at.py_func(first, count)
    assert slot.dtype == np.uint64 and (entry_of.py_func(slot), count_of.py_func(slot)) == (first, kept)


@pytest.mark.cards
def test_cuda_odd_reads(indexes):
    reads = read_batch(["", "N" * 60, "A" * (MAX_READ_LENGTH + 1), LONG[:90]])
    here = found_in(indexes["standard"], reads)
    assert_same(here, on_card(reads, indexes["standard"], SeedParameters()))


@pytest.mark.cards
def test_cuda_many_anchors(indexes):
    """Weak places are left out. Anchors are sorted in shared memory, or elsewhere if there are too many for it."""
    from readwarp.align.seed import cuda

    spread = "".join(UNIT + "N" * (5 + 3 * i) for i in range(8))  # no two on one diagonal
    reads = read_batch([CONTIGS[1][100:250], LONG[20:60], spread])
    here = found_in(indexes["standard"], reads)
    sizes = np.diff(here.anchor_offsets)
    assert 64 < sizes[0] < cuda.SORTED < sizes[2]
    assert_same(here, on_card(reads, indexes["standard"], SeedParameters()))


@pytest.mark.cards
def test_cuda_takes_the_bytes_it_says(indexes):
    from readwarp.align.seed import cuda

    reads, index, backend = read_batch([LONG[:70], LONG[90:150]]), indexes["standard"], Backend("cuda", (0,))
    with planned(1 << 20) as workspace, workspace.frame():
        there = backend.to_device(reads, "bases", "read_offsets")
        before = workspace.high_water
        placed = backend.resident(index), Genome.of(backend.resident(index.reference))
        hits = cuda.find_seeds(there, *placed, SeedParameters(), Scoring())
        anchors = hits.anchors.size
        taken = cuda.device_bytes(len(reads), reads.bases.size, index.parameters.t, anchors, anchors)
        assert workspace.high_water - before == taken and 0 < anchors <= 32
    with planned(before + taken - 1) as workspace, workspace.frame(), pytest.raises(WorkspaceFullError):
        there = backend.to_device(reads, "bases", "read_offsets")
        cuda.find_seeds(there, *placed, SeedParameters(), Scoring())


def assert_same(one, other):
    for field in columns_of(one):
        a, b = getattr(one, field), getattr(other, field)
        assert a.dtype == b.dtype and np.array_equal(a, b), field
