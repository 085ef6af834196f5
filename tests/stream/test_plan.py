"""The arithmetic of memory, as a pure function."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.errors import MemoryBudgetError
from readwarp.stream.plan import (
    AHEAD,
    CARD_BATCH,
    IN_FLIGHT,
    LARGE_BATCH,
    MIN_BATCH,
    MIN_ON_CARD,
    PROCESS,
    USUAL_BATCH,
    Card,
    MemoryCosts,
    min_bytes,
    plan,
    plan_card,
    plan_processes,
    processes_of,
    readable,
    usual_batch,
    workers_of,
)

MB = 1 << 20
COSTS = MemoryCosts(fixed=100 * MB, work_per_base=8, held_per_base=2.5)


def test_plenty_of_memory_takes_the_usual_batch():
    made = plan(64 << 30, COSTS, threads=4)
    assert (made.batch_bases, made.workers, made.in_flight) == (USUAL_BATCH, 4, 7)


def test_many_threads_take_larger_batches():
    """Each holds the lock of Python for the same time; so many of them would wait for it."""
    assert [plan(1 << 40, COSTS, threads).batch_bases for threads in (1, 8, 16, 32, 64)] == [
        *(USUAL_BATCH, USUAL_BATCH, 2 * USUAL_BATCH),
        *(LARGE_BATCH, LARGE_BATCH),
    ]
    assert {usual_batch(threads, is_on_cards=True) for threads in (3, 64)} == {CARD_BATCH}
    made = plan(8 << 30, COSTS, threads=64)
    assert USUAL_BATCH < made.batch_bases < LARGE_BATCH and made.workers == 64


def test_the_users_bound_is_kept():
    assert plan(64 << 30, COSTS, threads=4, batch_bases=1000).batch_bases == 1000


def test_the_batch_follows_by_division():
    made = plan(150 * MB, COSTS, threads=1)
    per_base = 8 + (3 + 3) * 2.5
    assert made.batch_bases == int(50 * MB / per_base)
    assert made.workers == 1


def test_fewer_workers_where_the_budget_allows_no_more():
    made = plan(140 * MB, COSTS, threads=64)
    assert 1 <= made.workers < 64
    assert made.batch_bases >= MIN_BATCH


def test_too_small_a_budget_states_the_minimum():
    with pytest.raises(MemoryBudgetError, match=r"--memory 50M is too small: one batch needs 105\.8M, 100M of it") as e:
        plan(50 * MB, COSTS, threads=8)
    assert e.value.exit_code == 5
    with pytest.raises(
        MemoryBudgetError, match=r"^50M of memory is too little \(80% of what is free\): one batch needs"
    ):
        plan(50 * MB, COSTS, threads=8, is_given=False)
    plan(int(105.8 * MB), COSTS, threads=8)


@given(
    budget=st.integers(1, 1 << 40),
    fixed=st.integers(0, 1 << 34),
    work=st.floats(0.1, 1e3),
    held=st.floats(0.1, 1e3),
    threads=st.integers(1, 300),
    bound=st.none() | st.integers(1, 1 << 30),
)
@pytest.mark.parametrize("make", [plan, plan_processes])
def test_a_plan_never_exceeds_its_budget(make, budget, fixed, work, held, threads, bound):
    costs = MemoryCosts(fixed, work_per_base=work, held_per_base=held)
    try:
        made = make(budget, costs, threads, bound)
    except MemoryBudgetError:
        return
    assert made.peak_bytes <= budget
    assert 1 <= made.workers <= threads
    assert made.batch_bases <= (bound or usual_batch(threads))
    assert made.in_flight > made.workers


@pytest.mark.parametrize(
    ("number", "text"),
    [(5, "5"), (1024, "1K"), (1 << 20, "1M"), (3 << 30, "3G"), ((3 << 30) + 1, "3.1G"), (1536 * MB, "1.5G")],
)
def test_readable(number, text):
    assert readable(number) == text


def test_what_each_worker_takes_is_counted_for_each():
    costs = MemoryCosts(fixed=10 * MB, fixed_per_worker=100 * MB, work_per_base=1)
    assert plan(400 * MB, costs, threads=8, batch_bases=MB).workers == 3
    with pytest.raises(MemoryBudgetError, match=r"needs 110\.3M, 110M of it"):
        plan(100 * MB, costs, threads=8)


def test_many_threads_are_processes():
    """Each has memory of its own, with its batch and the records once more."""
    assert [plan_processes(64 << 30, COSTS, threads).processes for threads in (1, 8, 9, 64)] == [0, 0, 9, 64]
    few, many = plan_processes(64 << 30, COSTS, 8), plan_processes(64 << 30, COSTS, 64)
    assert few == plan(64 << 30, COSTS, 8)
    threads = plan(64 << 30, COSTS, 64)
    assert (many.workers, many.in_flight, many.batch_bases) == (64, threads.in_flight, LARGE_BATCH)
    assert many.peak_bytes - threads.peak_bytes == 64 * PROCESS + int(64 * 2.5 * LARGE_BATCH)


def test_threads_where_memory_is_for_few_processes():
    least = COSTS.fixed + 9 * PROCESS + int(MIN_BATCH * (9 * (8 + 2.5) + (15 + AHEAD) * 2.5)) + 1
    made, fewer = plan_processes(least, COSTS, 64), plan_processes(least - 2, COSTS, 64)
    assert (made.processes, made.workers) == (9, 9)
    assert fewer.processes == 0 and fewer == plan(least - 2, COSTS, 64)
    with pytest.raises(MemoryBudgetError, match=r"one batch needs 105\.8M"):
        plan_processes(50 * MB, COSTS, 64)


def card(reference: int = 40 * MB, seeds: int = 60 * MB, per_base: int = 100, per_seeded: int = 200) -> Card:
    return Card(reference, seeds, lambda bases, seeded: bases * (per_seeded if seeded else per_base))


def test_a_large_card_gets_all():
    made = plan_card(64 << 30, card(), workspaces=16, batch_bases=USUAL_BATCH)
    assert (made.batch_bases, made.workspaces, made.seeding) == (USUAL_BATCH, 16, "cuda")
    assert made.device_bytes == 100 * MB + 16 * 200 * USUAL_BATCH


def test_short_of_memory_there_are_fewer_workspaces_then_smaller_batches():
    usual = 200 * USUAL_BATCH
    assert plan_card(100 * MB + 5 * usual, card(), 16, USUAL_BATCH).workspaces == 5
    made = plan_card(100 * MB + 2 * usual, card(), 16, USUAL_BATCH)
    assert made.workspaces == IN_FLIGHT and made.batch_bases == 2 * USUAL_BATCH // 3


def test_seeds_stay_on_the_host_where_three_batches_do_not_fit_beside_them():
    enough = 100 * MB + 3 * 200 * MIN_BATCH
    assert plan_card(enough, card(), 4, USUAL_BATCH).seeding == "cuda"
    made = plan_card(enough - 1, card(), 4, USUAL_BATCH)
    assert made.seeding == "cpu" and made.index_bytes == 40 * MB and made.batch_bases > MIN_BATCH


def test_the_least_that_a_card_can_be_used_with():
    least = 40 * MB + 100 * MIN_ON_CARD
    made = plan_card(least, card(), 4, USUAL_BATCH)
    assert (made.workspaces, made.batch_bases, made.device_bytes) == (1, MIN_ON_CARD, least)
    with pytest.raises(MemoryBudgetError, match=rf"--vram 46\.2M is too small: one batch needs {readable(least)}, 40M"):
        plan_card(least - 100000, card(), 4, USUAL_BATCH)


@given(
    budget=st.integers(0, 1 << 36),
    reference=st.integers(0, 1 << 34),
    seeds=st.integers(0, 1 << 34),
    per_base=st.integers(1, 1000),
    workspaces=st.integers(1, 40),
    bases=st.integers(1, 1 << 24),
)
def test_a_card_never_gets_more_than_its_budget(budget, reference, seeds, per_base, workspaces, bases):
    asked = card(reference, seeds, per_base, 2 * per_base)
    try:
        made = plan_card(budget, asked, workspaces, bases)
    except MemoryBudgetError:
        assert budget < min_bytes(asked)
        return
    assert made.device_bytes <= budget
    assert 1 <= made.workspaces <= workspaces and 1 <= made.batch_bases <= bases
    assert made.capacity >= asked.capacity(max(made.batch_bases, MIN_ON_CARD), made.seeding == "cuda")


@pytest.mark.parametrize(("threads", "cards", "workers"), [(4, 0, 4), (1, 1, 3), (4, 2, 6), (16, 2, 16)])
def test_each_card_has_three_batches_in_flight(threads, cards, workers):
    assert workers_of(threads, cards) == workers


def test_processes_that_fit():
    assert [processes_of(threads, 64 << 30, MB) for threads in (1, 3, 4, 32)] == [0, 0, 4, 32]
    for least in (0, 10 * MB, PROCESS, 50 * MB):
        each = PROCESS + max(PROCESS, least)
        assert [processes_of(32, room, least) for room in (0, 4 * each - 1, 4 * each, 31.9 * each)] == [0, 0, 4, 31]
