"""What a batch of the align job costs, on the host and on a card, and the plan that follows from the budgets."""

from dataclasses import replace

from readwarp.config import Resources
from readwarp.device.backend import Backend
from readwarp.device.machine import free_memory
from readwarp.index import Index
from readwarp.stream.plan import Costs, Plan, Shape, plan

FREE_SHARE = 0.8  # of the free memory, when no budget is given
PROGRAM_BYTES = 350 << 20  # Python, Numba, LLVM and compiled kernels
LAUNCH_BYTES = 1 << 28  # of working memory that a worker's launches take on a card (readwarp.pairwise.cuda.ROOM)
SHAPE = Shape(read_length=150, candidates_per_read=4, cells_per_candidate=40)


def planned_batches(resources: Resources, index: Index, backend: Backend, sort_bytes: int) -> Plan:
    """The host's plan, its batches cut to what fits the card with the least memory. Raises MemoryBudgetError."""
    budget = resources.memory or int(FREE_SHARE * free_memory())
    made = plan(budget, host_costs(index, sort_bytes), SHAPE, resources.threads, resources.batch_bases)
    room = resources.vram or backend.free_memory(FREE_SHARE)
    if backend.name == "cpu" or room is None:
        return made
    sharing = -(-made.workers // len(backend.devices))
    there = plan(room, device_costs(index), SHAPE, sharing, made.batch_bases, "--vram")
    workers = min(made.workers, there.workers * len(backend.devices))
    return replace(made, batch_bases=there.batch_bases, workers=workers)


def host_costs(index: Index, sort_bytes: int) -> Costs:
    """The index is counted as if all of it were in memory."""
    return Costs(
        fixed=PROGRAM_BYTES + index_bytes(index) + sort_bytes,
        work_per_read=400,
        work_per_base=8,
        work_per_candidate=150,
        work_per_cell=0.5,
        held_per_read=300,
        held_per_base=4,
    )


def device_costs(index: Index) -> Costs:
    """Reads, seeds and candidates of a batch lie on the card while a worker has it; nothing waits there."""
    return Costs(
        fixed=index_bytes(index),
        fixed_per_worker=LAUNCH_BYTES,
        work_per_read=300,
        work_per_base=20,
        work_per_candidate=200,
    )


def index_bytes(index: Index) -> int:
    arrays = (index.reference.packed, index.bucket_starts, index.tags, index.positions)
    return sum(array.nbytes for array in arrays)
