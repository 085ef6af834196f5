"""Each operation of packed lanes compared with NumPy; the tile kernel in each form compared with the CPU lanes."""

from unittest.mock import patch

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from helpers.alignment_oracle import packed, random_pairs, related
from readwarp.device import lanes, memory
from readwarp.device.cuda_jit import cuda as card
from readwarp.device.cuda_jit import cuda_kernel
from readwarp.device.lanes import HALF2, INT32, S16X2
from readwarp.device.launch import kernel_factory
from readwarp.device.memory import Workspace, current
from readwarp.pairwise import cpu, cuda, cuda_local
from readwarp.pairwise.cuda_local import (
    constants_of,
    device_bytes,
    engines,
    fits_tiles,
    score_on_tiles,
    shape_table,
    shapes_of,
    stream_starts,
)
from readwarp.pairwise.cuda_tiles import (
    AHEAD,
    BLOCK,
    COLUMNS,
    GROUPS,
    MAX_QUERY,
    OTHER,
    OUTSIDE,
    UNKNOWN,
    Tiles,
    lay_rows,
)
from readwarp.pairwise.pairs import Costs, Ends, Scheme
from readwarp.pairwise.scalar import LOCAL, OVERFLOWN
from readwarp.ragged import replace

pytestmark = pytest.mark.cards

DEFAULT = Costs(1, 4, 6, 1, 5)
ONE = 1  # the factor that keeps a sum from the ALU


@pytest.fixture(params=lanes.FORMS, ids=lambda form: form.name)
def form(request):
    if tuple(card.get_current_device().compute_capability) < request.param.since:
        pytest.skip(f"this card has no {request.param.name}")
    return request.param


@kernel_factory
def kernel_of(form, name, operands):
    """A kernel that applies an operation to each element of three arrays, or of the first of them."""
    operation = getattr(form.lanes(), name)

    @cuda_kernel
    def of_one(a, b, c, out):
        k = card.grid(1)
        if k < out.size:
            out[k] = operation(a[k])

    @cuda_kernel
    def of_two(a, b, c, out):
        k = card.grid(1)
        if k < out.size:
            out[k] = operation(a[k], b[k])

    @cuda_kernel
    def of_three(a, b, c, out):
        k = card.grid(1)
        if k < out.size:
            out[k] = operation(a[k], b[k], c[k])

    return (of_one, of_two, of_three)[operands - 1]


