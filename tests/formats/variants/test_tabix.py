"""The index that is made while a VCF.gz is written is that of tabix."""

import random
from typing import NamedTuple

import pysam
import pytest
from pysam import bcftools

from helpers.binning_indexes import read_index
from readwarp.formats.common.bgzf import BLOCK
from readwarp.formats.variants import tabix
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


def write(path, texts, header=HEADER, longest=LENGTHS["chr1"], threads=1) -> None:
    with VariantWriter(str(path), header, longest, threads) as writer:
        for text in texts:
            writer.write(text)


def check(path, lines: list[Line], regions=()) -> None:
    """The same as tabix but for the order of bins, and the lines of regions."""
    (ours,) = (own for own in (path.with_name(f"{path.name}{ending}") for ending in (".tbi", ".csi")) if own.exists())
    theirs = path.with_suffix(f".theirs{ours.suffix}")
    pysam.tabix_index(str(path), preset="vcf", keep_original=True, index=str(theirs), csi=ours.suffix == ".csi")
    assert read_index(ours) == read_index(theirs)
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
    assert int(bcftools.index("-n", str(tmp_path / "a.vcf.gz"))) == len(lines)


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


def test_long_contigs(tmp_path):
    """CSI: BAI and TBI end at 2^29."""
    length = 700_000_000
    header = HEADER.replace(f"length={LENGTHS['chr1']}", f"length={length}")
    lines = [Line("chr1", 100, "A"), Line("chr1", 600_000_000, "ACG"), Line("chr1", length, "A"), Line("chr10", 7, "A")]
    write(tmp_path / "a.vcf.gz", [line.text() for line in lines], header, length)
    check(tmp_path / "a.vcf.gz", lines, [("chr1", 599_999_000, 600_000_001), ("chr1", length - 1, length)])
    assert (tmp_path / "a.vcf.gz.csi").exists() and not (tmp_path / "a.vcf.gz.tbi").exists()


def test_any_pieces_and_threads(tmp_path, monkeypatch):
    """The same bytes."""
    lines, made = [line.text() for line in random_lines(9, 300)], set()
    for number, (piece, threads) in enumerate(((1, 3), (50_000, 2), (1 << 30, 1))):
        monkeypatch.setattr(tabix, "PIECE", piece)
        write(tmp_path / f"{number}.vcf.gz", lines, threads=threads)
        made.add((tmp_path / f"{number}.vcf.gz.tbi").read_bytes())
    assert len(made) == 1
