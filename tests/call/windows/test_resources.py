"""Workers and windows follow from the memory."""

from types import SimpleNamespace

import pytest

from readwarp.call.windows.resources import (
    BYTES_PER_BASE,
    BYTES_PER_DEEP_BASE,
    PROGRAM,
    USUAL_WORKSPACE,
    memory_for,
    plan_card,
    plan_workers,
)
from readwarp.config import Resources
from readwarp.errors import MemoryBudgetError
from readwarp.formats.common.regions import Target
from readwarp.stream.plan import PROCESS, CardPlan

MB = 1 << 20
ALIGNMENTS = SimpleNamespace(memory=5 * MB, sources=[1], samples=["s"])
FIXED = PROGRAM + ALIGNMENTS.memory
GENOME = [Target(0, 0, 100 * MB), Target(1, 0, 50 * MB)]


@pytest.mark.parametrize(
    ("threads", "may_fork", "processes"), [(3, True, 0), (4, True, 4), (64, True, 64), (64, False, 0)]
)
def test_who_works(threads, may_fork, processes):
    plan = plan_workers(Resources(threads, memory=64 << 30), ALIGNMENTS, GENOME, may_fork)
    assert (plan.processes, plan.threads) == (processes, threads)


def test_a_card_has_one_workspace_of_what_there_is():
    assert plan_card(64 * MB) == CardPlan(1, 64 * MB) and plan_card(1 << 40) == CardPlan(1, USUAL_WORKSPACE)
    with pytest.raises(MemoryBudgetError, match="--vram 31M is too small: 32M are needed"):
        plan_card(31 * MB)


@pytest.mark.parametrize("memory", [340, 600, 2048, 1 << 16])
def test_all_processes_fit(memory):
    """With windows that are worth it: what each costs, however small, is some 10 ms."""
    plan = plan_workers(Resources(32, memory=memory * MB), ALIGNMENTS, GENOME, may_fork=True)
    own = PROCESS + plan.max_bases * BYTES_PER_BASE
    assert 3 < plan.processes <= 32 and plan.processes * own + FIXED <= memory * MB
    assert plan.processes == 32 or (plan.processes + 1) * 2 * PROCESS > memory * MB - FIXED
    assert plan.window >= 1 << 16


@pytest.mark.parametrize("threads", [1, 4, 32])
def test_one_worker_has_all_of_the_memory_where_it_must(threads):
    given = Resources(threads, memory=300 * MB), ALIGNMENTS
    plan, reference = plan_workers(*given, [Target(0, 0, 20_000)], True, 7 * MB), 7 * MB
    workers = plan.processes or plan.threads
    fixed = PROGRAM + reference + ALIGNMENTS.memory + plan.processes * PROCESS
    assert workers <= 5  # narrow windows
    assert plan.fixed == fixed and fixed + plan.max_bases_alone * BYTES_PER_DEEP_BASE <= 300 * MB
    assert fixed + workers * plan.max_bases * BYTES_PER_BASE <= 300 * MB
    assert memory_for(plan, plan.max_bases_alone) == "300M"
    assert plan_workers(*given, [Target(0, 0, 3_000)], True).threads == 1


def test_too_little_for_processes():
    plan = plan_workers(Resources(32, memory=255 * MB), ALIGNMENTS, GENOME, may_fork=True)
    bases = (255 * MB - FIXED) // (32 * BYTES_PER_BASE)
    assert plan[:4] == (0, 32, bases, bases // 32)


@pytest.mark.parametrize(
    ("bases", "batch_bases", "processes"),
    [(3 << 17, None, 0), ((3 << 17) + 1, None, 4), (40 << 17, None, 32), (900, 6400, 9), (900, 64, 32)],
)
def test_no_more_processes_than_windows(bases, batch_bases, processes):
    resources = Resources(32, memory=64 << 30, batch_bases=batch_bases)
    targets = [Target(0, 1000, 1000 + bases)]
    plan = plan_workers(resources, ALIGNMENTS, targets, may_fork=True)
    assert plan.processes == processes
    assert plan.window == (batch_bases // 64 + 1 if batch_bases else 1 << 17)


@pytest.mark.parametrize(("threads", "window"), [(1, 1 << 18), (150, 1 << 18), (300, 1 << 17), (999, 1 << 17)])
def test_windows_are_wide_where_workers_have_several(threads, window):
    plan = plan_workers(Resources(threads, memory=1 << 40), ALIGNMENTS, GENOME, may_fork=True)
    assert plan.window == window
