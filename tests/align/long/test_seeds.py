"""Seeds of long reads compared with plain Python on small references."""

import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.seeding import entries, random_letters, read_batch, reverse_complement, syncmers, write_fasta
from readwarp import Index
from readwarp.align.long import seeds
from readwarp.align.long.seeds import find_seeds
from readwarp.config import LongSeedParameters, SeedParameters

RNG = random.Random(8)
UNIT, UNIQUE = random_letters(RNG, 90), random_letters(RNG, 3000)
CONTIGS = [
    UNIQUE,
    "".join(random_letters(RNG, 9) + UNIT for _ in range(30)),
    reverse_complement(UNIQUE[1000:1400]) + "N" * 30 + UNIQUE[400:450],
    "ACGTACG",
]
WHOLE = "".join(CONTIGS)


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    return Index.build(write_fasta(tmp_path_factory.mktemp("seed") / "ref.fa", CONTIGS), SeedParameters())


@cache
def places_of(p: SeedParameters, bits: int) -> dict[int, list[tuple[int, int]]]:
    """(strand, position) of the entries of each bucket and tag."""
    places: dict[int, list[tuple[int, int]]] = {}
    for bucket, tag, strand, position in entries(CONTIGS, p, bits):
        places.setdefault(bucket << 15 | tag, []).append((strand, position))
    return places


syncmers_of = cache(syncmers)


def expected(read: str, index: Index, p: LongSeedParameters) -> tuple[list[int], int]:
    """Anchors by the rules of the step, and how many seeds were left out."""
    bits = (index.bucket_starts.size - 1).bit_length() - 1
    places = places_of(index.parameters, bits)
    stretches: dict[int, list[tuple[int, int, list[tuple[int, int]]]]] = {}
    for i, hashed, strand in syncmers_of(read, index.parameters):
        found = places.get(hashed >> (64 - bits - 15), [])
        if hashed % (1 << p.sampling_bits) == 0 and found:
            stretches.setdefault(i // p.stretch, []).append((i, strand, found))
    anchors, left_out = [], 0
    for mine in stretches.values():
        used = [seed for seed in mine if len(seed[2]) <= p.max_hits]
        if not used:
            used = [seed for seed in [min(mine, key=lambda seed: len(seed[2]))] if len(seed[2]) <= p.rescue_hits]
        left_out += len(mine) - len(used)
        for i, strand, found in used:
            for entry, position in found:
                on_strand = i if entry == strand else len(read) - index.parameters.k - i
                anchors.append((entry ^ strand) << 63 | position << 24 | on_strand)
    return sorted(anchors), left_out


def check(reads: list[str], index: Index, p: LongSeedParameters) -> None:
    hits = find_seeds(read_batch(reads), index, p, 1 << 24)
    for number, read in enumerate(reads):
        mine = hits.anchors[hits.anchor_offsets[number] : hits.anchor_offsets[number + 1]].tolist()
        assert (mine, hits.repetitive[number]) == expected(read, index, p)
    assert not hits.status.any()


@pytest.mark.parametrize("sampling_bits", [0, 2])
@pytest.mark.parametrize(("max_hits", "rescue_hits"), [(50, 1024), (5, 40), (5, 10), (1, 2)])
def test_equals_plain_python(index, sampling_bits, max_hits, rescue_hits):
    reads = [UNIQUE, reverse_complement(CONTIGS[1]), WHOLE, "", "ACGT", "N" * 700, UNIQUE[:500] + UNIT * 9]
    check(reads, index, LongSeedParameters(sampling_bits, max_hits, 512, rescue_hits))


@settings(max_examples=40)
@given(st.data())
def test_any_reads(index, data):
    reads = []
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(WHOLE)))
        read = WHOLE[start : start + data.draw(st.integers(0, 4000))]
        reads.append(reverse_complement(read) if data.draw(st.booleans()) and "N" not in read else read)
    bits, most = data.draw(st.integers(0, 3)), data.draw(st.integers(1, 40))
    check(reads, index, LongSeedParameters(bits, most, data.draw(st.integers(1, 900)), most + 20))


def test_reads_of_many_pieces(index):
    """A syncmer across the border of two pieces is found, and found once."""
    rng = random.Random(3)
    read = "".join(UNIQUE[start : start + 400] for start in (rng.randrange(2600) for _ in range(200)))
    assert len(read) > 4 * seeds.PIECE
    check([read, read[5:], UNIQUE], index, LongSeedParameters(sampling_bits=0, stretch=100))
    whole = find_seeds(read_batch([read]), index, LongSeedParameters(sampling_bits=0), 1 << 24)
    assert np.all(np.diff(whole.anchors.astype(np.int64)) > 0)
