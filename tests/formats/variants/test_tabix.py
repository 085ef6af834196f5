"""The index that is made while a VCF.gz is written finds what tabix finds."""

import gzip
import random
import struct
import subprocess
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.formats.common.bgzf import BLOCK
from readwarp.formats.variants import tabix
from readwarp.formats.variants.tabix import bins_of
from readwarp.formats.variants.vcf import VariantWriter

LENGTHS = {"chr1": 500_000_000, "HLA-A*01:01": 3000, "chr10": 90_000, "none": 1000}
CONTIGS = "".join(f"##contig=<ID={name},length={length}>\n" for name, length in LENGTHS.items())
END = '##INFO=<ID=END,Number=1,Type=Integer,Description=".">\n'
HEADER = f"##fileformat=VCFv4.2\n{CONTIGS}{END}#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts\n"


class Line(NamedTuple):
    contig: str
    position: int
    ref: str
    end: int | None = None  # in INFO
    padding: int = 0  # letters that make the line longer

    def text(self, information: str = "") -> bytes:
        information += "" if self.end is None else f"{';' * bool(information)}END={self.end}"
        same = f"{self.contig}\t{self.position}\t.\t{self.ref}\tC\t.\t{'x' * self.padding or 'PASS'}"
        return f"{same}\t{information or '.'}\tGT\t0/1\n".encode()


def write(path, texts) -> None:
    with VariantWriter(str(path), HEADER, max(LENGTHS.values())) as writer:
        for text in texts:
            writer.write(text)


class Index(NamedTuple):
    """Taken apart."""

    head: tuple[int, ...]
    names: list[bytes]
    bins: list[dict[int, list[tuple[int, int]]]]
    windows: list[tuple[int, ...]]
    rest: bytes


def read_index(path) -> Index:
    data = gzip.decompress(path.read_bytes())
    assert data[:4] == b"TBI\x01"
    count, *head, size = struct.unpack_from("<8i", data, 4)
    at, index = 36 + size, Index(tuple(head), data[36 : 36 + size].split(b"\0")[:-1], [], [], b"")
    for _ in range(count):
        (number,), at, bins = struct.unpack_from("<i", data, at), at + 4, {}
        for _ in range(number):
            own, chunks = struct.unpack_from("<Ii", data, at)
            words = struct.unpack_from(f"<{2 * chunks}Q", data, at + 8)
            bins[own], at = list(zip(words[::2], words[1::2], strict=True)), at + 8 + 16 * chunks
        (number,) = struct.unpack_from("<i", data, at)
        index.windows.append(struct.unpack_from(f"<{number}Q", data, at + 4))
        index.bins.append(bins)
        at += 4 + 8 * number
    return index._replace(rest=data[at:])


def check(path, lines: list[Line], regions=()) -> None:
    """The same as tabix but for chunks, which it may join, and the lines of regions that both find."""
    ours = path.with_suffix(".gz.tbi")
    made = read_index(ours)
    theirs = pysam.tabix_index(str(path), preset="vcf", keep_original=True, index=str(path.with_suffix(".theirs.tbi")))
    known = read_index(path.with_suffix(".theirs.tbi"))
    assert theirs and (made.head, made.names, made.windows, made.rest) == known[:2] + known[3:]
    for own, other in zip(made.bins, known.bins, strict=True):
        assert own[tabix.COUNTS] == other[tabix.COUNTS]
        chunks = sorted(chunk for number, found in own.items() if number != tabix.COUNTS for chunk in found)
        first, last = own[tabix.COUNTS][0]
        assert chunks[0][0] == first and chunks[-1][1] == last
        assert all(one[1] == two[0] for one, two in pairwise(chunks))
    with pysam.TabixFile(str(path), index=str(ours)) as file:
        assert file.contigs == list(dict.fromkeys(line.contig for line in lines))
        for contig, start, stop in regions:
            found = list(file.fetch(contig, start, stop)) if contig in file.contigs else []
            expected = [
                line
                for line in lines
                if line.contig == contig
                and line.position - 1 < stop
                and (line.end or line.position - 1 + len(line.ref)) > start
            ]
            assert [tuple(row.split("\t")[:2]) for row in found] == [(x.contig, str(x.position)) for x in expected]


