"""Blocks as lines: joined across windows, in order with records, and read by bcftools without a warning."""

from itertools import pairwise

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import codes, random_sequence, write_fasta
from helpers.vcf_checks import body, quiet_bcftools
from readwarp.call.places.bases import Window
from readwarp.call.records.confidence.bands import Confidence, join_positions
from readwarp.call.records.variant_job import GENOMIC_FIELDS
from readwarp.formats.variants.calls import Bands
from readwarp.formats.variants.gvcf import BlockJoiner, lines_of_blocks, piece_of
from readwarp.formats.variants.vcf import Header, VariantWriter
from readwarp.ragged import take

NAMES = ("one", "two")
SEQUENCE = random_sequence(60, seed=3)


def bands_from(quality, start=0, stop=None, wanted=None, ploidy=2, contig=0) -> Bands:
    """Blocks of [start, stop) from the GQ of each position (-1: nothing is known)."""
    here = slice(start, stop)
    quality = np.array(quality, np.int32)
    likelihoods = np.zeros((quality.size, ploidy + 1), np.int32)
    likelihoods[:, 1:] = np.maximum(quality, 0)[:, None] * np.arange(1, ploidy + 1)
    depth = np.where(quality < 0, 0, quality // 3 + 1).astype(np.int32)
    wanted = np.ones(quality.size, bool) if wanted is None else np.array(wanted, bool)
    base, copies = codes(SEQUENCE)[: quality.size], np.full(quality.size, ploidy, np.int8)
    confidence = Confidence(base, copies, depth, np.minimum(quality, 99), likelihoods)
    window = Window(contig, start, quality.size if stop is None else stop, base, 0)
    return join_positions(window, take(confidence, "positions", here), wanted[here])


def test_lines():
    bands = bands_from([20, 26, 22, -1, 5])
    text, ends = lines_of_blocks(bands, "HLA*1:2")
    lines = text.decode().splitlines()
    assert ends == [0, *np.cumsum([len(line) + 1 for line in lines]).tolist()]
    base = SEQUENCE
    assert lines == [
        f"HLA*1:2\t1\t.\t{base[0]}\t<NON_REF>\t.\t.\tEND=3\tGT:DP:GQ:MIN_DP:PL\t0/0:8:20:7:0,20,40",
        f"HLA*1:2\t4\t.\t{base[3]}\t<NON_REF>\t.\t.\tEND=4\tGT:DP:GQ:MIN_DP:PL\t./.:0:0:0:0,0,0",
        f"HLA*1:2\t5\t.\t{base[4]}\t<NON_REF>\t.\t.\tEND=5\tGT:DP:GQ:MIN_DP:PL\t0/0:2:5:2:0,5,10",
    ]
    haploid = lines_of_blocks(bands_from([120, 99], ploidy=1), "c")[0].decode()
    assert haploid == f"c\t1\t.\t{base[0]}\t<NON_REF>\t.\t.\tEND=2\tGT:DP:GQ:MIN_DP:PL\t0:38:99:34:0,99\n"
    assert lines_of_blocks(bands_from([]), "c") == (b"", [0])


def record(position: int, size: int = 1) -> tuple[int, bytes]:
    return position, f"one\t{position + 1}\t.\t{SEQUENCE[position : position + size]}\tX\n".encode()


def positions_of(text: bytes) -> list[tuple[int, int]]:
    """First and last 0-based position of each line."""
    out = []
    for line in text.decode().splitlines():
        fields = line.split("\t")
        start = int(fields[1]) - 1
        end = int(fields[7].removeprefix("END=")) if len(fields) > 5 else start + len(fields[3])
        out.append((start, end))
    return out


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from([-1, 5, 12, 33, 34, 70]), min_size=1, max_size=40),
    st.dictionaries(st.integers(0, 39), st.integers(1, 4), max_size=6),
    st.lists(st.integers(0, 40), max_size=6),
)
def test_windows_change_nothing_and_every_position_is_there_once(quality, records, cuts):
    size, wanted = len(quality), np.ones(len(quality), bool)
    rows = []
    for position, length in sorted(records.items()):
        length = min(length, size - position)
        if length > 0 and wanted[position : position + length].all():
            wanted[position : position + length] = False
            rows.append(record(position, length))

    def run(borders: list[int]) -> bytes:
        joiner, out = BlockJoiner(NAMES), b""
        for start, stop in pairwise(borders):
            own = [row for row in rows if start <= row[0] < stop]
            out += joiner.add(piece_of(bands_from(quality, start, stop, wanted), own, NAMES))
        return out + joiner.finish()

    whole = run([0, size])
    assert run(sorted({0, size, *(min(cut, size) for cut in cuts)})) == whole
    spans = positions_of(whole)
    assert [start for start, _ in spans] == [0, *(stop for _, stop in spans[:-1])] and spans[-1][1] == size
    assert sum(line in whole for _, line in rows) == len(rows)


