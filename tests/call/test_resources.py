"""Workers and windows follow from the memory."""

from types import SimpleNamespace

import pytest

from readwarp.call.resources import plan_workers, window_size
from readwarp.call.steps import BYTES_PER_BASE
from readwarp.config import Resources
from readwarp.device.backend import Backend
from readwarp.stream.plan import PROCESS

MB, CPU, CARD = 1 << 20, Backend("cpu"), Backend("cuda", (0,))
ALIGNMENTS = SimpleNamespace(memory=5 * MB, sources=[1], samples=["s"])


@pytest.mark.parametrize(
    ("threads", "backend", "may_fork", "processes"),
    [(3, CPU, True, 0), (4, CPU, True, 4), (64, CPU, True, 64), (64, CPU, False, 0), (64, CARD, True, 0)],
)
def test_who_works(threads, backend, may_fork, processes):
    plan = plan_workers(Resources(threads, memory=64 << 30), ALIGNMENTS, backend, may_fork)
    assert (plan.processes, plan.threads) == (processes, threads)


@pytest.mark.parametrize("memory", [150, 600, 2048, 1 << 16])
def test_all_processes_fit(memory):
    plan = plan_workers(Resources(32, memory=memory * MB), ALIGNMENTS, CPU, may_fork=True)
    own = PROCESS + plan.max_bases * BYTES_PER_BASE
    assert 3 < plan.processes <= 32 and plan.processes * own + ALIGNMENTS.memory <= memory * MB
    assert plan.processes == 32 or (plan.processes + 1) * (own + PROCESS) > memory * MB
    assert window_size(plan, 1, None) >= 8192 and plan.max_bases >= 32 * 8192


def test_too_little_for_processes():
    plan = plan_workers(Resources(32, memory=100 * MB), ALIGNMENTS, CPU, may_fork=True)
    assert plan == (0, 32, 95 * MB // (32 * BYTES_PER_BASE))
