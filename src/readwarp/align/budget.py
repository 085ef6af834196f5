"""What a batch of the align job costs, on the host and on a card, and the plans that follow from the budgets."""

from dataclasses import dataclass
from math import ceil

from readwarp.config import Resources, SeedParameters
from readwarp.device.backend import Backend
from readwarp.device.machine import free_memory
from readwarp.index import Index
from readwarp.index.build import bucket_bits_for
from readwarp.stream.plan import FREE_SHARE, Card, CardPlan, Costs, Plan, Shape, plan, plan_card, workers_of

PROGRAM_BYTES = 350 << 20  # Python, Numba, LLVM and compiled kernels
CONTEXT_BYTES = 512 << 20  # that CUDA and its kernels take of a card, beside --vram; about, until measured
PINNED_BYTES = 8 << 20  # of the host, for each workspace (readwarp.device.memory)
SHAPE = Shape(read_length=150, candidates_per_read=4, cells_per_candidate=40)
LEAST_ENGINE = 4 << 20  # bytes of the dynamic programming of one long pair


@dataclass(frozen=True, slots=True)
class Rates:
    """What else comes with the reads of a batch on a card, generously for a mammalian genome."""

    found_per_read: float = 256  # anchors, before weak places are left out ...
    anchors_per_read: float = 64  # ... and after
    chains_per_read: float = 8
    pairs_per_read: float = 2  # candidates and rescue windows that need dynamic programming
    window: int = 256  # bases of reference of each
    bytes_per_pair: int = 1024  # rows or directions of the engine


ON_CARD = Rates()


def plan_batches(resources: Resources, index: Index, backend: Backend, sort_bytes: int) -> Plan:
    """The host's plan. Raises MemoryBudgetError."""
    budget = resources.memory or int(FREE_SHARE * free_memory())
    costs = host_costs(index, sort_bytes, backend)
    return plan(budget, costs, SHAPE, workers_of(resources.threads, len(backend.devices)), resources.batch_bases)


def plan_cards(room: int, planned: Plan, index: Index, backend: Backend) -> CardPlan:
    """What each card is given of `room` bytes. Raises MemoryBudgetError."""
    return plan_card(room, card_of(index), ceil(planned.workers / len(backend.devices)), planned.batch_bases)


def host_costs(index: Index, sort_bytes: int, backend: Backend) -> Costs:
    """The index is counted as if all of it were in memory."""
    return Costs(
        fixed=PROGRAM_BYTES + reference_bytes(index) + seed_bytes(index) + sort_bytes,
        fixed_per_worker=PINNED_BYTES if backend.name == "cuda" else 0,
        work_per_read=400,
        work_per_base=8,
        work_per_candidate=150,
        work_per_cell=0.5,
        held_per_read=300,
        held_per_base=4,
    )


def card_of(index: Index) -> Card:
    return Card(reference_bytes(index), seed_bytes(index), workspace_bytes)


def card_for(bases: int) -> Card:
    """Of an index of so many reference bases, with the standard seeds: one for every five bases."""
    parameters = SeedParameters()
    entries = bases // (parameters.k - parameters.s + 1)
    seeds = 4 * ((1 << bucket_bits_for(bases)) + 1) + (2 + 4) * entries
    return Card(-(-bases // 2) + 16, seeds, workspace_bytes)


def workspace_bytes(bases: int, seeded: bool) -> int:
    """What a batch takes of a card, by what its steps say, at the rates of SHAPE and ON_CARD.

    Batches of other reads may need more: they are done in halves then. seeded: seeds are looked up on the card.
    """
    from readwarp.align.chain import cuda as chain
    from readwarp.align.extend import cuda as extend
    from readwarp.align.seed import cuda as seed
    from readwarp.device.memory import rounded

    reads, t = ceil(bases / SHAPE.read_length), SeedParameters().t
    candidates, pairs = ceil(reads * SHAPE.candidates_per_read), ceil(reads * ON_CARD.pairs_per_read)
    found, anchors, chains = (
        ceil(reads * rate) for rate in (ON_CARD.found_per_read, ON_CARD.anchors_per_read, ON_CARD.chains_per_read)
    )
    seeding = seed.device_bytes(reads, bases, t, found, anchors) + chain.device_bytes(reads, anchors, chains)
    engine = extend.window_bytes(pairs, pairs * ON_CARD.window)[1] + pairs * ON_CARD.bytes_per_pair + LEAST_ENGINE
    extending = extend.oriented_bytes(bases) + max(
        extend.scored_bytes(candidates), extend.traced_bytes(candidates), engine
    )
    return rounded(bases) + rounded(8 * (reads + 1)) + max(seeding if seeded else 0, extending)


def reference_bytes(index: Index) -> int:
    return int(index.reference.packed.nbytes)


def seed_bytes(index: Index) -> int:
    """Of what is on a card if seeds are looked up there."""
    arrays = (index.reference.contig_offsets, index.bucket_starts, index.tags, index.positions)
    return sum(array.nbytes for array in arrays)