def random_lines(seed: int, number: int) -> list[Line]:
    rng, out = random.Random(seed), []
    for contig in ("chr1", "HLA-A*01:01", "chr10"):
        length = LENGTHS[contig]
        own = sorted(rng.randrange(1, length - 500) for _ in range(number))
        for position in own:
            ref = "A" * rng.choice((1, 1, 1, 5, 300))
            end = rng.choice((None, None, position + 400, min(length, position + rng.randrange(400, 400_000))))
            out.append(Line(contig, position, ref, end, rng.choice((0, 0, 30, 3000))))
    return out


@pytest.mark.parametrize("seed", range(4))
def test_as_tabix(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(tabix, "PIECE", 20_000 + 7000 * seed)
    rng, lines = random.Random(seed), random_lines(seed, 400)
    texts, at = [], 0
    while at < len(lines):
        step = rng.randrange(1, 60)
        texts.append(b"".join(line.text("DP=3" * (at % 2)) for line in lines[at : at + step]))
        at += step
    write(tmp_path / "a.vcf.gz", texts)
    starts = [(contig, rng.randrange(length)) for contig, length in LENGTHS.items() for _ in range(30)]
    regions = [(contig, start, start + rng.randrange(1, 200_000)) for contig, start in starts]
    check(tmp_path / "a.vcf.gz", lines, regions)
    count = subprocess.run(
        ["bcftools", "index", "-n", tmp_path / "a.vcf.gz"], capture_output=True, text=True, check=True
    )
    assert int(count.stdout) == len(lines)


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, 2 * BLOCK])
def test_lines_that_end_with_a_block(size, tmp_path):
    """The next one begins in the next block."""
    first, last = Line("chr1", 5, "A"), Line("chr1", 20_000, "A")
    missing = -(len(HEADER) + len(first.text()) + size) % BLOCK
    lines = [first._replace(padding=4 + missing + size), last]
    write(tmp_path / "a.vcf.gz", [line.text() for line in lines])
    check(tmp_path / "a.vcf.gz", lines, [("chr1", 0, 10), ("chr1", 19_999, 20_000)])


def test_no_lines(tmp_path):
    write(tmp_path / "a.vcf.gz", [b""])
    check(tmp_path / "a.vcf.gz", [])


def test_words_like_end(tmp_path):
    """END= counts at the beginning of a field only, also where it ends the line."""
    text = b"chr1\t100\t.\tA\tC\t.\t.\tXEND=90000;WEND=3\nchr1\t200\t.\tA\tC\t.\t.\tDP=1;END=40000\n"
    write(tmp_path / "a.vcf.gz", [text])
    check(tmp_path / "a.vcf.gz", [Line("chr1", 100, "A"), Line("chr1", 200, "A", 40_000)], [("chr1", 35_000, 36_000)])


@given(st.lists(st.tuples(st.integers(0, (1 << 29) - 2), st.integers(1, 1 << 20)), min_size=1, max_size=20))
@settings(max_examples=50)
def test_bins(spans):
    """By the rule of the SAM specification, 5.3."""
    begin, size = np.array(spans).T
    end = np.minimum(begin + size, 1 << 29)
    assert bins_of(begin, end).tolist() == [reg2bin(*pair) for pair in zip(begin.tolist(), end.tolist(), strict=True)]


def reg2bin(begin: int, end: int) -> int:
    end -= 1
    for first, shift in ((4681, 14), (585, 17), (73, 20), (9, 23), (1, 26)):
        if begin >> shift == end >> shift:
            return first + (begin >> shift)
    return 0
