"""The workers that windows are dealt to, and the memory of each."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import ceil
from typing import NamedTuple, TypeVar

from readwarp.call.inputs import Alignments
from readwarp.call.pairhmm.shared import SharedCard
from readwarp.call.steps import BYTES_PER_BASE
from readwarp.call.strips import Place
from readwarp.call.targets import bases_of
from readwarp.config import Resources
from readwarp.device.backend import Backend
from readwarp.device.machine import free_memory
from readwarp.errors import MemoryBudgetError
from readwarp.formats.common.regions import Target
from readwarp.metrics import Metrics
from readwarp.stream import workers
from readwarp.stream.cards import Cards, open_cards
from readwarp.stream.halving import Divisible
from readwarp.stream.plan import PROCESS, CardPlan, processes_of, share_card, workers_of
from readwarp.stream.processes import Reply
from readwarp.stream.workers import Workers
from readwarp.wording import counted

WINDOW, WIDEST_WINDOW = 1 << 17, 1 << 18  # reference bases; some ms of a window are the same for each
EACH = 4  # windows for a worker, at least, before they become wider than WINDOW: workers should end together
LEAST_WINDOW, USUAL_DEPTH = 1 << 13, 32  # a window is made to fit if samples have that depth; deeper ones are cut
MIN_WINDOW = 1024  # is not cut further, however deep it is
USUAL_WORKSPACE, MIN_WORKSPACE = 512 << 20, 32 << 20  # bytes on a card; deep windows are cut until they fit
DEPTH_OF_A_BATCH = 64  # reads across a base, as --batch-bases assumes
S = TypeVar("S")


class WorkerPlan(NamedTuple):
    """How windows are shared."""

    processes: int  # 0: threads
    threads: int
    max_bases: int  # of reads that each worker may hold
    window: int  # reference bases


def plan_workers(
    resources: Resources,
    alignments: Alignments,
    backend: Backend,
    targets: Sequence[Target],
    may_fork: bool,
    per_base: int = BYTES_PER_BASE,
) -> WorkerPlan:
    """Processes, if they are more than a few, in memory as in windows. Raises MemoryBudgetError.

    Files are read one after the other, so their number adds indexes to the memory, and no buffers.
    """
    memory, held = resources.memory or free_memory() // 2, alignments.memory
    if memory <= held:
        files = f"the indexes of {counted(len(alignments.sources), 'file')} take {held >> 20:,} MB"
        raise MemoryBudgetError(f"{files}: more than the {memory >> 20:,} MB of --memory")
    room, threads = memory - held, workers_of(resources.threads, len(backend.devices))
    depth, widest = USUAL_DEPTH * len(alignments.samples), _widest_window(resources, bases_of(targets), threads)
    processes = 0
    if may_fork:
        windows = sum(-(-(target.stop - target.start) // widest) for target in targets)
        processes = processes_of(min(resources.threads, windows), room, LEAST_WINDOW * depth * per_base)
    bases = (room - processes * PROCESS) // (per_base * (processes or threads))
    return WorkerPlan(processes, threads, bases, min(widest, max(LEAST_WINDOW, bases // depth)))


def _widest_window(resources: Resources, bases: int, threads: int) -> int:
    """Bases of a window, where there is memory for it. bases: to call."""
    if resources.batch_bases:
        return min(WIDEST_WINDOW, resources.batch_bases // DEPTH_OF_A_BATCH + 1)
    return min(WIDEST_WINDOW, max(WINDOW, bases // (EACH * threads)))


def open_workers(
    state: S,
    plan: WorkerPlan,
    alignments: Alignments,
    command: str,
    metrics: Metrics,
    reply: Reply | None = None,
) -> AbstractContextManager[Workers[S]]:
    """See `workers.open_workers`."""
    if plan.processes:
        alignments.rest()
    return workers.open_workers(state, plan.processes, plan.threads, [command], metrics, reply)


def halve(window: Place) -> tuple[Place, Place] | None:
    return window.halves() if window.stop - window.start > MIN_WINDOW else None


WINDOWS: Divisible[Place] = Divisible(
    lambda w: w.stop - w.start, halve, "windows_halved", "windows_on_host", lambda w: 1
)


def open_memory(resources: Resources, backend: Backend, workers: WorkerPlan, metrics: Metrics) -> Cards[Place, Backend]:
    """A workspace for each thread; smaller ones, then fewer, if --vram or the free memory of a card is less.

    Processes share one.
    """

    def plan(room: int) -> CardPlan:
        number = 1 if workers.processes else ceil(workers.threads / len(backend.devices))
        return share_card(room, number, USUAL_WORKSPACE, MIN_WORKSPACE)

    return open_cards(backend, plan, resources.vram, WINDOWS, lambda side, _: side, metrics)


def share_cards(cards: Cards[Place, Backend]) -> SharedCard:
    """What answers worker processes."""
    assert cards.planned is not None
    step, is_full = cards.backend.step("readwarp.call.pairhmm"), cards.backend.is_out_of_memory
    return SharedCard(step.sum_given, cards.borrow, is_full, cards.planned.capacity)


def no_cards() -> Cards[Place, Backend]:
    """Those of a worker process."""
    return Cards(Backend("cpu"), None, WINDOWS, lambda side, _: side)