def applied(form, name, *operands):
    """The card's result for operands that are arrays of 32-bit lanes or one value for all; as lanes (uint32)."""
    size = max(np.size(operand) for operand in operands)
    columns = [np.broadcast_to(np.asarray(x).astype(np.uint32), size) for x in (*operands, 0, 0)[:3]]
    workspace = current()
    with workspace.frame():
        out = workspace.empty(size, np.uint32)
        there = [workspace.upload(column) for column in columns]
        kernel_of(form, name, len(operands))[-(-size // 64), 64, workspace.stream](*there, out)
        return workspace.download(out)[0]


def words(rng, form, low, high, count=2000):
    """(numbers [count, numbers of a lane], lanes [count])."""
    numbers = rng.integers(low, high, (count, form.numbers)).astype(form.number)
    return numbers, numbers.view(np.uint32)[:, 0]


def numbers_of(form, values):
    return values.view(form.number).reshape(len(values), -1)


def test_arithmetic_of_lanes(form):
    rng = np.random.default_rng(1)
    low, high = {S16X2: (-(2**15), 2**15), HALF2: (-1024, 1024), INT32: (-(2**31), 2**31)}[form]
    (x, a), (y, b), (z, c) = (words(rng, form, low, high) for _ in range(3))
    zero = x.dtype.type(0)
    for name, expected in {
        "gained": np.maximum(x + y, z),  # wraps around
        "extended": np.maximum(np.maximum(x + y, zero) if form is HALF2 else x + y, z),
        "highest": np.maximum(x, y) if form is HALF2 else np.maximum(np.maximum(x, y), z),
        "maximum3": np.maximum(np.maximum(x, y), z),
    }.items():
        assert (numbers_of(form, applied(form, name, a, b, c)) == expected).all(), name
    assert (numbers_of(form, applied(form, "maximum", a, b)) == np.maximum(x, y)).all()
    assert (applied(form, "first", a).view(np.int32) == x[:, 0]).all()
    assert (applied(form, "second", a).view(np.int32) == x[:, -1]).all()
    whole = x.astype(np.int32)
    assert (applied(form, "packed", whole[:, 0], whole[:, -1]) == a).all()
    assert [form.packed(int(row[0]), int(row[-1])) for row in whole] == a.tolist()  # on the host


def test_sums_off_the_alu(form):
    """A sum of 32 bits is the sums of its halves, as long as no half leaves its range."""
    rng = np.random.default_rng(2)
    (x, a), (y, b) = words(rng, form, 500, 1000), words(rng, form, 0, 500)
    assert (numbers_of(form, applied(form, "plus", a, b, ONE)) == x + y).all()
    if form is not HALF2:
        assert (numbers_of(form, applied(form, "plus", a, -b, ONE)) == x - y).all()
    assert (applied(form, "scaled", a, 0, b) == b).all() and (applied(form, "scaled", a, 1, 0) == a).all()
    factor = form.packed(4, 4) if form is HALF2 else 4
    assert (numbers_of(form, applied(form, "keyed", b, factor, a)) == 4 * y + x).all()


def test_only_a_greater_score_replaces_the_best(form):
    """Over all scores and keys that a lane can hold: equal scores stay, whatever their keys."""
    factor, lowest = form.factor, form.lowest
    rng = np.random.default_rng(3)
    scores = rng.integers(1, 500, (2, 3000, form.numbers))
    scores[1, ::3] = scores[0, ::3]
    numbers = scores * factor + rng.integers(0, form.keys, scores.shape) + lowest
    x, y = np.ascontiguousarray(numbers.astype(form.number)).view(np.uint32)[:, :, 0]
    mask = applied(form, "rises", applied(form, "leveled", x), applied(form, "leveled", y), ONE)
    wide = mask.view(np.uint32 if form is INT32 else np.uint16).reshape(len(mask), -1)
    assert (wide == np.where(scores[0] > scores[1], np.iinfo(wide.dtype).max, 0)).all()
    assert (applied(form, "where", mask, x, y) == (x & mask | y & ~mask)).all()


def test_what_is_alike_in_a_warp_stays(form):
    assert (applied(form, "uniform", np.full(64, 12345)) == 12345).all()


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [(0x3210, 0x03827F01), (0x7654, 0xFF000511), (0xC4A2, 0x0011FF82), (0xF798, 0xFFFF0000)],  # 8 more: the sign alone
)
def test_bytes_are_picked_by_digits(selector, chosen, form):
    assert applied(form, "pick", 0x03827F01, 0xFF000511, selector).tolist() == [chosen]


def test_form_by_capability():
    forms = {(7, 5): INT32, (8, 0): HALF2, (8, 9): HALF2, (9, 0): S16X2, (10, 3): S16X2}
    forms |= {(11, 0): HALF2, (12, 0): HALF2, (12, 1): HALF2}
    assert {capability: lanes.form_of(capability) for capability in forms} == forms
    assert lanes.forms_of((12, 0)) == (HALF2, S16X2, INT32)


def on_tiles(queries, targets, costs, form, constants=None):
    """(ends on tiles of all shapes, ends on the CPU); no pair has an empty sequence."""
    with patch.object(cuda_local, "FEW", 0):
        return on_few_tiles(queries, targets, costs, form, constants)


def on_few_tiles(queries, targets, costs, form, constants=None):
    """The same in the one shape that few pairs take."""
    pairs = packed(queries, targets)
    found = Ends(*(np.zeros(len(pairs), np.int32) for _ in range(3)))
    workspace = current()
    with workspace.frame():
        there = replace(pairs, queries=workspace.upload(pairs.queries), targets=workspace.upload(pairs.targets))
        constants = constants or constants_of(form, costs)
        score_on_tiles(there, np.arange(len(pairs)), (form, constants), found)
    return found, cpu.score_pairs(pairs, Scheme(costs, LOCAL))


def check(queries, targets, costs, form, constants=None):
    """Ends are the CPU's; only scores that a form cannot determine are left to another. Returns how many."""
    found, expected = on_tiles(queries, targets, costs, form, constants)
    limit = (constants or constants_of(form, costs)).limit
    others = np.array([max(query) > (3 if form.numbers == 2 else 4) for query in queries])
    untold = (expected.score >= limit) | ((expected.score <= costs[4]) & (costs[4] > 0)) | others
    assert (found.score[untold] == OVERFLOWN).all()
    for have, want in zip(found, expected, strict=True):
        assert have[~untold].tolist() == want[~untold].tolist()
    return int(untold.sum())


def some_pairs(rng, lengths, letters):
    """Queries of these lengths, each with a target that contains part of it."""
    queries = [rng.integers(0, letters, n).tolist() for n in lengths]
    targets = [
        [*rng.integers(0, letters, rng.integers(0, 5)).tolist(), *(related(rng, query, letters) or [0])]
        for query in queries
    ]
    return queries, targets


@pytest.mark.parametrize("costs", [DEFAULT, Costs(2, 3, 2, 1), Costs(1, 0, 1, 1, 2)], ids=str)
def test_as_the_cpu_around_the_edges_of_threads(form, costs):
    """Queries end on both sides of every thread's last column; few letters make ties."""
    rng = np.random.default_rng(4)
    for letters in (2, 3):
        check(*some_pairs(rng, rng.integers(1, 25, 700), letters), costs, form)


def test_odd_numbers_and_unequal_targets(form):
    """The halves of a tile and the tiles of a launch have different numbers of rows; the last tile has one pair."""
    rng = np.random.default_rng(5)
    queries, targets = random_pairs(rng, 1200, 20, 4)
    filled = [(query, target) for query, target in zip(queries, targets, strict=True) if query and target]
    query = rng.integers(0, 4, 9).tolist()
    filled += [(query, query[:k]) for k in (1, 9)] + [(query, [3] * 30 + query)]
    filled = filled[: len(filled) // 2 * 2 - 1]
    assert check(*map(list, zip(*filled, strict=True)), DEFAULT, form) < len(filled) / 2


def test_more_columns_than_keys(form):
    """20 columns per thread and the same base throughout: the first of many equal scores counts."""
    rng = np.random.default_rng(6)
    queries, targets = some_pairs(rng, [70], 4)
    assert int(shape_table()[70]) == 420
    queries, targets = [*queries, [0] * 80], [targets[0][:24], [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]]
    check(queries, targets, Costs(2, 3, 2, 1), form)


def test_other_codes_match_themselves_alone(form):
    query = [0, 1, 2, 3, 0, 1, 2, 3, 3]
    with_4, with_5 = ([*query[:4], code, *query[5:]] for code in (4, 5))
    queries = [query, query, query, query, with_4, with_4, with_5]
    targets = [with_4, with_5, [5, *query], [4] * 9, with_4, with_5, with_5]
    assert check(queries, targets, Costs(2, 1, 3, 1), form) == (1 if form is INT32 else 3)


@pytest.mark.parametrize("form", [S16X2, INT32], indirect=True, ids=["s16x2", "int32"])
def test_nothing_beside_a_pair_wins(form):
    """Columns after a query and rows after a target, with free mismatches and a high bonus."""
    costs = Costs(1, 0, 7, 1, 8)
    queries = [[0, 0, 0], [0, 0, 0, 0, 0, 0, 0], [1, 0, 1], [0]]
    targets = [[1, 0, 0], [0, 0], [0] * 9, [1, 1, 1, 0]]
    check(queries, targets, costs, form)


@pytest.mark.parametrize("form", lanes.FORMS[:2], indirect=True, ids=["s16x2", "half2"])
def test_overflow_is_found_and_leaves_the_other_half_alone(form):
    rng = np.random.default_rng(7)
    costs = Costs(7, 0, 870, 1) if form is S16X2 else Costs(25, 7, 7, 0)
    query = rng.integers(0, 4, 24).tolist()
    constants = constants_of(form, costs)
    assert constants is not None and constants.limit < 24 * costs.match
    other = rng.integers(0, 4, 24).tolist()
    assert check([query, other], [query, query], costs, form) == 1


@pytest.mark.parametrize("form", [HALF2], indirect=True, ids=["half2"])
def test_a_gain_of_n_that_no_byte_holds_is_left_to_another_form(form):
    query, costs = [0, 1, 2, 3, 0, 2], Costs(2, 8, 12, 2)
    found, _ = on_tiles([query] * 4, [query, [*query[:2], 5, *query[3:]], [5] * 70, query], costs, form)
    assert found.score.tolist() == [12, OVERFLOWN, OVERFLOWN, 12]


def test_costs_that_a_form_does_not_hold():
    assert [form for form, _ in engines(Costs(128, 4, 6, 1))] == []  # match is no signed byte
    forms = lanes.forms_of(tuple(card.get_current_device().compute_capability))
    held = [form for form in forms if form is not HALF2]
    assert [form for form, _ in engines(Costs(2, 8, 12, 2, 10))] == held  # minimap2 for short reads
    assert constants_of(S16X2, Costs(1, 4, 2, 1, 4)) is None  # a gap would be worth the bonus
    assert constants_of(HALF2, Costs(1, 8, 6, 1, 0)) is None  # a gain below zero
    assert constants_of(HALF2, Costs(2, 8, 12, 2, 0)) is not None
    assert constants_of(S16X2, Costs(1, 4, 900, 1, 0)) is None  # nothing left for scores
    assert constants_of(S16X2, Costs(7, 4, 6, 1, 0)).max_bases < MAX_QUERY  # a half would be carried to the other
    assert constants_of(S16X2, Costs(2, 8, 12, 2, 10)).max_bases >= 250


@pytest.mark.parametrize("longest", [1, 128, 129, 512])
def test_few_pairs_share_a_launch(longest, form):
    """Queries of all lengths up to the longest, an odd number of them; a longer one has more columns in each thread."""
    rng, costs = np.random.default_rng(longest), Costs(1, 4, 6, 1)
    queries, targets = some_pairs(rng, [longest, *rng.integers(1, longest + 1, 20)], 4)
    (shape,) = set(shapes_of(np.array([len(query) for query in queries]), form).tolist())
    assert shape // 100 == 32 and 0 <= 32 * (shape % 100) - longest < max(128, 64)
    found, expected = on_few_tiles(queries, targets, costs, form)
    assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


def test_shapes_hold_their_queries():
    table = shape_table()
    for length in range(1, MAX_QUERY + 1):
        group, columns = divmod(int(table[length]), 100)
        assert group in GROUPS and columns in COLUMNS
        assert length <= group * columns <= max(24, 1.35 * length)
    assert max(COLUMNS) * 2 <= 100


def test_rows_of_tiles_lie_apart():
    rng = np.random.default_rng(8)
    lengths, group = np.sort(rng.integers(1, 300, 601))[::-1], 4
    targets = rng.integers(0, 6, lengths.sum()).astype(np.uint8)
    begins = np.cumsum(lengths) - lengths
    starts = stream_starts(lengths, S16X2, group)
    tiles, workspace = starts.size - 1, current()
    with workspace.frame():
        heights, laid = lengths.astype(np.int32), np.full(starts[-1], 255, np.uint8)
        there = workspace.on_card(Tiles(targets, begins, heights, heights, laid, starts))
        lay_rows[-(-tiles * 32 // BLOCK), BLOCK, workspace.stream](
            there.queries, there.query_starts, there, np.int32(group), np.int32(2)
        )
        (stream,) = workspace.download(there.stream)
    for tile in range(tiles):
        for half in range(2):
            pair = min(2 * tile + half, lengths.size - 1)
            codes = stream[starts[tile] - group : starts[tile + 1]] >> 3 * half & 7
            inside = slice(group, group + lengths[pair])
            given = targets[begins[pair] :][: lengths[pair]]
            assert codes[inside].tolist() == np.array([0, 1, 2, 3, OTHER, UNKNOWN])[given].tolist()
            assert (np.delete(codes, inside) == OUTSIDE).all() and codes.size >= lengths[pair] + 2 * group + AHEAD


def test_bytes_of_the_workspace():
    rng = np.random.default_rng(10)
    for lengths in ([1], rng.integers(1, 300, 500)):
        queries, targets = some_pairs(rng, lengths, 4)
        pairs, workspace = packed(queries, targets), Workspace()
        found = Ends(*(np.zeros(len(pairs), np.int32) for _ in range(3)))
        with current().frame() as other:
            there = replace(pairs, queries=other.upload(pairs.queries), targets=other.upload(pairs.targets))
            other.synchronize()
            memory.bind(workspace)
            score_on_tiles(there, np.arange(len(pairs)), (INT32, constants_of(INT32, DEFAULT)), found)
            memory.bind(None)
        assert 0 < workspace.high_water <= device_bytes(len(pairs), int(pairs.target_lengths.max()))


def test_whatever_tiles_leave_is_scored_all_the_same():
    """Unknown bases, scores not above the bonus, queries that are too long for tiles, or empty: the ends of the CPU."""
    rng = np.random.default_rng(9)
    queries, targets = some_pairs(rng, [5, 9, 140], 4)
    queries, targets = [*queries, [0, 4, 2, 3], [1], [2] * 520, []], [*targets, [0, 4, 2, 3], [0, 1], [2, 2, 1], [1]]
    pairs = packed(queries, targets)
    fits = fits_tiles(pairs, np.arange(7), S16X2, constants_of(S16X2, DEFAULT))
    assert fits.tolist() == [True] * 5 + [False, True]
    expected = cpu.score_pairs(pairs, Scheme(DEFAULT, LOCAL))
    for known in (None, np.full(7, 10**6, np.int32)):
        found = cuda.score_pairs(pairs, Scheme(DEFAULT, LOCAL), known)
        assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]
