"""Batches of the align job within --memory and --vram."""

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.align_oracle import cut_pair, random_bases
from helpers.batch_samples import fastq
from helpers.cards import HAS_CARDS
from helpers.making import write_fasta
from helpers.seeding import planned as planned_workspace
from readwarp.align import steps
from readwarp.align.budget import (
    ENGINE,
    GROWTH,
    MAX_SORT,
    MIN_ENGINE,
    MIN_SORT,
    PAIRS,
    PINNED_BYTES,
    PLAIN_GROWTH,
    PROGRAM_BYTES,
    SORTED_AT_ONCE,
    WINDOW,
    TakenMemory,
    bytes_to_sort,
    card_for,
    card_of,
    plan_batches,
    plan_cards,
    reference_bytes,
    seed_bytes,
    workspace_bytes,
)
from readwarp.align.inputs import Inputs
from readwarp.align.insert_models import InsertModels
from readwarp.align.job import AlignJob, open_memory
from readwarp.align.long.ends import scalar as ends
from readwarp.align.pair import given as insert_sizes
from readwarp.cli.doctor import HUMAN
from readwarp.config import AlignParameters, Resources
from readwarp.device.backend import Backend
from readwarp.errors import MemoryBudgetError
from readwarp.finish.signatures import Libraries
from readwarp.finish.sort import SortSizes, memory_to_hold
from readwarp.finish.writer import Preparer
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.reads.raw import ReadInput
from readwarp.formats.reads.stream import open_reads
from readwarp.index import Index
from readwarp.metrics import Metrics
from readwarp.python.keywords import bytes_of
from readwarp.ragged import columns_of
from readwarp.stream.cards import Cards
from readwarp.stream.plan import AHEAD, CARD_BATCH, MIN_ON_CARD, Card, CardPlan, min_bytes, plan_card, readable

if HAS_CARDS:
    from readwarp.align.extend import cuda as extend
    from readwarp.align.long.chain import cuda as chain
    from readwarp.device.cuda_launch import WARP
    from readwarp.device.memory import PINNED
    from readwarp.device.staging import rounded
    from readwarp.finish import cuda_blocks
    from readwarp.pairwise import cuda_local

GB, MB = 1 << 30, 1 << 20
CARD = Backend("cuda", (0,))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    path = tmp_path_factory.mktemp("budget") / "ref.fa"
    letters = np.random.default_rng(1).choice(list("ACGT"), 5000)
    path.write_text(">a\n" + "".join(letters) + "\n")
    return Index.build(path)


@pytest.mark.cards
def test_pinned_memory_is_what_the_plan_counts():
    assert PINNED_BYTES == PINNED


def test_vram_does_not_matter_on_the_cpu(index):
    given = Resources(threads=2, memory=8 * GB, vram=1)
    planned = plan_batches(given, index, Backend("cpu"), 0)
    assert planned == plan_batches(Resources(threads=2, memory=8 * GB), index, Backend("cpu"), 0)
    job = AlignJob(reference=Path("ref.fa"), inputs=Inputs((), ()), resources=given)
    with closing(open_memory(job, index, None, Backend("cpu"), TakenMemory(0, 0), Metrics())[1]) as cards:
        assert cards.planned is None


@pytest.mark.cards
def test_batches_beside_cards_are_larger(index):
    given = Resources(threads=8, memory=64 * GB)
    sides = Backend("cpu"), Backend("cuda", (0,)), Backend("cuda", tuple(range(8)))
    made = [plan_batches(given, index, side, 0) for side in sides]
    assert [(plan.workers, plan.batch_bases / MB) for plan in made] == [(8, 4), (8, 32), (24, 32)]
    made = plan_cards(3 * GB, made[1], index, sides[1])
    assert made.workspaces == 8 and 4 * MB < made.batch_bases < 32 * MB and made.device_bytes <= 3 * GB


def test_memory_per_base_of_a_batch(index):
    """For reads of 150: 8 bytes a base, 400 a read, 150 for each of 4 candidates, half a byte for each of 40 cells.

    Trimmed reads and corrected ones are copies, of bases and of qualities.
    """
    whole, bases = 8 * GB, 1 << 20
    made = plan_batches(Resources(threads=1, memory=whole, batch_bases=bases), index, Backend("cpu"), 0)
    work, held = 8 + (400 + 4 * (150 + 40 / 2)) / 150, 4 + 300 / 150
    fixed = PROGRAM_BYTES + reference_bytes(index) + seed_bytes(index)
    assert made.peak_bytes == fixed + int(bases * (work + (made.in_flight + AHEAD) * held))
    trimming = plan_batches(Resources(threads=1, memory=whole, batch_bases=bases), index, Backend("cpu"), 0, True)
    assert trimming.peak_bytes == made.peak_bytes + 4 * bases


