"""References in every form they come in, and every way they can be wrong."""

import gzip
import random

import pysam
import pytest

from helpers.seeding import random_letters, write_fasta
from readwarp.errors import InputError
from readwarp.formats.common import fasta
from readwarp.formats.common.fasta import read_contigs


def contigs(path) -> list[tuple[str, str]]:
    return [(name, letters.decode()) for name, letters in read_contigs(path)]


def written(tmp_path, data: bytes, name: str = "ref.fa"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("block", [1, 2, 7, 64, 1 << 24])
def test_blocks_of_any_size(tmp_path, monkeypatch, block):
    monkeypatch.setattr(fasta, "BLOCK", block)
    data = b"\n>a b\nACGT\nac>gt\n\n>c\nNNry\n>d\n  T T \n".replace(b">g", b"g")
    assert contigs(written(tmp_path, data)) == [("a", "ACGTACGT"), ("c", "NNRY"), ("d", "TT")]


@pytest.mark.parametrize(
    "data", [b">a\r\nACG\r\nTTN\r\n>b\r\nG\r\n", b">a\nACGTTN\n>b\nG", b">a x y\nACG\nTTN\n\n>b\n\nG\n\n\n"]
)
def test_line_ends(tmp_path, data):
    assert contigs(written(tmp_path, data)) == [("a", "ACGTTN"), ("b", "G")]


def test_names_as_they_are(tmp_path):
    names = ["HLA-A*01:01:01:01", "chr1,2", "gi|1|ref", "1", "x=y;z"]
    data = "".join(f">{name} first\nACGT\n" for name in names)
    assert [name for name, _ in contigs(written(tmp_path, data.encode()))] == names


def test_ten_thousand_contigs(tmp_path):
    data = b"".join(b">c%d\nACGTACGTAC\n" % i for i in range(10_000))
    found = contigs(written(tmp_path, data))
    assert len(found) == 10_000 and found[-1] == ("c9999", "ACGTACGTAC")


def test_same_as_htslib(tmp_path):
    rng = random.Random(4)
    path = write_fasta(tmp_path / "ref.fa", [random_letters(rng, n) for n in (1, 59, 60, 61, 5000)])
    with pysam.FastaFile(str(path)) as truth:
        assert contigs(path) == [(name, truth.fetch(name)) for name in truth.references]


@pytest.mark.parametrize("compress", [gzip.compress, lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])])
def test_gzip(tmp_path, compress):
    assert contigs(written(tmp_path, compress(b">a\nACGT\n>b\nGG\n"))) == [("a", "ACGT"), ("b", "GG")]


def test_bgzip_and_its_truncation(tmp_path):
    path = tmp_path / "ref.fa.gz"
    with pysam.BGZFile(str(path), "w") as file:
        file.write(b">a\nACGT\n")
    assert contigs(path) == [("a", "ACGT")]
    path.write_bytes(path.read_bytes()[:-28])
    with pytest.raises(InputError, match="truncated bgzip"):
        contigs(path)


@pytest.mark.parametrize("damage", [lambda d: d[:-9], lambda d: d[:60] + b"\0\0\0\0" + d[64:], lambda d: d[:12]])
def test_damaged_gzip(tmp_path, damage):
    data = gzip.compress((">a\n" + random_letters(random.Random(1), 4000)).encode())
    with pytest.raises(InputError, match=r"truncated: |corrupt compressed data"):
        contigs(written(tmp_path, damage(data)))


def test_genbank_and_embl(test_data, tmp_path):
    genbank = test_data / "odd" / "mitochondrion.gb"
    [(name, letters)] = contigs(genbank)
    assert name == "NC_012920.1" and len(letters) == 16569 and letters.startswith("GATCACAGGT")
    assert contigs(written(tmp_path, gzip.compress(genbank.read_bytes()))) == [(name, letters)]
    embl = b"ID   X1; SV 2; linear; genomic DNA; STD; PRO; 6 BP.\nXX\nSQ   Sequence 6 BP;\n     acgtnn     6\n//\n"
    assert contigs(written(tmp_path, embl)) == [("X1.2", "ACGTNN")]


def test_genbank_without_sequence(tmp_path, test_data):
    head, _, _ = (test_data / "odd" / "mitochondrion.gb").read_bytes().partition(b"\nORIGIN")
    with pytest.raises(InputError, match="no sequence"):
        contigs(written(tmp_path, head + b"\nCONTIG      join(J01415.2:1..16569)\n//\n"))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "holds no sequence"),
        (b"\n\n", "holds no sequence"),
        (b">a\nACGT\n>a\nACGT\n", "record a: this name occurs twice"),
        (b">a\nACGT\n>b\n", "record b: has no sequence"),
        (b">a\n>b\nACGT\n", "record a: has no sequence"),
        (b">a\nACXT\n", "record a: 'X' is not an IUPAC letter"),
        (b">a\nAC-T\n", "record a: '-' is not an IUPAC letter"),
        (b"> a\nACGT\n", "record 1: the contig has no name"),
        (b">a\nACGT\n>\nACGT\n", "record 2: the contig has no name"),
        (b">a\xff\nACGT\n", "not printable ASCII"),
        (b"ACGT\n", "not FASTA"),
        (b"@r\nACGT\n+\nIIII\n", "is FASTQ; the first argument must be the reference"),
        (b"\x00\x01\x02", "not FASTA"),
    ],
)
def test_bad_references(tmp_path, data, reason):
    with pytest.raises(InputError, match=reason):
        contigs(written(tmp_path, data))


def test_missing_file_and_folder(tmp_path):
    for path in (tmp_path / "none.fa", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            contigs(path)