def test_blocks_of_contigs_and_ploidies_stay_apart():
    joiner = BlockJoiner(NAMES)
    one, two = bands_from([40, 40]), bands_from([40, 40], contig=1)
    haploid = bands_from([40] * 6, 4, 6, ploidy=1)
    diploid = bands_from([40] * 4, 2, 4)
    assert joiner.add(piece_of(one, [], NAMES)) == b""
    assert joiner.add(piece_of(diploid, [], NAMES)) == b""
    assert positions_of(joiner.add(piece_of(haploid, [], NAMES))) == [(0, 4)]
    assert positions_of(joiner.add(piece_of(two, [], NAMES))) == [(4, 6)]
    assert joiner.finish().startswith(b"two\t1\t") and joiner.finish() == b""


INFO = "DP=20;QD=2.5;MQ=60;FS=0;SOR=0.7;ED=12"


def write(path, sample: str, position: int) -> str:
    """A gVCF of one contig with a heterozygous substitution."""
    contigs = [("one", 60, "0" * 32), ("two", 60, "0" * 32)]
    fields = GENOMIC_FIELDS
    header = Header(
        contigs, [sample], "call", "ref.fa", fields.information, fields.filters, fields.genotypes, fields.extra
    ).text()
    wanted = np.ones(60, bool)
    wanted[position] = False
    other = "ACGT"["CGTA".index(SEQUENCE[position])]
    line = (
        f"one\t{position + 1}\t.\t{SEQUENCE[position]}\t{other},<NON_REF>\t50\tPASS\t{INFO}\tGT:GQ:DP:AD:PL\t"
        "0/1:50:20:10,10,0:50,0,60,80,90,140\n"
    )
    joiner, quality = BlockJoiner(NAMES), [70] * 20 + [30] * 10 + [-1] * 5 + [70] * 25
    writer = VariantWriter(str(path), header, 60)
    writer.write(joiner.add(piece_of(bands_from(quality, wanted=wanted), [(position, line.encode())], NAMES)))
    writer.write(joiner.finish())
    writer.close()
    return str(path)


@pytest.mark.parametrize("kind", ["vcf", "vcf.gz", "bcf"])
def test_bcftools_takes_it(tmp_path, kind):
    fasta = str(write_fasta(tmp_path / "ref.fa", {"one": SEQUENCE, "two": SEQUENCE}))
    path = write(tmp_path / f"a.{kind}", "first", 10)
    spans = [(0, 10), (10, 11), (11, 20), (20, 30), (30, 35), (35, 60)]
    with pysam.VariantFile(path) as file:
        assert [(r.start, r.stop) for r in file] == spans
    assert len(body(quiet_bcftools("view", path))) == len(spans)
    checked = body(quiet_bcftools("norm", "--check-ref", "e", "-f", fasta, path))
    assert [(int(row[1]) - 1, row[4][-9:]) for row in checked] == [(start, "<NON_REF>") for start, _ in spans]
    every = body(quiet_bcftools("convert", "--gvcf2vcf", "-f", fasta, path))
    assert [int(row[1]) for row in every] == list(range(1, 61))
    assert [row[3] for row in every] == list(SEQUENCE)
    if kind != "vcf":  # by its index: the block that reaches into the region
        (row,) = body(quiet_bcftools("view", "-r", "one:25-26", path))
        assert row[1] == "21"


def test_bcftools_merges_two(tmp_path):
    fasta = str(write_fasta(tmp_path / "ref.fa", {"one": SEQUENCE, "two": SEQUENCE}))
    first, second = write(tmp_path / "a.vcf.gz", "first", 10), write(tmp_path / "b.vcf.gz", "second", 25)
    rows = body(quiet_bcftools("merge", "--gvcf", fasta, first, second))
    spans = [
        (int(row[1]) - 1, int(row[7].split("END=")[1].split(";")[0]) if "END=" in row[7] else int(row[1]))
        for row in rows
    ]
    assert [start for start, _ in spans] == [0, *(stop for _, stop in spans[:-1])] and spans[-1][1] == 60
    genotypes = {}
    for row in rows:
        alleles = [row[3], *row[4].split(",")]
        numbers = [sample.split(":")[0].split("/") for sample in row[9:]]
        genotypes[int(row[1]) - 1] = ["".join(alleles[int(n)] if n != "." else n for n in own) for own in numbers]
    here, there = SEQUENCE[10], SEQUENCE[25]
    assert genotypes[10] == [here + "ACGT"["CGTA".index(here)], here * 2]
    assert genotypes[25] == [there * 2, there + "ACGT"["CGTA".index(there)]]
    assert genotypes[30] == ["..", ".."]