def planned(index, vram, devices=(0,), threads=4) -> CardPlan:
    given, backend = Resources(threads=threads, device="cuda", memory=64 * GB, vram=vram), Backend("cuda", devices)
    return plan_cards(vram, plan_batches(given, index, backend, 0), index, backend)


@pytest.mark.cards
def test_each_card_has_a_workspace_for_each_of_its_workers(index):
    assert planned(index, 64 * GB).workspaces == 4
    assert planned(index, 64 * GB, threads=1).workspaces == 3
    assert planned(index, 64 * GB, (0, 1), threads=1).workspaces == 3
    assert planned(index, 64 * GB, (0, 1), threads=16).workspaces == 8


@pytest.mark.cards
@pytest.mark.parametrize("vram", [256 * MB, 300 * MB, 512 * MB, GB, 3 * GB, 17 * GB])
def test_any_limit_from_256_mb_works_on_a_small_reference(index, vram):
    made = planned(index, vram, threads=8)
    assert made.device_bytes <= vram
    assert made.workspaces >= 3 and made.seeding == "cuda"


@pytest.mark.cards
def test_too_little_vram_states_the_minimum(index):
    with pytest.raises(MemoryBudgetError, match="--vram 1M is too small: one batch needs ") as caught:
        planned(index, MB)
    assert caught.value.exit_code == 5
    least = card_of(index).reference + workspace_bytes(MIN_ON_CARD, False)
    assert planned(index, least).device_bytes == least


