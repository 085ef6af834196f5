"""Every called record agrees with itself, with its header and with the reference."""

import random
from pathlib import Path

import pysam
import pytest

from helpers.jobs import call_variants
from helpers.making import Read, random_sequence, tiled, write_fasta, write_samples
from helpers.vcf_checks import bcftools, check_vcf, check_with_bcftools
from readwarp.call.records.genotypes.filters import FILTERS
from readwarp.call.records.variant_job import FIELDS
from readwarp.config import CallParameters
from readwarp.formats.variants.vcf import Header

LENGTH = 1500
REPEATS = ((300, "A" * 9), (700, "CA" * 7), (1100, "GATA" * 4))


def sequence(seed: int) -> str:
    text = random_sequence(LENGTH, seed)
    for place, bases in REPEATS:
        text = text[:place] + bases + text[place + len(bases) :]
    return text


def variants(rng: random.Random, text: str) -> list[tuple[int, str, str]]:
    """Differences of one haplotype. Other haplotypes differ at the same places, and at some of them in another way."""
    out = []
    for here in range(47, LENGTH - 90, 40):
        kind = rng.randrange(8)
        if kind < 3:
            out.append((here, text[here], rng.choice([base for base in "ACGT" if base != text[here]])))
        elif kind == 3:
            out.append((here, text[here : here + rng.randint(2, 6)], text[here]))
        elif kind == 4:
            out.append((here, text[here], text[here] + random_sequence(rng.randint(1, 5), rng.randrange(99))))
    return out


def reads_of(rng: random.Random, text: str, copies: int) -> list[Read]:
    """Reads of so many haplotypes, every third with an error, some with low MAPQ."""
    made = []
    for read in tiled([variants(rng, text) for _ in range(copies)], text, step=7):
        bases = list(read.bases)
        if rng.random() < 0.3:
            bases[rng.randrange(len(bases))] = rng.choice("ACGTN")
        qualities = tuple(rng.choice((12, 25, 37)) for _ in bases)
        mapq = rng.choice((20, 60, 60))
        made.append(Read(read.position, read.cigar, "".join(bases), qualities, read.flag, mapq, read.name))
    return sorted(made, key=lambda read: read.position)


def write_alleles(path, text: str) -> None:
    """Substitutions, insertions and deletions at every 90th base, to be genotyped in any case."""
    lines = [
        "##fileformat=VCFv4.2",
        f"##contig=<ID=c,length={LENGTH}>",
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO",
    ]
    for i, here in enumerate(range(60, LENGTH, 90)):
        old = text[here : here + 3] if i % 3 == 1 else text[here]
        new = "ACGT"["CGTA".index(old)] if i % 3 == 0 else old + "GC" if i % 3 == 2 else old[0]
        lines.append(f"c\t{here + 1}\t.\t{old}\t{new}\t.\t.\t.")
    path.write_text("\n".join(lines) + "\n")


def called(folder, text: str, own: list[list[Read]], ploidy: int, name: str = "a.vcf", **options) -> Path:
    """The reference is folder/c.fa."""
    reads = {f"s{i}": [("c", read) for read in mine] for i, mine in enumerate(own)}
    write_samples(folder / "c.bam", {"c": LENGTH}, reads)
    fasta, out = write_fasta(folder / "c.fa", {"c": text}), folder / name
    call_variants(fasta, folder / "c.bam", out, CallParameters(ploidy=ploidy), **options)
    return out


