"""A reference beyond 2^32 bases: reads of its last contigs come out as those of the same contigs alone."""

import random
from pathlib import Path

import numpy as np
import pytest

from helpers.seeding import random_letters, reverse_complement, write_fasta
from readwarp import Aligner, Index
from readwarp.align.results import Records
from readwarp.index import Reference
from readwarp.ragged import replace

RNG = random.Random(11)
UNIT = random_letters(RNG, 300)
CONTIGS = [random_letters(RNG, 6001), random_letters(RNG, 2000) + UNIT + random_letters(RNG, 999) + UNIT]
BEFORE = ("before1", "before2", "before3")
SHIFT = 2 * ((1 << 31) - 1) + 4


@pytest.fixture(scope="module")
def near(tmp_path_factory):
    return Index.build(write_fasta(tmp_path_factory.mktemp("wide") / "ref.fa", CONTIGS))


@pytest.fixture(scope="module")
def far(near, tmp_path_factory):
    """The same contigs after three others, whose bases (all A) are the hole of a sparse file, and are not indexed."""
    known = near.reference
    path = tmp_path_factory.mktemp("wide") / "packed"
    with path.open("wb") as file:
        file.seek(SHIFT // 2)
        file.write(known.packed.tobytes())
    reference = Reference(
        BEFORE + known.names,
        np.concatenate([[0, (1 << 31) - 1, 2 * ((1 << 31) - 1)], known.contig_offsets + SHIFT]),
        ("0" * 32,) * len(BEFORE) + known.md5,
        np.memmap(path, np.uint8, "r"),
    )
    starts, positions = near.bucket_starts.astype(np.uint64), near.positions.astype(np.uint64) + np.uint64(SHIFT)
    assert positions.min() >= 1 << 32
    return replace(near, reference=reference, bucket_starts=starts, positions=positions)


def changed(letters: str, rate: float) -> str:
    """With mismatches, and now and then a base more or less."""
    made = (
        RNG.choice(["ACGT"[RNG.randrange(4)], "", letter * 2]) if RNG.random() < rate else letter for letter in letters
    )
    return "".join(made)


def short_pairs() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    first, second = [], []
    for number in range(60):
        contig = CONTIGS[number % 2]
        start = RNG.randrange(len(contig) - 400)
        one, two = changed(contig[start : start + 120], 0.02), changed(contig[start + 280 : start + 400], 0.02)
        mates = (one, reverse_complement(two)) if number % 3 else (reverse_complement(two), one)
        first.append((f"p{number}", mates[0]))
        second.append((f"p{number}", mates[1]))
    return first, second


def long_reads() -> list[tuple[str, str]]:
    whole = [changed(contig, 0.08) for contig in CONTIGS]
    split = CONTIGS[0][500:3000] + reverse_complement(CONTIGS[1][:1900])
    return [("one", whole[0]), ("two", reverse_complement(whole[1])), ("split", split)]


def lines_of(records: Records, folder: Path) -> list[str]:
    """Of a SAM file, without its header."""
    records.write(folder / "x.sam", force=True)
    return [line for line in (folder / "x.sam").read_text().splitlines() if line[0] != "@"]


def test_short_reads(near, far, tmp_path):
    pairs = short_pairs()
    here, there = (lines_of(Aligner(index).align(*pairs), tmp_path) for index in (near, far))
    assert here == there
    assert sum("\tc1\t" in line for line in there) > 50


def test_long_reads(near, far, tmp_path):
    reads = long_reads()
    here, there = (lines_of(Aligner(index, preset="ont").align(reads), tmp_path) for index in (near, far))
    assert here == there
    assert sum("\tc1\t" in line for line in there) >= 2
