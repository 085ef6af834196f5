"""Insert-size model, candidates and rescue windows compared with plain Python."""

import numpy as np
import pytest
from hypothesis import given as given_data
from hypothesis import settings
from hypothesis import strategies as st

from readwarp.align import pair
from readwarp.align.batches import Candidates, Chains, Scores
from readwarp.align.insert_models import InsertModels, InsertSizes, model_of
from readwarp.align.pair.insert_sizes import DEFAULT, InsertEvidence
from readwarp.align.places import places_of
from readwarp.config import AlignParameters, PairParameters, RecordParameters
from readwarp.errors import UsageError
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.index.reference import Reference
from readwarp.ragged import replace
from readwarp.rules.bases import LETTERS, pack
from readwarp.rules.statuses import Status

SIZES = InsertSizes(mean=300, deviation=30, low=180, high=420, pairs=1000, other_orientations=0)
MODELS = InsertModels(SIZES)
LENGTH = 60
NONE = np.zeros(8, np.uint8)  # of the reads is settled


def batch(reads: list[np.ndarray], paired: bool = True) -> ReadBatch:
    offsets = np.concatenate([[0], np.cumsum([read.size for read in reads])]).astype(np.int64)
    segments = [Segment.FIRST, Segment.LAST] * (len(reads) // 2) if paired else [Segment.UNPAIRED] * len(reads)
    n = len(reads)
    return ReadBatch(
        number=0,
        source=0,
        bases=np.concatenate(reads).astype(np.uint8),
        qualities=np.full(offsets[-1], 30, np.uint8),
        read_offsets=offsets,
        names=np.full(n, 97, np.uint8),
        name_offsets=np.arange(n + 1, dtype=np.int64),
        tags=np.empty(0, np.uint8),
        tag_offsets=np.zeros(n + 1, np.int64),
        segment=np.array(segments, np.uint8),
        read_group=np.full(n, -1, np.int32),
        failed=np.zeros(n, np.uint8),
    )


def chains_of(reads: list[list[tuple[int, int, int]]], length: int = LENGTH) -> Chains:
    """Chains (v, strand, score) of each read; each covers the whole read."""
    rows = [chain for read in reads for chain in read]
    column = [np.array([row[i] for row in rows], np.int64) for i in range(3)]
    n = len(rows)
    return Chains(
        chain_offsets=np.concatenate([[0], np.cumsum([len(read) for read in reads])]).astype(np.int64),
        reference_start=column[0],
        reference_stop=column[0] + length,
        query_start=np.zeros(n, np.int32),
        query_stop=np.full(n, length, np.int32),
        strand=column[1].astype(np.uint8),
        score=column[2].astype(np.int32),
        repetitive=np.zeros(len(reads), np.int32),
        settled=np.zeros(len(reads), np.uint8),
        status=np.zeros(len(reads), np.uint8),
    )


def dummy_reads(number: int) -> ReadBatch:
    return batch([np.zeros(LENGTH, np.uint8)] * number)


def reference_of(bases: np.ndarray) -> Reference:
    packed = np.zeros((bases.size + 1) // 2, np.uint8)
    pack(LETTERS[bases], 0, packed)
    packed.flags.writeable = False
    return Reference(("one",), np.array([0, bases.size], np.int64), ("",), packed)


def evidence_of(distances, others: int = 0, group: int = -1) -> InsertEvidence:
    both = np.concatenate([distances, np.zeros(others)]).astype(np.int32)
    return InsertEvidence(both, np.full(both.size, group, np.int32))


def test_model_of_normal_inserts():
    rng = np.random.default_rng(1)
    distances = rng.normal(350, 40, 4000).round().astype(np.int32)
    distances[::100] = 9000  # chimeras
    sizes = pair.fit([evidence_of(distances[:1000], 3), evidence_of(distances[1000:], 4)], PairParameters())
    assert abs(sizes.mean - 350) < 3 and abs(sizes.deviation - 40) < 3
    assert 350 - 5 * 40 < sizes.low <= sizes.mean - 4 * sizes.deviation < sizes.mean + 4 * sizes.deviation <= sizes.high
    assert (sizes.pairs, sizes.other_orientations) == (4000, 7)


def test_parts_of_the_evidence_do_not_matter():
    distances = np.random.default_rng(2).integers(200, 500, 1000).astype(np.int32)
    whole = pair.fit([evidence_of(distances)], PairParameters())
    assert whole == pair.fit([evidence_of(part) for part in np.split(distances, [1, 400])], PairParameters())


def test_too_few_pairs_give_the_default():
    few = pair.fit([evidence_of(np.full(24, 300), 2)], PairParameters())
    assert (few.mean, few.low, few.high, few.pairs) == (DEFAULT.mean, DEFAULT.low, DEFAULT.high, 0)
    assert pair.fit([], PairParameters()).pairs == 0
    equal = pair.fit([evidence_of(np.full(25, 300), 2)], PairParameters())
    assert (equal.mean, equal.deviation, equal.pairs) == (300, 1, 25) and equal.low < 300 < equal.high


def test_each_read_group_has_a_model():
    rng = np.random.default_rng(3)
    short, long = (rng.normal(mean, 20, 500).round() for mean in (200, 600))
    evidence = [evidence_of(part, 1, group) for group, part in ((4, short), (1, long), (7, short[:24]), (-1, long))]
    models = pair.fit_groups(evidence, PairParameters())
    assert models.common == pair.fit(evidence, PairParameters()) and list(models.groups) == [1, 4]
    for group, part in ((4, short), (1, long)):
        assert models.groups[group] == pair.fit([evidence_of(part, 1)], PairParameters())
    limits = models.limits()
    low = [models.common.low, models.groups[1].low, models.groups[4].low]
    found = [limits.low[model_of.py_func(limits, group)] for group in (-1, 0, 1, 4, 7, 99)]
    assert found == [low[0], low[0], low[1], low[2], low[0], low[0]]
    assert pair.fit_groups(evidence[:1], PairParameters()).groups == {}
    assert pair.fit_groups([], PairParameters()).common == DEFAULT


def test_candidates_by_the_model_of_the_read_group():
    """Two pairs alike, 600 apart: concordant in the second read group only."""
    models = InsertModels(SIZES, {1: InsertSizes(600, 30, 480, 720, 1000, 0)})
    reads = replace(dummy_reads(4), read_group=np.array([0, 0, 1, 1], np.int32))
    near = [(1000, 0, 40)], [(1540, 1, 40), (4000, 1, 41), (5000, 1, 42)]
    chains, offsets = chains_of([*near, *near]), np.array([0, 9000], np.int64)
    found = pair.plan_candidates(reads, chains, offsets, models, PairParameters(max_candidates=1))
    assert found.diagonal.tolist()[1::2] == [5000, 1540]
    found = pair.plan_candidates(reads, chains, offsets, models, PairParameters(max_candidates=1, pairing=False))
    assert found.diagonal.tolist()[1::2] == [5000, 5000]


def test_stated_model():
    assert pair.given(300) == InsertSizes(300, 30, 180, 420, 0, 0)
    assert pair.given(300, 50, 900, 10) == InsertSizes(300, 50, 10, 900, 0, 0)
    assert pair.given(10**6).high == 10**6
    big = [(10**6 + 1,), (300, 1e300), (300, 30, 2**31), (float("nan"),), (float("inf"),), (300, 30, 400, -(2**63))]
    for wrong in [(0,), (300, 0), (300, 30, 100, 200), *big]:
        with pytest.raises(UsageError):
            pair.given(*wrong)


def test_orientations_are_told_apart():
    confident = [
        [[(1000, 0, 50)], [(1240, 1, 50)]],  # 300 apart, pointing at each other
        [[(1240, 1, 50)], [(1000, 0, 50)]],
        [[(1000, 0, 50)], [(1240, 0, 50)]],  # the same way
        [[(1240, 0, 50)], [(1000, 1, 50)]],  # away from each other
        [[(1000, 0, 50), (5000, 0, 49)], [(1240, 1, 50)]],  # not unique
        [[(1000, 0, 20)], [(1240, 1, 50)]],  # weak
        [[(1000, 0, 50)], [(90_000, 1, 50)]],  # far apart
        [[], [(1240, 1, 50)]],
        [[(1000, 0, 50)], [(100_000, 1, 50)]],  # on another contig
    ]
    chains = chains_of([read for mates in confident for read in mates])
    evidence = pair.collect_evidence(dummy_reads(18), chains, np.array([0, 95_000, 200_000], np.int64))
    assert evidence.distances.tolist() == [300, 300, 0, 0] and evidence.groups.tolist() == [-1] * 4


@settings(max_examples=50)
@given_data(data=st.data())
def test_candidates_are_the_best_chains_by_score_and_mate(data):
    contig_offsets = np.array([0, 1000, 1500], np.int64)
    chain = st.tuples(st.integers(0, 1499 - LENGTH), st.integers(0, 1), st.integers(20, 60))
    mates = [
        data.draw(st.lists(chain.filter(lambda c: (c[0] < 1000) == (c[0] + LENGTH <= 1000)), max_size=6))
        for _ in range(2)
    ]
    mates = [sorted(mate, key=lambda c: -c[2]) for mate in mates]
    parameters = PairParameters(max_candidates=data.draw(st.integers(1, 4)), window_padding=16)
    found = pair.plan_candidates(dummy_reads(2), chains_of(mates), contig_offsets, MODELS, parameters)

    def concordant(a, b):
        forward, reverse = (a, b) if a[1] == 0 else (b, a)
        same_contig = (a[0] < 1000) == (b[0] < 1000)
        return a[1] != b[1] and same_contig and SIZES.low <= reverse[0] + LENGTH - forward[0] <= SIZES.high

    for m, own in enumerate(mates):
        value = [c[2] + max([0, *(o[2] for o in mates[1 - m] if concordant(c, o))]) for c in own]
        order = sorted(range(len(own)), key=lambda i: (-value[i], i))
        paired = [i for i in order[:1] if value[i] > own[i][2]]
        hopeless = {i for i in order if paired and value[i] == own[i][2] and own[i][2] < 0.7 * own[0][2]}
        order = [i for i in order if i not in hopeless][: parameters.max_candidates]
        rows = slice(*found.candidate_offsets[m : m + 2])
        assert found.diagonal[rows].tolist() == [own[i][0] for i in order]
        starts = [max(0 if own[i][0] < 1000 else 1000, own[i][0] - 16) for i in order]
        stops = [min(1000 if own[i][0] < 1000 else 1500, own[i][0] + LENGTH + 16) for i in order]
        assert (found.window_start[rows].tolist(), found.window_stop[rows].tolist()) == (starts, stops)
        assert (found.read[rows] == m).all()


def reverse_complement(bases: np.ndarray) -> np.ndarray:
    return 3 - bases[::-1]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("changes", [0, 1, 3])
def test_rescue_finds_a_mate(turned, changes):
    """The mate has a change every LENGTH / (changes + 1) bases; the other read is placed at 2000."""
    rng = np.random.default_rng(changes)
    genome = rng.integers(0, 4, 5000)
    first, last = genome[2000 : 2000 + LENGTH], genome[2240 : 2240 + LENGTH].copy()
    for change in range(changes):
        place = LENGTH * (change + 1) // (changes + 1)
        last[place] = (last[place] + 1) % 4
    reads = batch([first, reverse_complement(last)])
    placed, missing, strand = 2000, 2240, 0
    if turned:  # the reverse mate is the one that is placed
        reads, placed, missing, strand = (
            batch([reverse_complement(genome[2240:2300]), genome[2000:2060]]),
            2240,
            2000,
            1,
        )
    chains = chains_of([[(placed, strand, 60)], []])
    found, scores = planned(reads, chains, genome)
    rescued = pair.plan_rescue(
        reads, NONE, places_of(found, scores, AlignParameters()), reference_of(genome), MODELS, AlignParameters()
    )
    assert rescued.candidate_offsets.tolist() == [0, 0, 1]
    assert (rescued.diagonal.tolist(), rescued.strand.tolist()) == ([missing], [1 - strand])
    assert rescued.window_start[0] <= missing - 16 and rescued.window_stop[0] >= missing + LENGTH + 16
    assert rescued.window_stop[0] - rescued.window_start[0] < LENGTH + 150
    merged, rows = pair.merge(found, rescued)
    assert merged.candidate_offsets.tolist() == [0, 1, 2] and merged.diagonal.tolist() == [placed, missing]
    assert rows.tolist() == [0, 1]


def planned(reads: ReadBatch, chains: Chains, genome: np.ndarray):
    """Candidates with perfect scores."""
    found = pair.plan_candidates(reads, chains, np.array([0, genome.size], np.int64), MODELS, PairParameters())
    n = len(found)
    stop = np.full(n, LENGTH, np.int32)
    return found, Scores(np.full(n, LENGTH + 10, np.int32), stop, found.diagonal + LENGTH, np.zeros(n, np.uint8))


def rescue(reads, found, scores, genome, settled=NONE, parameters=None):
    places = places_of(found, scores, AlignParameters())
    return pair.plan_rescue(reads, settled, places, reference_of(genome), MODELS, parameters or AlignParameters())


def columns(scores: Scores) -> list[np.ndarray]:
    return [scores.score, scores.query_stop, scores.reference_stop, scores.status]


def test_nothing_is_rescued_where_nothing_is_missing_or_found():
    rng = np.random.default_rng(7)
    genome, other = rng.integers(0, 4, 5000), rng.integers(0, 4, LENGTH)
    reads = batch([genome[2000:2060], reverse_complement(genome[2240:2300]), genome[1000:1060], other])
    chains = chains_of([[(2000, 0, 60)], [(2240, 1, 60)], [(1000, 0, 60)], []])
    found, scores = planned(reads, chains, genome)
    assert len(rescue(reads, found, scores, genome)) == 0
    single = batch([genome[2000:2060], genome[1000:1060]], paired=False)
    found, scores = planned(single, chains_of([[(2000, 0, 60)], [(1000, 0, 60)]]), genome)
    assert len(rescue(single, found, scores, genome)) == 0


def test_a_settled_mate_is_not_looked_for_elsewhere():
    """Its other places are too bad for that, unless there are more than were looked at, or the margin is small."""
    rng = np.random.default_rng(8)
    genome = rng.integers(0, 4, 5000)
    reads = batch([genome[2000 : 2000 + LENGTH], reverse_complement(genome[2240 : 2240 + LENGTH])])
    found, scores = planned(reads, chains_of([[(2000, 0, 60)], [(4000, 1, 60)]]), genome)

    def windows(settled: list[int], parameters: AlignParameters) -> int:
        found_there = rescue(reads, found, scores, genome, np.array(settled, np.uint8), parameters)
        return np.diff(found_there.candidate_offsets).tolist()[1]

    usual = AlignParameters()
    assert [windows(settled, usual) for settled in ([0, 0], [1, 0], [0, 1])] == [1, 1, 0]
    assert windows([0, 1], replace(usual, pair=replace(usual.pair, max_candidates=1))) == 1
    assert windows([0, 1], replace(usual, seed=replace(usual.seed, margin=17))) == 1
    assert windows([0, 1], replace(usual, seed=replace(usual.seed, margin=18))) == 0


def test_rescue_of_homopolymers_is_bounded():
    """Every word matches everywhere. The copies looked at are capped, and there is a window all the same."""
    genome = np.zeros(3000, np.int64)
    reads = batch([np.zeros(LENGTH, np.int64), np.full(LENGTH, 3)])
    found, scores = planned(reads, chains_of([[(1000, 0, 60)], []]), genome)
    rescued = pair.plan_rescue(
        reads, NONE, places_of(found, scores, AlignParameters()), reference_of(genome), MODELS, AlignParameters()
    )
    assert len(rescued) == 1 and rescued.window_stop[0] - rescued.window_start[0] <= SIZES.high + 2 * LENGTH + 64


Part = tuple[int, int, int, int, int]


def parts_of(places: list[tuple[int, int, int, int, int, int]], length: int, **records) -> list[Part]:
    """(window start, window stop, diagonal, first, stop) of the parts of one read.

    places: (diagonal of the chain, of the alignment, start of the chain, stop, score, status), on 1000 bases.
    """
    chain, v, start, stop, score, status = np.array(places, np.int64).T
    zero, n = np.zeros(len(places), np.int32), len(places)
    narrow = start.astype(np.int32), np.full(n, length, np.int32)
    candidates = Candidates(np.array([0, n]), zero, zero.astype(np.uint8), v, v + length, chain, *narrow, zero, zero)
    scores = Scores(score.astype(np.int32), stop.astype(np.int32), v + stop, status.astype(np.uint8))
    parameters = replace(AlignParameters(), records=RecordParameters(**records))
    places_there = places_of(candidates, scores, parameters)
    made = pair.plan_parts(np.array([0, length]), places_there, np.array([0, 1000]), parameters)
    assert made.candidate_offsets.tolist() == [0, len(made)] and not made.query_stop.any()
    columns = made.window_start, made.window_stop, made.diagonal, made.part_start, made.part_stop
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize(
    ("place", "parts"),
    [
        ((400, 400, 0, 150, 160, Status.UNGAPPED), []),
        ((400, 400, 0, 100, 105, Status.OK), [(250, 700, 493, 93, 150)]),  # what is right of it, seven bases shared
        ((400, 400, 0, 128, 133, Status.OK), []),
        ((400, 400, 45, 150, 110, Status.OK), [(250, 700, 400, 0, 52)]),  # no anchor before its start
        ((400, 400, 5, 150, 110, Status.OK), []),  # mismatches: the alignment goes back to its chain's start
        ((330, 400, 5, 150, 110, Status.OK), [(250, 700, 400, 0, 52)]),  # but not over a gap that costs more than 30
        ((376, 400, 5, 150, 110, Status.OK), []),
        ((413, 400, 5, 150, 110, Status.OK), [(250, 700, 400, 0, 52)]),  # or over a tandem duplication
        ((412, 400, 5, 150, 110, Status.OK), []),
        ((40, 40, 60, 100, 40, Status.OK), [(0, 340, 40, 0, 67), (0, 340, 133, 93, 150)]),  # within the contig
        ((400, 400, 0, 100, 29, Status.OK), []),
        ((400, 400, 0, 100, 105, Status.TOO_LONG), []),
    ],
)
def test_what_a_good_place_leaves_over_is_looked_for_nearby(place, parts):
    assert parts_of([place], 150) == parts


@pytest.mark.parametrize(
    ("part", "stop", "score", "kept"),
    [
        ((0, 0), 150, 160, 160),
        ((0, 70), 70, 75, 70),  # the part's end is not the read's
        ((0, 70), 68, 73, 73),
        ((80, 150), 150, 80, 75),  # all bases and two bonuses
        ((80, 150), 150, 75, 75),
        ((80, 150), 140, 65, 60),
        ((80, 150), 140, 60, 60),
        ((80, 150), 140, 20, 20),  # as a seed
        ((80, 150), 140, 19, 0),  # less may be chance
    ],
)
def test_only_ends_of_the_read_have_a_bonus(part, stop, score, kept):
    one, zero = np.array([stop], np.int32), np.zeros(1, np.int32)
    parts = (np.array([bound], np.int32) for bound in part)
    wide = np.zeros(1, np.int64)
    candidates = Candidates(np.array([0, 1]), zero, zero.astype(np.uint8), wide, wide, wide, zero, zero, *parts)
    scores = Scores(np.array([score], np.int32), one, wide + stop, zero.astype(np.uint8))
    assert places_of(candidates, scores, AlignParameters()).score.tolist() == [kept]


def test_places_that_cannot_win_have_no_parts():
    """A mate is worth 17."""
    best, near, far = ((v, v, 0, 100, score, Status.OK) for v, score in ((200, 105), (400, 88), (600, 87)))
    assert [part[2] for part in parts_of([best, near, far], 150)] == [293, 493]


def test_a_part_has_the_least_score_and_a_seed():
    place = 400, 400, 0, 120, 125, Status.OK
    assert [len(parts_of([place], 150, min_score=score)) for score in (0, 30, 45)] == [1, 1, 0]
    assert parts_of([(400, 400, 0, 136, 141, Status.OK)], 150, min_score=0) == []
