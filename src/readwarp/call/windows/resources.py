"""Plan the workers that process windows, and the memory of each."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, TypeVar

from readwarp.call.places.strips import Place
from readwarp.call.places.targets import MARGIN, bases_of
from readwarp.call.reads.inputs import AlignmentFiles
from readwarp.config import Resources
from readwarp.errors import MemoryBudgetError
from readwarp.formats.common.regions import Target
from readwarp.metrics import Metrics
from readwarp.stream import workers
from readwarp.stream.plan import PROCESS, PROGRAM, CardPlan, processes_of, readable
from readwarp.stream.processes import Reply
from readwarp.stream.workers import Workers
from readwarp.system.machine import free_memory
from readwarp.wording import counted

WINDOW, WIDEST_WINDOW = 1 << 17, 1 << 18  # reference bases; each window has some ms of fixed cost
EACH = 4  # least windows per worker before they become wider than WINDOW: workers should end together
LEAST_WINDOW, USUAL_DEPTH = 1 << 13, 32  # window size at which samples of that depth fit; deeper windows are cut
MIN_WINDOW = 1024  # is never cut further, however deep it is
NARROW = 4 * MARGIN  # bases of a window that reads less than half as much if it is cut again
BYTES_PER_BASE = 12  # peak memory, per base of the reads in a window
BYTES_PER_DEEP_BASE = 8  # for many reads in a narrow window, where little else counts
USUAL_WORKSPACE, MIN_WORKSPACE = 512 << 20, 32 << 20  # bytes on a card
DEPTH_OF_A_BATCH = 64  # reads across a base that --batch-bases assumes
S = TypeVar("S")


class WorkerPlan(NamedTuple):
    """Division of windows and memory among workers."""

    processes: int  # 0: threads
    threads: int
    max_bases: int  # bases of reads that each worker may hold
    window: int  # reference bases
    max_bases_alone: int  # bases of reads that one worker may hold while the others have none
    fixed: int  # bytes, beside reads


def plan_workers(
    resources: Resources, alignments: AlignmentFiles, targets: Sequence[Target], may_fork: bool, reference: int = 0
) -> WorkerPlan:
    """Plan processes, if there are more than a few, in memory as in windows. Raises MemoryBudgetError.

    reference: bytes. At most as many workers share the memory as there are windows, if cut to NARROW ones. Files are
    read one after the other, so their number adds indexes to the memory, but no buffers.
    """
    memory, held = resources.memory or free_memory() // 2, PROGRAM + reference + alignments.memory
    if memory <= held:
        files = f"the program, the reference and the indexes of {counted(len(alignments.sources), 'file')}"
        raise MemoryBudgetError(f"--memory {readable(memory)} is too small: {files} take {readable(held)}")
    room, threads = memory - held, min(resources.threads, max(1, _number(targets, NARROW)))
    depth, widest = USUAL_DEPTH * len(alignments.samples), _widest_window(resources, bases_of(targets), threads)
    processes = 0
    if may_fork:
        windows = _number(targets, widest)
        processes = processes_of(min(resources.threads, windows), room, LEAST_WINDOW * depth * BYTES_PER_BASE)
    room -= processes * PROCESS
    bases = room // (BYTES_PER_BASE * (processes or threads))
    window = min(widest, max(LEAST_WINDOW, bases // depth))
    return WorkerPlan(processes, threads, bases, window, room // BYTES_PER_DEEP_BASE, memory - room)


def memory_for(plan: WorkerPlan, bases: int) -> str:
    """Format the --memory that a narrow window with that many bases of reads takes."""
    return readable(plan.fixed + bases * BYTES_PER_DEEP_BASE)


def _number(targets: Sequence[Target], width: int) -> int:
    """Count the windows of that width."""
    return sum(-(-(target.stop - target.start) // width) for target in targets)


def _widest_window(resources: Resources, bases: int, threads: int) -> int:
    """Return the largest window for which there is memory. bases: to call."""
    if resources.batch_bases:
        return min(WIDEST_WINDOW, resources.batch_bases // DEPTH_OF_A_BATCH + 1)
    return min(WIDEST_WINDOW, max(WINDOW, bases // (EACH * threads)))


def open_workers(
    state: S, plan: WorkerPlan, alignments: AlignmentFiles, command: str, metrics: Metrics, reply: Reply | None = None
) -> AbstractContextManager[Workers[S]]:
    """Open workers; see `workers.open_workers`."""
    if plan.processes:
        alignments.rest()
    return workers.open_workers(state, plan.processes, plan.threads, [command], metrics, reply)


def halve(window: Place) -> tuple[Place, Place] | None:
    return window.halves() if window.stop - window.start > MIN_WINDOW else None


def plan_card(room: int) -> CardPlan:
    """Plan a workspace on each card, within so many bytes. Raises MemoryBudgetError."""
    if room < MIN_WORKSPACE:
        raise MemoryBudgetError(f"--vram {readable(max(0, room))} is too small: {readable(MIN_WORKSPACE)} are needed")
    return CardPlan(1, min(room, USUAL_WORKSPACE))
