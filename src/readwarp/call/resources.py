"""The workers that windows are dealt to, and the memory of each."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import ceil
from typing import NamedTuple, TypeVar

from readwarp.call.inputs import Alignments
from readwarp.call.steps import BYTES_PER_BASE
from readwarp.call.strips import Place
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
from readwarp.stream.workers import Workers
from readwarp.wording import counted

WINDOW = 1 << 17  # reference bases
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


def plan_workers(
    resources: Resources, alignments: Alignments, backend: Backend, targets: Sequence[Target], may_fork: bool
) -> WorkerPlan:
    """On the CPU processes, if they are more than a few, in memory as in windows. Raises MemoryBudgetError.

    Files are read one after the other, so their number adds indexes to the memory, and no buffers.
    """
    memory, held = resources.memory or free_memory() // 2, alignments.memory
    if memory <= held:
        files = f"the indexes of {counted(len(alignments.sources), 'file')} take {held >> 20:,} MB"
        raise MemoryBudgetError(f"{files}: more than the {memory >> 20:,} MB of --memory")
    room, threads = memory - held, workers_of(resources.threads, len(backend.devices))
    least = LEAST_WINDOW * USUAL_DEPTH * len(alignments.samples) * BYTES_PER_BASE
    processes = 0
    if may_fork and backend.name == "cpu":
        size = _largest_window(resources)
        windows = sum(-(-(target.stop - target.start) // size) for target in targets)
        processes = processes_of(min(threads, windows), room, least)
    bases = (room - processes * PROCESS) // (BYTES_PER_BASE * (processes or threads))
    return WorkerPlan(processes, threads, bases)


def window_size(plan: WorkerPlan, samples: int, resources: Resources) -> int:
    """Reference bases."""
    return min(_largest_window(resources), max(LEAST_WINDOW, plan.max_bases // (USUAL_DEPTH * samples)))


def _largest_window(resources: Resources) -> int:
    return min(WINDOW, resources.batch_bases // DEPTH_OF_A_BATCH + 1) if resources.batch_bases else WINDOW


def open_workers(
    state: S, plan: WorkerPlan, alignments: Alignments, command: str, metrics: Metrics
) -> AbstractContextManager[Workers[S]]:
    """See `workers.open_workers`."""
    if plan.processes:
        alignments.rest()
    return workers.open_workers(state, plan.processes, plan.threads, [command], metrics)


def halve(window: Place) -> tuple[Place, Place] | None:
    return window.halves() if window.stop - window.start > MIN_WINDOW else None


WINDOWS: Divisible[Place] = Divisible(
    lambda w: w.stop - w.start, halve, "windows_halved", "windows_on_host", lambda w: 1
)


def open_memory(resources: Resources, backend: Backend, metrics: Metrics) -> Cards[Place, Backend]:
    """A workspace for each worker; smaller ones, then fewer, if --vram or the free memory of a card is less."""

    def plan(room: int) -> CardPlan:
        cards = len(backend.devices)
        return share_card(room, ceil(workers_of(resources.threads, cards) / cards), USUAL_WORKSPACE, MIN_WORKSPACE)

    return open_cards(backend, plan, resources.vram, WINDOWS, lambda side, _: side, metrics)
