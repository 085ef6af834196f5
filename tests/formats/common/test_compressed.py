"""Input that is compressed by gzip, bzip2, xz or Zstandard, whole and damaged."""

import bz2
import gzip
import io
import lzma
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from helpers.command_samples import letters, record
from readwarp.call.candidates.sites.forced import read_alleles
from readwarp.errors import InputError
from readwarp.formats.common.compressed import READERS
from readwarp.formats.common.fasta import read_contigs
from readwarp.formats.common.intervals import read_intervals
from readwarp.formats.common.source import Source, kind_of
from readwarp.formats.variants.genomic_text import LineText
from readwarp.index.build import read_reference
from readwarp.pairwise.job import _records

zstd = import_module(READERS["zstd"][0])
COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress}
READS = "".join(record(f"r{i}", letters(100, i)) for i in range(3000)).encode()
SKIPPABLE_FRAME = b"\x50\x2a\x4d\x18\x04\x00\x00\x00\x01\x02\x03\x04"  # as pzstd writes before each frame


@pytest.fixture(params=COMPRESS)
def pack(request, tmp_path):
    """Write compressed bytes -> their file, whose name says nothing."""

    def pack(data: bytes, name: str = "file") -> Path:
        path = tmp_path / name
        path.write_bytes(COMPRESS[request.param](data))
        return path

    return pack


def content(path) -> bytes:
    source, buffer = Source(str(path)), np.empty(1 << 16, np.uint8)
    try:
        parts = []
        while got := source.read_into(buffer):
            parts.append(buffer[:got].tobytes())
        return b"".join(parts)
    finally:
        source.close()


def test_reads(pack):
    path = pack(READS)
    assert kind_of(str(path)) == "fastq" and content(path) == READS


def test_several_streams_in_one_file(pack):
    path = pack(READS)
    path.write_bytes(2 * path.read_bytes())
    assert content(path) == 2 * READS


def test_zstandard_that_begins_with_a_skippable_frame(tmp_path):
    path = tmp_path / "reads"
    path.write_bytes(SKIPPABLE_FRAME + zstd.compress(READS))
    assert content(path) == READS


def test_nothing_compressed(pack):
    assert kind_of(str(pack(b""))) == "empty"


@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_truncated(pack, share):
    path = pack(READS)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match="file: truncated: the compressed data end before their end marker"):
        content(path)


def test_damaged(pack):
    path = pack(READS)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2 : len(damaged) // 2 + 64] = bytes(64)
    path.write_bytes(damaged)
    with pytest.raises(InputError, match="file: corrupt compressed data"):
        content(path)


def test_stdin(pack, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(pack(READS).read_bytes()))))
    source, buffer = Source("-"), np.empty(1 << 20, np.uint8)
    assert source.kind == "fastq" and buffer[: source.read_into(buffer)].tobytes() == READS


def test_references(pack):
    assert [(name, bases) for name, bases in read_contigs(pack(b">a\nACGT\n>b\nGG\n"))] == [
        ("a", b"ACGT"),
        ("b", b"GG"),
    ]


def test_truncated_references(pack):
    path = pack(b">a\n" + letters(9000, 1).encode())
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="truncated"):
        list(read_contigs(path))


def test_a_plain_reference_with_the_letters_of_bgzip(tmp_path):
    path = tmp_path / "ref.fa"
    path.write_bytes(b">contig_1234BC\nACGT\n")
    assert [name for name, _ in read_contigs(path)] == ["contig_1234BC"]


def test_intervals(pack):
    assert [tuple(row[1:4]) for row in read_intervals(pack(b"a\t1\t5\n"))] == [("a", 1, 5)]


def test_truncated_intervals(pack):
    path = pack("".join(f"a\t{i}\t{i + 1}\n" for i in range(999)).encode())
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="truncated"):
        list(read_intervals(path))


def test_alleles(pack, tmp_path):
    (tmp_path / "ref.fa").write_text(">a\nACGTACGTAC\n")
    head = "##fileformat=VCFv4.2\n##contig=<ID=a>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    path = pack((head + "a\t3\t.\tG\tT\t.\t.\t.\n").encode())
    assert len(read_alleles(path, read_reference(tmp_path / "ref.fa"))) == 1


def test_text_of_genomic_vcf(pack):
    text = LineText(pack(b"##x\n#y\na\nb\n"), stays_open=True)
    assert (text.header(), text.lines(99)) == (["##x", "#y"], b"a\nb\n")
    text.close()


def test_sequences_of_pairwise(pack):
    assert list(_records(str(pack(b">a b\nACGT\n", "file.fa")))) == [("a", "ACGT")]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK\x03\x04\x00\x00", "is a ZIP archive: unpack it first"),
        (b"<!DOCTYPE html>", "is a web page: the download went wrong"),
        (b"##fileformat=VCFv4.2\n", "is VCF, not reads"),
        (b"NCBI.sra", "is an SRA archive: unpack it with `fasterq-dump`"),
        (b"\xff\xfe@\x00", "is UTF-16 text: save it as plain text"),
        (b"\xef\xbb\xbf@r\n", "begins with a byte order mark"),
    ],
)
def test_what_else_lies_under_the_name_of_reads(tmp_path, data, said):
    path = tmp_path / "reads.fq"
    path.write_bytes(data)
    with pytest.raises(InputError, match=said):
        kind_of(str(path))
