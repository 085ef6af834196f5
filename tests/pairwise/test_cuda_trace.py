"""Tracebacks by thread groups give the bytes of the CPU lanes; bands, shapes and bytes of the plan."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba_cuda")
from helpers.alignment_oracle import packed, random_costs, random_pairs
from helpers.seeding import planned
from readwarp.device import memory
from readwarp.pairwise import cpu, cuda, trace_plan
from readwarp.pairwise.pairs import Costs, Pairs, Scheme, Tasks
from readwarp.pairwise.scalar import ALPHABET, GLOBAL, LOCAL, SEMIGLOBAL, longest_gaps

pytestmark = pytest.mark.cards

MODES = [LOCAL, GLOBAL, SEMIGLOBAL]
READS = Costs(1, 4, 6, 1, 5)
SCHEME = Scheme(READS, LOCAL)


@pytest.fixture(autouse=True)
def only_by_groups(monkeypatch):
    """No test may pass thanks to the kernel with one alignment per thread."""
    monkeypatch.setattr(cuda, "trace_by_threads", None)


def check(queries, targets, costs, mode):
    pairs, scheme = packed(queries, targets), Scheme(costs, mode)
    ends = cpu.score_pairs(pairs, scheme)
    expected, found = cpu.trace_pairs(pairs, scheme, ends), cuda.trace_pairs(pairs, scheme, ends)
    assert [a.tobytes() for a in found] == [a.tobytes() for a in expected], (queries, targets, costs)


def mild(costs):
    """The bonus is at most what a gap of one base costs, as in all presets."""
    return costs._replace(bonus=min(costs.bonus, costs.gap_open + costs.gap_extend))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("words", "group"), [(1, 1), (1, 4), (1, 5), (2, 2), (2, 3), (2, 8), (4, 1), (4, 6)])
def test_the_bytes_of_the_lanes_in_any_shape(mode, words, group, monkeypatch):
    wide = 8 * words * group
    table = np.full(trace_plan.MAX_DIAGONALS + 1, 100 * words + 32)
    table[: 4 * wide + 1], table[: wide + 1] = 100 * words + 4 * group, 100 * words + group
    monkeypatch.setattr(trace_plan, "shape_table", lambda pairs: table)
    rng = np.random.default_rng(wide + mode)
    queries, targets = random_pairs(rng, 500, 60, 3)
    queries += [target[: k % 12] for k, target in enumerate(targets)]
    check(queries, targets * 2, mild(random_costs(rng, mode)), mode)


@pytest.mark.parametrize("mode", MODES)
def test_gaps_that_take_the_whole_band(mode):
    rng = np.random.default_rng(mode)
    target = rng.integers(0, 4, 40).tolist()
    queries = [target[:20] + target[20 + gap :] for gap in (1, 6, 7, 8)]
    queries += [target[:20] + rng.integers(0, 4, gap).tolist() + target[20:] for gap in (1, 8, 9)]
    costs = Costs(2, 4, 3, 1)
    ends = cpu.score_pairs(packed(queries, [target] * 7), Scheme(costs, mode))
    strays = cpu.strays_of(ends, Scheme(costs, mode))
    assert strays[:4, 0].tolist() == [1, 6, 7, 8]  # a deletion reaches the border of the band
    check(queries, [target] * 7, costs, mode)


def test_unknown_bases_and_the_bonus():
    target = [4 if k % 9 == 5 else k * k % 4 for k in range(30)]
    reference = [5 if code == 4 else code for code in target]
    queries = [target[3:25], target[:12], [4] * 5, target[1:9] + target[12:], [3, *target]]
    for costs in (READS, Costs(1, 4, 6, 1), Costs(3, 2, 0, 2, 2)):
        check(queries, [reference] * 5, costs, LOCAL)
    check(queries, [target] * 5, READS, LOCAL)  # equal codes match, whatever they are


def test_several_launches_and_bands_that_are_too_wide(monkeypatch):
    rng = np.random.default_rng(5)
    queries, targets = random_pairs(rng, 800, 150)
    monkeypatch.setattr(cuda, "ROOM", 100_000)
    check(queries, targets, READS, LOCAL)
    monkeypatch.setattr(cuda, "MAX_DIAGONALS", 12)
    monkeypatch.setattr(cuda, "trace_by_threads", cpu.trace_pairs)
    check(queries, targets, READS, LOCAL)


@pytest.mark.parametrize(
    ("costs", "mode", "letters", "is_served"),
    [(READS, LOCAL, 6, True), (READS, LOCAL, 7, False), ((1, 4, 2, 1, 5), LOCAL, 6, False),
     ((1, 4, 2, 1, 0), GLOBAL, 6, True), ((126, 1, 9, 1, 0), LOCAL, 6, False), ((1, 131, 9, 1, 0), GLOBAL, 6, False),
     ((1, 130, 9, 1, 0), GLOBAL, 6, True), ((1, 4, 1 << 28, 1, 0), LOCAL, 6, False)],
)  # fmt: skip
def test_what_is_served(costs, mode, letters, is_served):
    assert trace_plan.can_trace(Scheme(Costs(*costs), mode), 150, letters) == is_served


def test_codes_are_looked_at():
    pairs = packed([[0, 1]], [[0, 6]])
    assert not cuda._can_trace(pairs, SCHEME, ALPHABET) and cuda._can_trace(pairs, SCHEME, 6)
    assert cuda._can_trace(packed([[0, 1]], [[0, 5]]), SCHEME, ALPHABET)


def test_gains():
    gains = trace_plan.gains_of(Costs(2, 5, 6, 1)).view(np.int8).reshape(8, 8)
    assert gains[1].tolist() == [-3, 4, -3, -3, 1, -3, 2, 2] and (gains[6:] == 2).all() and (gains[:, 6:] == 2).all()
    assert gains[5, :5].tolist() == [1] * 5  # an N of the reference


@pytest.mark.parametrize("pairs", [1, 10_000, 1_000_000])
def test_shapes_hold_their_bands(pairs):
    table = trace_plan.shape_table(pairs)
    words, group = np.divmod(table, 100)
    width = np.arange(table.size)
    assert (8 * words * group >= width).all() and (8 * words * group <= 2.5 * width + 32).all()
    assert set(words) <= {1, 2, 4} and set(group) <= set(trace_plan.GROUPS)


def test_three_kilobytes_for_a_read():
    """Directions of 150 bases in a band of up to 32 diagonals, with all that the group needs to start."""
    for pairs in (1, 10_000, 1_000_000):
        words, group = np.divmod(trace_plan.shape_table(pairs)[1:33], 100)
        stray = np.arange(32)
        assert ((150 + stray + group - 1) * 4 * words * 32 / (32 // group) <= 3072).all()


@pytest.mark.parametrize("room", [2_000, 1 << 20])
def test_what_is_planned_is_what_is_allocated(room):
    rng = np.random.default_rng(2)
    pairs = packed(*random_pairs(rng, 300, 30))
    tasks = cpu.tasks_of(pairs, SCHEME, cpu.score_pairs(pairs, SCHEME))
    plan = trace_plan.plan_trace(tasks, SCHEME, room)
    sequences = memory.rounded(pairs.queries.nbytes) + memory.rounded(pairs.targets.nbytes)
    with planned(plan.device_bytes(sequences)) as workspace:
        cuda.trace(tasks, SCHEME, room)
    assert workspace.high_water == workspace.capacity
    assert (len(plan.rounds) > 1) == (room == 2_000)


def test_launches_stay_within_the_room():
    rng = np.random.default_rng(3)
    number, none = 5000, np.zeros(0, np.uint8)
    lengths = rng.integers(1, 151, number)
    pairs = Pairs(none, np.zeros(number, np.int64), lengths, none, np.zeros(number, np.int64), lengths + 80)
    score = (lengths + 10 - rng.integers(0, 40, number)).astype(np.int32)
    ends = cpu.Ends(score, lengths.astype(np.int32), (lengths + rng.integers(0, 80, number)).astype(np.int32))
    plan = trace_plan.plan_trace(Tasks(pairs, ends, cpu.strays_of(ends, SCHEME)), SCHEME, 100_000)
    assert sorted(plan.slots.geometry[trace_plan.PAIR]) == list(range(number))
    assert plan.rounds[0].begin == 0 and plan.rounds[-1].stop == number
    stops = [each.stop for each in plan.rounds]
    assert [each.begin for each in plan.rounds[1:]] == stops[:-1]
    sizes = plan.warps[:, trace_plan.STEPS] * plan.warps[:, trace_plan.WORDS] * 32
    for each in plan.rounds:
        first, last = each.words[0][1], each.words[-1][2]
        assert last - first == 1 or 4 * each.directions <= 100_000
        assert each.directions == sizes[first:last].sum()
        ends = np.cumsum(sizes[first:last])
        assert plan.warps[first:last, trace_plan.DIRECTIONS_AT].tolist() == (ends - sizes[first:last]).tolist()
        for words, low, high in each.words:
            assert (plan.warps[low:high, trace_plan.WORDS] == words).all() and low < high


def test_warps_hold_their_slots():
    shapes = np.sort(np.random.default_rng(4).choice([101, 104, 205, 432], 1000))
    rows = np.random.default_rng(5).integers(1, 200, 1000)
    warps = trace_plan._warps(shapes, rows)
    groups, words = warps[:, trace_plan.GROUP], warps[:, trace_plan.WORDS]
    slots = warps[:, trace_plan.SLOTS]
    assert (slots * groups <= 32).all() and slots.sum() == 1000
    assert warps[:, trace_plan.SLOT].tolist() == (np.cumsum(slots) - slots).tolist()
    assert np.repeat(100 * words + groups, slots).tolist() == shapes.tolist()
    assert (np.repeat(warps[:, trace_plan.STEPS] - groups + 1, slots) >= rows).all()


@settings(max_examples=200)
@given(st.integers(-60, 60), st.integers(1, 40), st.integers(1, 40), st.integers(1, 4), st.integers(0, 8),
       st.integers(1, 3), st.integers(0, 9))  # fmt: skip
def test_the_longest_gaps(score, query, target, match, gap_open, gap_extend, bonus):
    """By counting: the best score with so many bases in gaps is still high enough; with more it is not."""
    found = longest_gaps(score, query, target, Costs(match, 0, gap_open, gap_extend), bonus)
    for longest, own, other in ((found[0], target, query), (found[1], query, target)):
        best = [min(own - g, other) * match + bonus - gap_open - g * gap_extend for g in range(1, own + 1)]
        assert longest == max((g for g, most in enumerate(best, 1) if most >= score), default=0)


@pytest.mark.parametrize("mode", MODES)
def test_a_wider_band_gives_the_same_bytes(mode, monkeypatch):
    rng = np.random.default_rng(9)
    pairs, scheme = packed(*random_pairs(rng, 200, 40, 3)), Scheme(random_costs(rng, mode), mode)
    ends = cpu.score_pairs(pairs, scheme)
    expected, strays_of = cpu.trace_pairs(pairs, scheme, ends), cpu.strays_of
    monkeypatch.setattr(cpu, "strays_of", lambda *given: strays_of(*given) + 7)
    found = cpu.trace_pairs(pairs, scheme, ends)
    assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]
