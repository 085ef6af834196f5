"""The memory plan of building an index."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.config import PRESETS, SeedParameters
from readwarp.errors import MemoryBudgetError
from readwarp.index.plan import MAX_ROUNDS, plan_build, seed_bytes

GIB, HUMAN, SEEDS = 1 << 30, 3_100_000_000, SeedParameters()
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@pytest.mark.parametrize(("budget", "rounds"), [(16, 1), (8, 1), (6, 2), (4, 3), (3, 5)])
def test_rounds_of_a_human_genome(budget, rounds):
    plan = plan_build(HUMAN, SEEDS, 2, budget * GIB)
    assert (plan.rounds, plan.workers, plan.partitions) == (rounds, 2, 1 << 11)
    assert plan.peak_bytes + plan.spare_bytes == budget * GIB
    assert plan.chunks * 128 * rounds > HUMAN / 5  # room for all entries


@given(
    st.integers(1, (1 << 32) - 1),
    st.sampled_from([preset.parameters.seed for preset in PRESETS.values()]),
    st.integers(1, 128),
    st.integers(1, 64 * GIB),
)
def test_plans_stay_within_the_budget(bases, parameters, threads, budget):
    try:
        plan = plan_build(bases, parameters, threads, budget)
    except MemoryBudgetError as error:
        number, unit = re.search(r"needs ([0-9.]+)([KMG])$", str(error)).groups()
        least = int(float(number) * UNITS[unit]) + 1
        assert least > budget
        assert plan_build(bases, parameters, threads, least).peak_bytes <= least
    else:
        assert bases // 2 < plan.peak_bytes <= budget
        assert 1 <= plan.workers <= threads and 1 <= plan.rounds <= MAX_ROUNDS


def test_an_index_that_stays_in_memory_needs_more():
    file, memory = (plan_build(HUMAN, SEEDS, 2, 16 * GIB, in_memory=kept) for kept in (False, True))
    assert memory.peak_bytes - file.peak_bytes == seed_bytes(HUMAN, SEEDS) == 4 * (2**27 + 1) + 6 * HUMAN // 5


def test_messages_say_whose_budget_it_was():
    with pytest.raises(MemoryBudgetError, match=r"^--memory 1G is too small: building the index needs 1.9G$"):
        plan_build(HUMAN, SEEDS, 2, GIB)
    with pytest.raises(MemoryBudgetError, match=r"^1G of memory is too little \(80% of what is free\): building"):
        plan_build(HUMAN, SEEDS, 2, GIB, is_given=False)
