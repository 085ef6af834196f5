"""Memory of align batches on the host and on a card, and the plans within these budgets."""

from collections.abc import Iterable
from math import ceil
from pathlib import Path
from typing import NamedTuple

from readwarp.config import Resources, SeedParameters
from readwarp.device.backend import Backend
from readwarp.finish.sort import memory_to_hold
from readwarp.index import Index
from readwarp.index.plan import seed_bytes as seeds_for
from readwarp.stream import plan
from readwarp.stream.plan import Card, CardPlan, MemoryCosts, Plan
from readwarp.system.machine import free_memory

PROGRAM_BYTES = 350 << 20  # Python, Numba, LLVM and compiled kernels
CONTEXT_BYTES = 600 << 20  # of a card, for CUDA and its kernels, beside --vram: 524 to 562 MB on an H200
PINNED_BYTES = 8 << 20  # host memory of each workspace (readwarp.device.memory)
SORT_SHARE = 8  # fraction of the budget
MIN_SORT, MAX_SORT = 256 << 20, 16 << 30  # bytes
SORTED_AT_ONCE = 16  # multiples of the sort memory: at least a quarter goes to a file, and 64 files are merged at once
GROWTH, PLAIN_GROWTH = 6, 2  # bytes of records per byte of compressed and plain reads, roughly
MIN_ENGINE = 4 << 20  # bytes to align one long pair by dynamic programming

# Rates of a batch, generous for a mammalian genome
READ_LENGTH = 150
CANDIDATES = 4  # per read, on the host
CELLS = 40  # cells stored for the traceback, per candidate
FOUND = 256  # anchors per read, weak places included ...
ANCHORS = 64  # ... and excluded
CHAINS = 8  # per read
PAIRS = 2  # candidates and rescue windows per read that need dynamic programming
WINDOW = 256  # reference bases for each of these
ENGINE = 1024  # bytes of the pairwise engine for each of these
READ = 200  # bytes of a read, beside its bases and qualities: name, numbers, and where they are in the text
STEPS = 1600  # bytes per read that steps leave for those that follow, chains excluded: candidates, scores, choices
RECORDED = 4  # bytes per base of the records: bases and qualities, twice ...
RECORD = 1600  # ... and per read: names, CIGARs, tags, each of varying size twice
TRIMMED = 4  # bytes per base when trimming: copies of bases and qualities, cut and corrected


class TakenMemory(NamedTuple):
    """Bytes taken beside the batches: to sort records, and to compress them on a card."""

    host: int
    card: int  # of its budget


def budget_of(resources: Resources) -> int:
    """Return the bytes of host memory that may be used."""
    return resources.memory or int(plan.FREE_SHARE * free_memory())


def bytes_to_sort(resources: Resources, files: Iterable[Path]) -> int:
    """Return the memory for sorting the reads of these files.

    It holds all their records where it may; otherwise enough that all temporary files can be merged at once, and no
    more: memory never touched before costs time.
    """
    records = sum(map(bytes_of_records, files))
    room = min(budget_of(resources) // SORT_SHARE, MAX_SORT)
    held = memory_to_hold(records, resources.threads)
    return max(MIN_SORT, held if held <= room else min(records // SORTED_AT_ONCE, room))


def bytes_of_records(path: Path) -> int:
    """Estimate the bytes of the records of a file's reads; of a pipe, as many as can be."""
    if not path.is_file():
        return MAX_SORT * SORTED_AT_ONCE
    with path.open("rb") as file:
        return path.stat().st_size * (PLAIN_GROWTH if file.read(1) in (b"@", b">") else GROWTH)


def plan_batches(
    resources: Resources, index: Index, backend: Backend, sort_bytes: int, trims: bool = False, may_fork: bool = False
) -> Plan:
    """Plan the host's memory. may_fork: workers may be processes. Raises MemoryBudgetError."""
    is_on_cards, budget = backend.name == "cuda", budget_of(resources)
    workers = plan.workers_of(resources.threads, len(backend.devices))
    costs = MemoryCosts(
        fixed=PROGRAM_BYTES + reference_bytes(index) + seed_bytes(index) + sort_bytes,  # as if all were in memory
        fixed_per_worker=PINNED_BYTES if is_on_cards else 0,
        work_per_base=8 + trims * TRIMMED + (400 + CANDIDATES * (150 + CELLS * 0.5)) / READ_LENGTH,
        held_per_base=4 + 300 / READ_LENGTH,
    )
    make_plan = plan.plan_processes if may_fork and not is_on_cards else plan.plan
    batch_bases = resources.batch_bases or plan.usual_batch(workers, is_on_cards)
    return make_plan(budget, costs, workers, batch_bases, resources.memory is not None)


def plan_cards(room: int, planned: Plan, index: Index, backend: Backend, beside: int = 0) -> CardPlan:
    """Plan each card's memory, within `room` bytes, of which `beside` are taken. Raises MemoryBudgetError."""
    workspaces = ceil(planned.workers / len(backend.devices))
    return plan.plan_card(room, card_of(index, beside), workspaces, planned.batch_bases)


def card_of(index: Index, beside: int = 0) -> Card:
    return Card(reference_bytes(index), seed_bytes(index), workspace_bytes, beside)


def card_for(bases: int) -> Card:
    """Estimate the card for an index of this many reference bases with the standard seeds, one per five bases."""
    return Card(-(-bases // 2) + 16, seeds_for(bases, SeedParameters()), workspace_bytes)


def workspace_bytes(bases: int, seeded: bool) -> int:
    """Return the bytes of a batch on a card: what stays and the largest step, at the rates above.

    seeded: the card looks up seeds.

    A batch that needs more is aligned in halves.
    """
    from readwarp.align.chain import cuda as chain
    from readwarp.align.extend import cuda as extend
    from readwarp.align.seed import cuda as seed

    reads, t = ceil(bases / READ_LENGTH), SeedParameters().t
    anchors, chains, pairs = (reads * rate for rate in (ANCHORS, CHAINS, PAIRS))
    stays = 2 * bases + extend.oriented_bytes(bases) + (READ + STEPS) * reads + chain.kept_bytes(reads, chains)
    seeding = seed.device_bytes(reads, bases, t, reads * FOUND, anchors) + chain.device_bytes(reads, anchors)
    engine = extend.window_bytes(pairs, pairs * WINDOW) + pairs * ENGINE + MIN_ENGINE
    return stays + max(seeding if seeded else 0, engine, RECORDED * bases + RECORD * reads)


def reference_bytes(index: Index) -> int:
    return int(index.reference.packed.nbytes + index.reference.contig_offsets.nbytes)


def seed_bytes(index: Index) -> int:
    """Return the bytes needed beside the reference if the card looks up seeds."""
    return sum(array.nbytes for array in (index.bucket_starts, index.tags, index.positions))
