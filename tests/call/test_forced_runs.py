"""Whole runs with --alleles: each forced allele gets a genotype, however many there are."""

from pathlib import Path

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.jobs import call_variants
from helpers.making import LETTERS, random_sequence, tiled, write_bam, write_fasta
from helpers.vcf_checks import check_vcf
from readwarp.call.candidates.sites.forced import read_alleles
from readwarp.call.likelihoods.haplotypes import MAX_HAPLOTYPES
from readwarp.config import CallParameters
from readwarp.index.build import read_reference
from readwarp.metrics import Metrics

LENGTH = 700
SEQUENCE = random_sequence(300, seed=2) + "GCACACACACATTTTTTTTTTG" + random_sequence(LENGTH - 322, seed=3)
Row = tuple[int, str, str]  # 0-based position, REF, ALT


def other(base: str) -> str:
    return "ACGT"["CGTA".index(base)]


FIRST = [
    (200, SEQUENCE[200], other(SEQUENCE[200])),
    (212, SEQUENCE[212:216], SEQUENCE[212]),
    (500, SEQUENCE[500], SEQUENCE[500] + "GATTACAT"),
    (520, SEQUENCE[520], other(SEQUENCE[520])),
]
SECOND = [(230, SEQUENCE[230], other(SEQUENCE[230])), (520, SEQUENCE[520], other(SEQUENCE[520]))]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with c.fa, c.bam of two haplotypes, and the calls of a run without --alleles."""
    folder = tmp_path_factory.mktemp("forced_runs")
    write_fasta(folder / "c.fa", {"c": SEQUENCE})
    reads = tiled([FIRST, SECOND], SEQUENCE, step=4, length=100)
    write_bam(folder / "c.bam", {"c": LENGTH}, [("c", read) for read in reads])
    call_variants(folder / "c.fa", folder / "c.bam", folder / "plain.vcf")
    return folder


def run(folder: Path, asked: list[Row], ploidy: int = 2) -> Metrics:
    """Writes asked.vcf and found.vcf."""
    head = f"##fileformat=VCFv4.2\n##contig=<ID=c,length={LENGTH}>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    lines = [f"c\t{position + 1}\t.\t{old}\t{new}\t.\t.\t.\n" for position, old, new in asked]
    (folder / "asked.vcf").write_text(head + "".join(lines))
    parameters, alleles = CallParameters(ploidy=ploidy), folder / "asked.vcf"
    return call_variants(folder / "c.fa", folder / "c.bam", folder / "found.vcf", parameters, alleles=alleles)


def alleles_of(folder: Path, name: str) -> set[tuple[int, int, str]]:
    """The alleles of a VCF as the caller spells them."""
    forced = read_alleles(folder / name, read_reference(folder / "c.fa"))
    return {(at, gone, "".join(LETTERS[b] for b in new)) for at, gone, new in forced.within(0, 0, LENGTH + 1)}


def copies_of(path: Path) -> dict[Row, int | None]:
    """Copies of each ALT in the genotypes, None where that is not known."""
    found: dict[Row, int | None] = {}
    with pysam.VariantFile(str(path)) as file:
        for record in file:
            genotype = record.samples[0]["GT"]
            for number, new in enumerate(record.alts, 1):
                key = (record.start, record.ref, new)
                assert key not in found
                found[key] = None if None in genotype else genotype.count(number)
    return found


@st.composite
def records(draw) -> list[Row]:
    """Records anywhere, including the ends of the contig, or close together."""
    ends = [(0, 30), (LENGTH - 25, LENGTH - 1)]
    low, high = draw(st.sampled_from([(0, LENGTH - 1), (195, 240), (298, 325), (495, 525), *ends]))
    rows = []
    for _ in range(draw(st.integers(1, 60))):
        position = draw(st.integers(low, high))
        old = SEQUENCE[position : position + draw(st.sampled_from([1, 1, 1, 2, 3, 8, 60]))]
        new = draw(st.one_of(st.text("ACGT", min_size=1, max_size=8), st.just(old[0]), st.just(old[0] + old)))
        rows.append((position, old, new))
    return [row for row in rows if row[1] != row[2]]


@settings(max_examples=60)
@given(records(), st.sampled_from([1, 2, 2, 3]))
def test_every_allele_asked_for_comes_out_with_a_genotype(made, asked, ploidy):
    metrics = run(made, asked, ploidy)
    assert alleles_of(made, "asked.vcf") <= alleles_of(made, "found.vcf")
    assert metrics.counts["alleles_asked"] == len(alleles_of(made, "asked.vcf"))
    check_vcf(made / "found.vcf", made / "c.fa")
    with pysam.VariantFile(str(made / "found.vcf")) as file:
        for record in file:
            (sample,) = record.samples.values()
            assert len(sample["GT"]) == ploidy and (None in sample["GT"]) == (sample["DP"] == 0)
            assert sample["DP"] or not 50 < record.start < LENGTH - 50


def test_more_alleles_than_haplotypes_take(made):
    """Substitutions at every base, and many insertions and deletions, around four real variants of two haplotypes."""
    asked = [(p, SEQUENCE[p], base) for p in range(190, 250) for base in "ACGT" if base != SEQUENCE[p]]
    asked += [(p, SEQUENCE[p], SEQUENCE[p] + "CGTA"[p % 4] * (1 + p % 3)) for p in range(190, 250, 3)]
    asked += [(p, SEQUENCE[p : p + 2 + p % 4], SEQUENCE[p]) for p in range(190, 250, 3)]
    assert len(asked) > 5 * MAX_HAPLOTYPES
    run(made, asked)
    plain, found = copies_of(made / "plain.vcf"), copies_of(made / "found.vcf")
    assert sorted(key[0] for key in plain) == [200, 212, 230, 500, 520]
    assert alleles_of(made, "asked.vcf") <= alleles_of(made, "found.vcf")
    variants = {key: copies for key, copies in found.items() if copies != 0 and key[2] != "*"}
    assert variants == plain
    assert {copies for key, copies in found.items() if key[2] == "*"} == {1}  # in a heterozygous deletion
    assert len(found) > 5 * MAX_HAPLOTYPES
