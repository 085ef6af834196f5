"""Seeds in chunks and in rounds of partitions: whatever memory there is, the index is the same."""

import random
from dataclasses import replace

import numpy as np
import pytest

from helpers.seeding import random_letters, write_fasta
from readwarp.config import SeedParameters
from readwarp.errors import MemoryBudgetError
from readwarp.index import partition, store
from readwarp.index.build import index_reference, read_reference
from readwarp.index.plan import CHUNK, plan_build

RNG = random.Random(5)
CONTIGS = [random_letters(RNG, RNG.randrange(1, 30_000)) for _ in range(20)]
SEEDS = SeedParameters()


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return read_reference(write_fasta(tmp_path_factory.mktemp("rounds") / "ref.fa", CONTIGS))


def plan_for(reference, threads=1):
    return plan_build(int(reference.contig_offsets[-1]), SEEDS, threads, 1 << 40)


def arrays_of(reference, plan) -> list[np.ndarray]:
    return list(store.gather(index_reference(reference, plan)).values())


def agree(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def whole(reference):
    return arrays_of(reference, plan_for(reference))


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("rounds", [2, 7, 64])
def test_rounds_and_workers_change_nothing(reference, whole, rounds, workers):
    assert agree(whole, arrays_of(reference, replace(plan_for(reference), rounds=rounds, workers=workers)))


@pytest.mark.parametrize("rounds", [1, 3])
def test_positions_of_more_bits_than_entries_hold(reference, whole, monkeypatch, rounds):
    """As of references beyond 2^32 bases: here, entries hold 14 bits, and the others are those of the chunks."""
    monkeypatch.setattr(partition, "STRETCH", 1 << 12)
    plan = plan_for(reference, threads=3)
    few = replace(plan, form=plan.form._replace(position_bits=14), rounds=rounds, chunks=9000)
    assert whole[-1].max() > 10 << 14
    assert agree(whole, arrays_of(reference, few))


@pytest.mark.parametrize("spare", [0, 1 << 40])
def test_more_seeds_than_planned(reference, whole, spare):
    """A round that does not fit gets more memory, or is halved."""
    few = replace(plan_for(reference), chunks=40, spare_bytes=spare)
    assert few.chunks * CHUNK < whole[-1].size / 5
    rounds = [part.last - part.first for part in partition.partition_seeds(reference, few)]
    assert rounds == [256] if spare else len(rounds) > 5 and sum(rounds) == 256
    assert agree(whole, arrays_of(reference, few))


def test_seeds_too_frequent_for_the_budget(tmp_path):
    """All of them are in one partition, which cannot be halved."""
    reference = read_reference(write_fasta(tmp_path / "ref.fa", [random_letters(RNG, 30) * 3000]))
    plan = replace(plan_for(reference), chunks=1, spare_bytes=0)
    with pytest.raises(MemoryBudgetError, match="some seeds are so frequent that building the index takes 2"):
        arrays_of(reference, plan)


def test_full_buckets_are_sorted(tmp_path):
    """Buckets with many entries are sorted otherwise than those with few."""
    unit = random_letters(RNG, 211)
    reference = read_reference(write_fasta(tmp_path / "ref.fa", [unit * 50 + random_letters(RNG, 100) + unit * 30]))
    starts, tags, positions = arrays_of(reference, plan_for(reference))
    assert np.diff(starts).max() > 50
    keys = np.repeat(np.arange(starts.size - 1), np.diff(starts)) << 48 | tags.astype(np.int64) << 32 | positions
    assert np.all(np.diff(keys) > 0)
