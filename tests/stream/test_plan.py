"""Memory arithmetic, as a pure function."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.errors import MemoryBudgetError
from readwarp.stream.plan import SMALLEST_BATCH, USUAL_BATCH, Costs, Shape, plan, readable

MB = 1 << 20
SHAPE = Shape(read_length=100, candidates_per_read=2, cells_per_candidate=50)
COSTS = Costs(
    fixed=100 * MB,
    work_per_read=200,
    work_per_base=3,
    work_per_candidate=100,
    work_per_cell=1,
    held_per_read=50,
    held_per_base=2,
)


def test_costs_per_base():
    assert COSTS.work(SHAPE) == 3 + (200 + 2 * (100 + 50 * 1)) / 100
    assert COSTS.held(SHAPE) == 2 + 50 / 100


def test_plenty_of_memory_takes_the_usual_batch():
    made = plan(64 << 30, COSTS, SHAPE, threads=4)
    assert (made.batch_bases, made.workers, made.in_flight) == (USUAL_BATCH, 4, 7)


def test_the_users_bound_is_kept():
    assert plan(64 << 30, COSTS, SHAPE, threads=4, batch_bases=1000).batch_bases == 1000


def test_the_batch_follows_by_division():
    made = plan(150 * MB, COSTS, SHAPE, threads=1)
    per_base = 8 + (3 + 2) * 2.5
    assert made.batch_bases == int(50 * MB / per_base)
    assert made.workers == 1


def test_fewer_workers_where_the_budget_allows_no_more():
    made = plan(140 * MB, COSTS, SHAPE, threads=64)
    assert 1 <= made.workers < 64
    assert made.batch_bases >= SMALLEST_BATCH


def test_too_small_a_budget_states_the_minimum():
    with pytest.raises(MemoryBudgetError, match=r"--memory 50M is too small: one batch needs 105\.2M, 100M of it") as e:
        plan(50 * MB, COSTS, SHAPE, threads=8)
    assert e.value.exit_code == 5
    plan(int(105.2 * MB), COSTS, SHAPE, threads=8)


@given(
    budget=st.integers(1, 1 << 40),
    fixed=st.integers(0, 1 << 34),
    work=st.floats(0.1, 1e3),
    held=st.floats(0.1, 1e3),
    threads=st.integers(1, 300),
    bound=st.none() | st.integers(1, 1 << 30),
)
def test_a_plan_never_exceeds_its_budget(budget, fixed, work, held, threads, bound):
    costs = Costs(fixed, work_per_base=work, held_per_base=held)
    try:
        made = plan(budget, costs, Shape(), threads, bound)
    except MemoryBudgetError:
        return
    assert made.peak_bytes <= budget
    assert 1 <= made.workers <= threads
    assert made.batch_bases <= (bound or USUAL_BATCH)
    assert made.in_flight > made.workers


@pytest.mark.parametrize(
    ("number", "text"),
    [(5, "5"), (1024, "1K"), (1 << 20, "1M"), (3 << 30, "3G"), ((3 << 30) + 1, "3.1G"), (1536 * MB, "1.5G")],
)
def test_readable(number, text):
    assert readable(number) == text


def test_what_each_worker_takes_is_counted_for_each():
    costs = Costs(fixed=10 * MB, fixed_per_worker=100 * MB, work_per_base=1)
    assert plan(400 * MB, costs, SHAPE, threads=8, batch_bases=MB).workers == 3
    with pytest.raises(MemoryBudgetError, match=r"needs 110\.3M, 110M of it"):
        plan(100 * MB, costs, SHAPE, threads=8)