@pytest.mark.parametrize(("ploidy", "samples"), [(1, 1), (2, 1), (4, 1), (1, 3), (2, 3), (3, 2)])
def test_samples_and_ploidies(tmp_path, ploidy, samples):
    """The last of several samples has reads in only one half; some alleles are forced."""
    rng, text = random.Random(ploidy * 10 + samples), sequence(7)
    own = [reads_of(rng, text, ploidy) for _ in range(samples)]
    if samples > 1:
        own[-1] = [read for read in own[-1] if read.position < LENGTH // 2]
    write_alleles(tmp_path / "asked.vcf", text)
    path = called(tmp_path, text, own, ploidy, alleles=tmp_path / "asked.vcf")
    assert check_vcf(path, tmp_path / "c.fa") > 30
    check_with_bcftools(path, tmp_path / "c.fa")
    with pysam.VariantFile(str(path)) as file:
        records = [
            (r.alleles, [s["GT"] for s in r.samples.values()], [s.phased for s in r.samples.values()]) for r in file
        ]
    assert {len(genotype) for _, row, _ in records for genotype in row} == {ploidy}
    assert any(len(allele) != len(alleles[0]) for alleles, *_ in records for allele in alleles)
    assert any(not any(row[0]) for _, row, _ in records)  # forced alone
    if ploidy * samples > 1:
        assert any(len(alleles) > 2 for alleles, *_ in records)
    if samples > 1:
        assert (None,) * ploidy in {row[-1] for _, row, _ in records}
    if ploidy == 2:
        assert any(any(phased) for *_, phased in records)


@pytest.mark.parametrize("name", ["a.vcf.gz", "a.bcf"])
def test_containers(tmp_path, name):
    rng, text = random.Random(5), sequence(8)
    path = called(tmp_path, text, [reads_of(rng, text, 2) for _ in range(2)], 2, name)
    assert check_vcf(path, tmp_path / "c.fa") > 15
    check_with_bcftools(path, tmp_path / "c.fa")


def test_another_ploidy_in_an_interval(tmp_path):
    rng, text = random.Random(2), sequence(9)
    (tmp_path / "ploidy.bed").write_text("c\t400\t800\t3\n")
    path = called(tmp_path, text, [reads_of(rng, text, 2)], 2, ploidies=tmp_path / "ploidy.bed")
    assert check_vcf(path, tmp_path / "c.fa") > 15
    with pysam.VariantFile(str(path)) as file:
        for record in file:
            assert len(record.samples[0]["GT"]) == (3 if 400 <= record.start < 800 else 2)


def test_genomic_vcf(tmp_path):
    rng, text = random.Random(4), sequence(9)
    path = called(tmp_path, text, [reads_of(rng, text, 2)], 2, gvcf=True)
    assert check_vcf(path, tmp_path / "c.fa") > 30


GOOD = "c\t5\t.\tA\tC\t50\tPASS\tAC=1;AN=2;AF=0.5;DP=9\tGT:GQ:DP:AD:PL\t0/1:52:9:4,5:60,0,50"


def made_header() -> str:
    return Header([("c", 15, "")], ["s"], "test", "c.fa", FIELDS.information, FILTERS).text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\tA\tC", "\tG\tC"),  # REF
        ("\tA\tC", "\tA\tA"),
        ("\tA\tC", "\tAT\tCT"),  # not trimmed
        ("\t5\t.\tA\tC", "\t4\t.\tTA\tTC"),
        ("\t5\t.\tA\tC", "\t8\t.\tAA\tA"),  # not leftmost
        ("PASS", "Strange"),
        ("DP=9", "XX=9"),
        ("DP=9", "DP=9,9"),
        ("DP=9", "DP=nine"),
        ("AC=1", "AC=2"),
        ("AF=0.5", "AF=0.55"),
        ("AN=2", "AN=3"),
        ("0/1:52", "1/1:52"),
        ("0/1:52", "1/0:52"),
        ("0/1:52", "0|1:52"),
        ("0/1:52", "./.:52"),
        ("0/1:52", "0/2:52"),
        ("0/1:52", "1:52"),
        ("0/1:52", "0/1:51"),
        ("60,0,50", "60,0"),
        ("60,0,50", "60,1,50"),
        ("4,5:", "5,5:"),
        ("4,5:", "9:"),
        ("GT:GQ", "GQ:GT"),
        ("c\t5", "d\t5"),
    ],
)
def test_the_check_finds_what_is_wrong(tmp_path, old, new):
    fasta = write_fasta(tmp_path / "c.fa", {"c": "GGGTATTAAAGGGGG"})
    header = made_header()
    path = tmp_path / "a.vcf"
    path.write_text(header + GOOD + "\n")
    assert check_vcf(path, fasta) == 1
    path.write_text(header + GOOD.replace(old, new, 1) + "\n")
    with pytest.raises((AssertionError, ValueError)):
        check_vcf(path, fasta)


def test_order_is_checked(tmp_path):
    fasta = write_fasta(tmp_path / "c.fa", {"c": "GGGTATTAAAGGGGG"})
    header = made_header()
    lines = [GOOD.replace("\t5\t.\tA", "\t8\t.\tA"), GOOD]
    (tmp_path / "a.vcf").write_text(header + "\n".join(lines) + "\n")
    with pytest.raises(AssertionError, match="not in order"):
        check_vcf(tmp_path / "a.vcf", fasta)


def test_bcftools_reads_a_file_of_no_calls(tmp_path):
    (tmp_path / "a.vcf").write_text(made_header())
    assert bcftools("view", str(tmp_path / "a.vcf"))[1] == ""
