"""Whole runs with --gvcf and --alleles on a small BAM: what is in the files, and what must not change it."""

import random

import numpy as np
import pysam
import pytest

from helpers.jobs import call_variants
from helpers.making import Read, other, random_sequence, tiled, write_bam, write_fasta, write_vcf
from helpers.vcf_checks import body, quiet_bcftools
from readwarp.config import Resources
from readwarp.errors import InputError, UsageError
from readwarp.metrics import Metrics

SEQUENCE = random_sequence(3000, seed=31)
for _place, _bases in ((700, "AGGCTA"), (1500, "GT" + "CA" * 9 + "GG"), (2000, "A")):
    SEQUENCE = SEQUENCE[:_place] + _bases + SEQUENCE[_place + len(_bases) :]
CONTIGS = {"one": SEQUENCE, "bare": random_sequence(300, seed=12)}
GAP = (2300, 2420)  # no read lies here


def snv(position: int) -> tuple[int, str, str]:
    return position, SEQUENCE[position], other(SEQUENCE[position])


BOTH = [snv(300), (700, SEQUENCE[700:704], SEQUENCE[700])]
FIRST = [snv(500), (1501, "TCA", "T"), (2000, SEQUENCE[2000], SEQUENCE[2000] + "GATTACAT"), snv(2700)]
SECOND = [snv(1000), snv(1010)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder, rng, reads = tmp_path_factory.mktemp("gvcf"), random.Random(3), []
    for read in tiled([sorted(BOTH + FIRST), sorted(BOTH + SECOND)], SEQUENCE, step=5, length=100):
        bases = list(read.bases)
        if rng.random() < 0.3:
            bases[rng.randrange(len(bases))] = rng.choice("ACGT")
        if read.stop <= GAP[0] or read.position >= GAP[1]:
            reads.append(
                ("one", Read(read.position, read.cigar, "".join(bases), read.qualities, read.flag, 60, read.name))
            )
    bam = write_bam(folder / "made.bam", {n: len(s) for n, s in CONTIGS.items()}, reads)
    return write_fasta(folder / "ref.fa", CONTIGS), bam


def run(made, output, *, parameters=None, threads=1, batch_bases=None, **options) -> Metrics:
    return call_variants(*made, output, parameters, Resources(threads=threads, batch_bases=batch_bases), **options)


def rows(path) -> list[list[str]]:
    return body(path.read_text())


def is_block(row: list[str]) -> bool:
    return row[4] == "<NON_REF>"


def last_of(row: list[str]) -> int:
    return int(row[7].removeprefix("END=")) if is_block(row) else int(row[1]) + len(row[3]) - 1


@pytest.fixture(scope="module")
def gvcf(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("gvcf") / "a.vcf"
    run(made, path, gvcf=True)
    return path


def test_every_position_is_in_one_block_or_under_records(gvcf):
    for name, sequence in CONTIGS.items():
        blocks, records = np.zeros((2, len(sequence)), int)
        for row in rows(gvcf):
            if row[0] == name:
                target = blocks if is_block(row) else records
                target[int(row[1]) - 1 : last_of(row)] += 1
        assert ((blocks == 1) == (records == 0)).all() and blocks.max() == 1


def test_records_are_those_of_the_vcf(made, gvcf, tmp_path):
    run(made, tmp_path / "plain.vcf")
    plain, found = rows(tmp_path / "plain.vcf"), [row for row in rows(gvcf) if not is_block(row)]
    assert len(plain) >= 8
    for row in found:
        assert row[4].endswith(",<NON_REF>")
        row[4] = row[4].removesuffix(",<NON_REF>")
    assert [row[:7] for row in found] == [row[:7] for row in plain]
    assert [row[9].split(":")[0] for row in found] == [row[9].split(":")[0] for row in plain]


def test_fields_of_every_line_agree(gvcf):
    with pysam.VariantFile(str(gvcf)) as file:
        for record in file:
            call = record.samples[0]
            phred, genotype = call["PL"], call["GT"]
            alleles = len(record.alleles)
            assert len(phred) == alleles * (alleles + 1) // 2
            if None in genotype:
                assert set(phred) == {0} and call["GQ"] == 0
                continue
            a, b = sorted(genotype)
            here = b * (b + 1) // 2 + a
            assert phred[here] == 0 == min(phred)
            assert call["GQ"] == min(99, *(x for i, x in enumerate(phred) if i != here))
            if alleles == 2 and record.alts == ("<NON_REF>",):
                assert genotype == (0, 0) and call["MIN_DP"] <= call["DP"]
            else:
                assert len(call["AD"]) == alleles and call["AD"][-1] == 0 and sum(call["AD"]) <= call["DP"]


def test_what_no_read_covers_is_unknown(gvcf):
    for row in rows(gvcf):
        genotype, depth, *_ = row[9].split(":")
        if row[0] == "bare":
            assert (row[1], last_of(row), genotype, depth) == ("1", 300, "./.", "0")
        elif GAP[0] < int(row[1]) and last_of(row) <= GAP[1] - 1:
            assert genotype == "./."


@pytest.mark.parametrize(("threads", "batch_bases"), [(2, 64 * 700), (1, 64 * 333)])
def test_windows_and_threads_change_nothing(made, gvcf, tmp_path, threads, batch_bases):
    run(made, tmp_path / "b.vcf", gvcf=True, threads=threads, batch_bases=batch_bases)
    assert rows(tmp_path / "b.vcf") == rows(gvcf)


def test_regions_cut_blocks_at_their_border_only(made, gvcf, tmp_path):
    parts, border = [], 1250
    for i, target in enumerate([("one", 0, border), ("one", border, 3000)]):
        run(made, tmp_path / f"{i}.vcf", gvcf=True, regions=[target])
        parts.append(rows(tmp_path / f"{i}.vcf"))
    whole = [row for row in rows(gvcf) if row[0] == "one"]
    cut = next(i for i, row in enumerate(whole) if int(row[1]) <= border < last_of(row))
    assert is_block(whole[cut])
    assert parts[0][:-1] + parts[1][1:] == whole[:cut] + whole[cut + 1 :]
    assert (last_of(parts[0][-1]), parts[1][0][1]) == (border, str(border + 1))
    assert (parts[0][-1][1], last_of(parts[1][0])) == (whole[cut][1], last_of(whole[cut]))


def test_targets_that_share_a_window_have_their_own_blocks(made, gvcf, tmp_path):
    targets = [("one", 100, 200), ("one", 350, 351), ("one", 1240, 1300)]
    run(made, tmp_path / "all.vcf", gvcf=True, regions=targets)
    for i, target in enumerate(targets):
        run(made, tmp_path / f"{i}.vcf", gvcf=True, regions=[target])
    assert rows(tmp_path / "all.vcf") == [row for i in range(len(targets)) for row in rows(tmp_path / f"{i}.vcf")]


def test_bcftools_takes_it(made, gvcf):
    fasta = str(made[0])
    assert body(quiet_bcftools("view", str(gvcf))) == rows(gvcf)
    assert len(body(quiet_bcftools("norm", "--check-ref", "e", "-f", fasta, str(gvcf)))) == len(rows(gvcf))
    every = body(quiet_bcftools("convert", "--gvcf2vcf", "-f", fasta, str(gvcf)))
    assert len({(row[0], row[1]) for row in every}) >= 3290


@pytest.mark.parametrize("ploidy", [1, 3, 20])
def test_other_ploidies(made, tmp_path, ploidy):
    bed = tmp_path / "ploidy.bed"
    bed.write_text(f"one\t1200\t3000\t{ploidy}\n")
    run(made, tmp_path / "a.vcf", gvcf=True, ploidies=bed)
    for row in rows(tmp_path / "a.vcf"):
        copies = row[9].split(":")[0].replace("|", "/").count("/") + 1
        assert copies == (ploidy if row[0] == "one" and int(row[1]) > 1200 else 2)
    borders = {int(row[1]) for row in rows(tmp_path / "a.vcf")}
    assert 1201 in borders


def test_no_copies(made, tmp_path):
    """Where the sample lacks the contig, there is one block without a genotype; forced alleles have none either."""
    bed, asked = tmp_path / "ploidy.bed", tmp_path / "asked.vcf"
    bed.write_text("one\t1200\t3000\t0\n")
    asked.write_text("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n" + forced_line(snv(2700)))
    run(made, tmp_path / "a.vcf", gvcf=True, ploidies=bed)
    (inside,) = (row for row in rows(tmp_path / "a.vcf") if 1200 < int(row[1]) <= 3000 and row[0] == "one")
    assert inside[1] == "1201" and last_of(inside) == 3000
    values = dict(zip(inside[8].split(":"), inside[9].split(":"), strict=True))
    assert values["GT"] == values["PL"] == "." and values["GQ"] == "0" and int(values["DP"]) > 5
    run(made, tmp_path / "b.vcf", ploidies=bed, alleles=asked)
    (row,) = (row for row in rows(tmp_path / "b.vcf") if int(row[1]) > 1200)
    values = dict(zip(row[8].split(":"), row[9].split(":"), strict=True))
    assert row[1] == "2701" and row[6] == "." and values["GT"] == values["PL"] == "."
    assert pysam.VariantFile(str(tmp_path / "b.vcf")).header.samples[0]


def forced_line(variant: tuple[int, str, str]) -> str:
    position, reference, other_base = variant
    return f"one\t{position + 1}\t.\t{reference}\t{other_base}\t.\t.\t.\n"


def test_several_samples_have_no_gvcf(made, tmp_path):
    groups = {"RG": [{"ID": "g", "SM": "x"}, {"ID": "h", "SM": "y"}]}
    bam = write_bam(tmp_path / "two.bam", {n: len(s) for n, s in CONTIGS.items()}, [], groups)
    with pytest.raises(UsageError, match="one sample"):
        run((made[0], bam), tmp_path / "a.vcf", gvcf=True)
    run((made[0], bam), tmp_path / "a.vcf", gvcf=True, samples=["y"])
    assert [(row[0], last_of(row), row[9][:3]) for row in rows(tmp_path / "a.vcf")] == [
        ("one", len(SEQUENCE), "./."),
        ("bare", 300, "./."),
    ]


def vcf_row(variant: tuple[int, str, str]) -> tuple[str, int, str, str]:
    return ("one", variant[0] + 1, *variant[1:])


ABSENT = [
    snv(100),
    (150, SEQUENCE[150], SEQUENCE[150] + "GATTAC" + other(SEQUENCE[150])),
    (200, SEQUENCE[200:212], SEQUENCE[200]),
    snv(2350),
]


def genotypes(path) -> dict[tuple[str, int, str, str], tuple]:
    out = {}
    with pysam.VariantFile(str(path)) as file:
        for record in file:
            for number, alt in enumerate(record.alts or (), 1):
                called = record.samples[0]["GT"]
                copies = None if None in called else sum(allele == number for allele in called)
                out[record.chrom, record.start, record.ref, alt] = (copies, list(record.filter))
    return out


def test_forced_alleles_are_genotyped(made, tmp_path):
    bare = CONTIGS["bare"][50]
    asked = [*map(vcf_row, BOTH + FIRST + ABSENT), ("bare", 51, bare, other(bare))]
    vcf = write_vcf(tmp_path / "asked.vcf", asked, CONTIGS)
    metrics = run(made, tmp_path / "a.vcf", alleles=vcf)
    run(made, tmp_path / "plain.vcf")
    found, plain = genotypes(tmp_path / "a.vcf"), genotypes(tmp_path / "plain.vcf")
    assert metrics.counts["alleles_asked"] == len(asked)
    for position, old, new in BOTH:
        assert found["one", position, old, new] == (2, ["PASS"])
    for position, old, new in FIRST:
        assert found["one", position, old, new] == (1, ["PASS"])
    for position, old, new in ABSENT[:3]:
        assert found["one", position, old, new] == (0, [])
    assert found["one", *ABSENT[3]] == (None, []) and found["bare", 50, bare, other(bare)] == (None, [])
    assert {key: value for key, value in found.items() if key in plain} == plain
    assert len(found) == len(plain) + len(ABSENT) + 1


def test_forced_alleles_do_not_depend_on_windows(made, tmp_path):
    rng = random.Random(5)
    rows_ = [vcf_row(snv(p)) for p in rng.sample(range(20, 2900), 60)]
    rows_ += [("one", p + 1, SEQUENCE[p], SEQUENCE[p] + "GAT"[: 1 + p % 3]) for p in rng.sample(range(20, 2900), 40)]
    vcf = write_vcf(tmp_path / "asked.vcf", rows_, CONTIGS)
    run(made, tmp_path / "a.vcf", alleles=vcf)
    run(made, tmp_path / "b.vcf", alleles=vcf, threads=2, batch_bases=64 * 450)
    assert rows(tmp_path / "a.vcf") == rows(tmp_path / "b.vcf")


def test_alleles_of_another_reference_leave_no_output(made, tmp_path):
    vcf = write_vcf(tmp_path / "asked.vcf", [("one", 11, other(SEQUENCE[10]), SEQUENCE[10])], CONTIGS)
    with pytest.raises(InputError, match=r"asked\.vcf: record 1: REF is"):
        run(made, tmp_path / "a.vcf", alleles=vcf)
    assert not list(tmp_path.glob("a.vcf*"))
