"""The contents of an index, compared with plain Python."""

import random
from hashlib import md5

import numpy as np
import pytest

from helpers.seeding import entries, random_letters, write_fasta
from readwarp import Index
from readwarp.config import PRESETS, SeedParameters
from readwarp.errors import InputError
from readwarp.formats.common import fasta
from readwarp.index import build, partition, plan
from readwarp.index.plan import bucket_bits_for
from readwarp.rules.bases import CODES, unpack

SEEDS = [preset.parameters.seed for preset in PRESETS.values()]

RNG = random.Random(3)
REFERENCES = {
    "one": [random_letters(RNG, 3000)],
    "many": [random_letters(RNG, RNG.randrange(1, 60)) for _ in range(200)],
    "tiny": ["ACGT", "A", random_letters(RNG, 19), random_letters(RNG, 20)],
    "gaps": ["N" * 50 + random_letters(RNG, 100) + "N" + random_letters(RNG, 30) + "RYK", "N" * 100],
    "repeats": [random_letters(RNG, 97) * 30, "A" * 500 + "CA" * 300],
}


def listed(index: Index) -> list[tuple[int, int, int, int]]:
    """(bucket, tag, strand, position) of each entry, in order."""
    buckets = np.repeat(np.arange(index.bucket_starts.size - 1), np.diff(index.bucket_starts))
    rows = zip(buckets, index.tags >> 1, index.tags & 1, index.positions, strict=True)
    return [tuple(map(int, row)) for row in rows]


def letters_of(index: Index) -> str:
    codes = np.empty(int(index.reference.contig_offsets[-1]), np.uint8)
    unpack(index.reference.packed, 0, codes.size, codes)
    return "".join("ACGTN"[code] for code in codes)


@pytest.mark.parametrize("p", [*SEEDS, SeedParameters(k=7, s=3, t=2)], ids=lambda p: f"k{p.k}")
@pytest.mark.parametrize("name", REFERENCES)
def test_entries_are_those_of_plain_python(tmp_path, name, p):
    contigs = REFERENCES[name]
    index = Index.build(write_fasta(tmp_path / "ref.fa", contigs), p, threads=2)
    bits = bucket_bits_for(sum(map(len, contigs)))
    assert listed(index) == entries(contigs, p, bits)
    assert index.bucket_starts.size == (1 << bits) + 1 and index.bucket_starts[-1] == index.positions.size


@pytest.mark.parametrize("stretch", [64, 1000, 4096])
def test_stretches_threads_and_pieces_change_nothing(tmp_path, monkeypatch, stretch):
    path = write_fasta(tmp_path / "ref.fa", [*REFERENCES["many"], *REFERENCES["one"], *REFERENCES["gaps"]])
    whole = Index.build(path, threads=1)
    for module in (plan, partition):
        monkeypatch.setattr(module, "STRETCH", stretch)
    parts = Index.build(path, threads=3)
    for name in ("bucket_starts", "tags", "positions"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


@pytest.mark.parametrize("inner_bits", [0, 3, 8])
def test_partitions_change_nothing(tmp_path, monkeypatch, inner_bits):
    """Large genomes have more partitions; here a partition is made to have few bits instead."""
    path = write_fasta(tmp_path / "ref.fa", REFERENCES["one"] * 3)
    whole = Index.build(path)
    monkeypatch.setattr(plan, "MAX_INNER_BITS", inner_bits)
    parts = Index.build(path)
    for name in ("bucket_starts", "tags", "positions"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


def test_reference(tmp_path):
    path = tmp_path / "ref.fa"
    path.write_bytes(b">a\nacgtRN\n>HLA-A*01:01 x\nTTG\n")
    index = Index.build(path)
    assert index.reference.names == ("a", "HLA-A*01:01")
    assert index.reference.contig_offsets.tolist() == [0, 6, 9]
    assert index.reference.md5 == tuple(md5(s).hexdigest() for s in (b"ACGTRN", b"TTG"))
    assert letters_of(index) == "ACGTNNTTG"
    assert repr(index) == "Index(2 contigs, 9 bases, 0 seeds, k=20, s=16)"
    assert repr(index.reference) == "Reference(2 contigs, 9 bases)"
    path.write_bytes(b">a\nacgt\n")
    alone = Index.build(path)
    assert repr(alone) == "Index(1 contig, 4 bases, 0 seeds, k=20, s=16)" and "(1 contig," in repr(alone.reference)


@pytest.mark.parametrize("name", ["odd/portiera_genome.fa.gz", "odd/mitochondrion.gb", "na12878_chr21/ref.fa"])
def test_real_references(test_data, name):
    index = Index.build(test_data / name, threads=2)
    letters = "".join(contig.letters.decode() for contig in fasta.read_contigs(test_data / name))
    unpacked = letters_of(index)
    assert unpacked == "".join("ACGTN"[code] for code in CODES[np.frombuffer(letters.encode(), np.uint8)])
    assert 0.1 < index.positions.size / len(letters) < 0.25
    for row in RNG.sample(range(index.positions.size), 200):
        position = int(index.positions[row])
        assert set(unpacked[position : position + 20]) <= set("ACGT")


def test_at_most_two_bytes_a_base(test_data):
    index = Index.build(test_data / "odd" / "portiera_genome.fa.gz", threads=2)
    arrays = (index.reference.packed, index.bucket_starts, index.tags, index.positions)
    assert sum(array.nbytes for array in arrays) < 2 * int(index.reference.contig_offsets[-1])


def test_too_large_a_reference(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "MAX_BASES", 99)
    path = write_fasta(tmp_path / "ref.fa", ["A" * 60, "C" * 40])
    with pytest.raises(InputError, match="record c1: more than 99 bases"):
        Index.build(path)


def test_too_long_a_contig(tmp_path, monkeypatch):
    """SAM and BAM have 31 bits for a length."""
    path = write_fasta(tmp_path / "ref.fa", ["A" * 60, "C" * 61])
    monkeypatch.setattr(fasta, "MAX_CONTIG", 60)
    with pytest.raises(InputError, match="record c1: longer than 60 bases, the limit of BAM"):
        Index.build(path)
    monkeypatch.setattr(fasta, "MAX_CONTIG", 61)
    assert Index.build(path).reference.contig_offsets.tolist() == [0, 60, 121]


@pytest.mark.parametrize(("bases", "bits"), [(1, 8), (70_000_000, 22), (3_100_000_000, 27), ((1 << 32) - 1, 27)])
def test_buckets_take_a_quarter_of_a_byte_at_most(bases, bits):
    assert bucket_bits_for(bases) == bits
    assert 4 << bits <= max(bases // 4, 1024)