@pytest.mark.cards
@pytest.mark.parametrize("bases", [1, MIN_ON_CARD, 1 << 18, 1 << 22, 1 << 24])
def test_a_workspace_has_room_for_what_its_steps_say(bases):
    reads = -(-bases // 150)
    pairs = reads * PAIRS
    engine = cuda_local.device_bytes(pairs, WINDOW)
    assert engine <= pairs * ENGINE + MIN_ENGINE
    scored = engine + rounded(pairs * WINDOW) + extend.oriented_bytes(bases) + bases
    assert scored <= workspace_bytes(bases, False) <= workspace_bytes(bases, True)


@pytest.mark.cards
@pytest.mark.parametrize("bases", [1, MIN_ON_CARD, 1 << 18, 1 << 22, 1 << 24])
def test_a_workspace_has_room_for_long_reads(bases):
    """An anchor for every eight bases; then both strands and the longest end, which may take half of what is left."""
    anchors = bases // 8 + 1
    chained = chain.device_bytes(anchors, anchors)
    extended = rounded(bases) + extend.oriented_bytes(bases) + 2 * rounded(ends.MAX_ROWS * 4 * WARP)
    assert max(chained, extended) <= workspace_bytes(bases, False)


@pytest.mark.cards
def test_a_batch_stays_within_its_plan(tmp_path):
    """Pairs with errors, from text to signed records in order; the last mates are not where they should be."""
    rng, genome = np.random.default_rng(3), {"one": random_bases(100_000, 1), "two": random_bases(20_000, 2)}
    reads = [mate for start in range(0, 99_000, 40) for mate in cut_pair(genome["one"], start)]
    reads[-300:] = reads[-300:-150] * 2
    reads = ["".join(base if rng.random() > 0.01 else rng.choice(list("ACGT")) for base in read) for read in reads]
    paths = tuple(str(tmp_path / f"{mate}.fq") for mate in (1, 2))
    for mate, path in enumerate(paths):
        rows = [(f"pair/{number}", read, "F" * len(read)) for number, read in enumerate(reads[mate::2])]
        Path(path).write_bytes(fastq(rows, "\n"))
    (batch,) = open_reads([ReadInput(paths)], 1 << 22)
    placed = steps.place(Index.build(write_fasta(tmp_path / "ref.fa", genome)), CARD)
    encoder, preparer = Encoder(placed.host.reference.names, ()), Preparer("coordinate", Libraries.of([]))
    with planned_workspace(workspace_bytes(sum(map(len, reads)), True)) as workspace:
        given = AlignParameters(), (metrics := Metrics()), (encoder, preparer)
        made = steps.prepare_batch(batch, placed, InsertModels(insert_sizes(350, 40)), *given)
    assert made.records >= len(batch) == metrics.counts["parsed_on_card"]
    assert workspace.capacity / 8 < workspace.high_water < workspace.capacity - MIN_ENGINE


def arrays(*values) -> int:
    """Bytes of the device arrays in dataclasses, each counted once."""
    found = {}
    for value in values:
        for field in columns_of(value):
            array = getattr(value, field)
            if hasattr(array, "copy_to_host"):
                found[id(array)] = array.nbytes
    return sum(found.values())


@pytest.mark.cards
@pytest.mark.parametrize("seeding", ["cuda", "cpu"])
def test_what_is_allocated_is_what_was_planned(index, seeding):
    on_card = reference_bytes(index) + (seed_bytes(index) if seeding == "cuda" else 0)
    made = CardPlan(3, workspace_bytes(MIN_ON_CARD, seeding == "cuda"), on_card, MIN_ON_CARD, seeding)
    cards = Cards(CARD, made, lambda backend, planned: steps.place(index, backend, seeding == "cpu"))
    with cards.borrow() as placed:
        there = arrays(placed, placed.there, placed.genome, placed.bases)
    assert there + cards.workspaces.allocated == made.device_bytes


@pytest.mark.cards
def test_the_plan_says_where_seeds_are_looked_up(index):
    card = card_of(index)
    assert (card.reference, card.seeds) == (reference_bytes(index), seed_bytes(index))
    assert planned(index, 256 * MB).index_bytes == card.reference + card.seeds


def described(card: Card, vram: int) -> str:
    try:
        made = plan_card(vram, card, 16, CARD_BATCH)
    except MemoryBudgetError:
        return f"exit code 5: at least {readable(min_bytes(card))}"
    where = ", seeds on the host" if made.seeding == "cpu" else ""
    return f"{made.workspaces} of {made.batch_bases / 1e6:.1f} million{where}"


@pytest.mark.cards
def test_the_page_says_what_is_planned():
    """docs/how-to/memory.md, for 16 threads; a human genome has its place from 2 GB on, also beside BAM's blocks."""
    page = (Path(__file__).parents[2] / "docs/how-to/memory.md").read_text()
    rows = re.findall(r"^\| (\d+[GM])(?: and more)? \| (.*) \| (.*) \| (.*) \|$", page, re.M)
    small, human = card_for(200_000), card_for(HUMAN)
    made = []
    for size, *_ in rows:
        vram = bytes_of(size)
        number, blocks = cuda_blocks.divided(vram // cuda_blocks.SHARE // cuda_blocks.device_bytes(1))
        beside = replace(human, beside=number * cuda_blocks.device_bytes(blocks))
        made.append((size, *(described(card, vram) for card in (small, human, beside))))
    assert rows == made
    assert {"2G", "4G", "8G", "16G", "24G"} <= {size for size, *_ in rows}
    assert all("exit" not in "".join(row) for row in rows if row[0] not in ("256M", "1G"))


def test_memory_for_sorting_follows_reads_and_budget(tmp_path):
    """Enough for all records, or to merge all files at once; an eighth of the budget, and never less than MIN_SORT."""
    small, exome, large = (tmp_path / f"{name}.fq.gz" for name in ("small", "exome", "large"))
    for path, size in ((small, 1 << 20), (exome, GB // 4), (large, 40 * GB)):
        with path.open("wb") as file:
            file.truncate(size)
    node = Resources(threads=1, memory=256 * GB)
    assert bytes_to_sort(node, [small]) == memory_to_hold((1 << 20) * GROWTH, 1)
    assert bytes_to_sort(Resources(threads=1, memory=2 * GB), [small]) == MIN_SORT
    assert bytes_to_sort(node, [exome, exome]) == memory_to_hold(GB // 2 * GROWTH, 1)
    exome.write_bytes(b"@" + bytes(GB // 4 - 1))
    assert bytes_to_sort(node, [exome, exome]) == memory_to_hold(GB // 2 * PLAIN_GROWTH, 1)
    assert bytes_to_sort(Resources(memory=16 * GB), [exome, exome]) == MIN_SORT
    assert bytes_to_sort(node, [large]) == 40 * GB * GROWTH // SORTED_AT_ONCE
    assert bytes_to_sort(node, [large, large]) == MAX_SORT
    assert bytes_to_sort(Resources(memory=32 * GB), [large]) == 4 * GB
    assert bytes_to_sort(Resources(memory=1 * GB), [large]) == MIN_SORT
    assert bytes_to_sort(node, [Path("-")]) == MAX_SORT


def test_a_whole_genome_is_merged_at_once():
    """At 30x, 90 GB of FASTQ.gz on a node with 64 threads: the temporary files are no more than are merged at once."""
    memory = min(90 * GB * GROWTH // SORTED_AT_ONCE, MAX_SORT)
    sizes = SortSizes.of(memory, 64)
    assert 380 * 800_000_000 / (sizes.capacity / 2) < sizes.most_runs
    assert 5 * 65 * sizes.piece <= memory // 2 + 65 * 5 * (1 << 20)
