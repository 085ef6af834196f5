"""gVCFs as GATK's tools and GLnexus take them: the rules of `helpers.gatk_rules` on whole runs."""

import random

import pysam
import pytest

from helpers.gatk_rules import faults_of
from helpers.jobs import call_variants, genotype_cohort
from helpers.making import Read, other, random_sequence, tiled, write_bam, write_fasta

SEQUENCE = random_sequence(3000, seed=77)
GONE, MORE, ALONE = 1200, 1900, 2600  # positions of a substitution; at the first two, an indel on the other haplotype
for _place in (GONE, MORE):
    SEQUENCE = SEQUENCE[: _place - 2] + "TGCAGTAG" + SEQUENCE[_place + 6 :]


def snv(position: int) -> tuple[int, str, str]:
    return position, SEQUENCE[position], other(SEQUENCE[position])


HAPLOTYPES = (
    [snv(300), snv(GONE), snv(MORE), snv(2310)],
    [(GONE, "CAGT", "C"), (MORE, "C", "CTT"), snv(2300), snv(ALONE)],
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gatk")
    rng, reads = random.Random(3), []
    for read in tiled([sorted(own) for own in HAPLOTYPES], SEQUENCE, step=5):
        qualities = tuple(rng.choice((25, 30, 37)) for _ in read.bases)
        reads.append(("one", Read(read.position, read.cigar, read.bases, qualities, read.flag, 60, read.name)))
    bam = write_bam(folder / "made.bam", {"one": 3000, "bare": 200}, reads)
    reference = write_fasta(folder / "ref.fa", {"one": SEQUENCE, "bare": random_sequence(200, seed=5)})
    call_variants(reference, bam, folder / "a.g.vcf", gvcf=True)
    return reference, bam, folder / "a.g.vcf"


def haplotypes_at(record) -> list[str]:
    return sorted(record.alleles[a] for a in record.samples[0]["GT"])


def wanted_at(position: int, ref: str) -> list[str]:
    """The alleles that the two haplotypes were made with, over this REF."""
    out = []
    for own in HAPLOTYPES:
        allele = next(((old, new) for at, old, new in own if at == position), ("", ""))
        out.append(allele[1] + ref[len(allele[0]) :])
    return sorted(out)


def test_the_tools_take_it(made):
    assert faults_of(made[2]) == []


def test_one_record_has_the_substitution_and_the_indel(made, tmp_path):
    genotype_cohort(made[0], [made[2]], tmp_path / "out.vcf")
    for path in (made[2], tmp_path / "out.vcf"):
        with pysam.VariantFile(str(path)) as file:
            found = {r.pos - 1: r for r in file if r.alts != ("<NON_REF>",)}
        assert {GONE, MORE, ALONE} <= set(found)
        for position in (GONE, MORE, ALONE):
            assert haplotypes_at(found[position]) == wanted_at(position, found[position].ref)
            assert found[position].samples[0]["GQ"] > 50


def test_the_plain_vcf_keeps_them_apart(made, tmp_path):
    call_variants(made[0], made[1], tmp_path / "a.vcf")
    with pysam.VariantFile(str(tmp_path / "a.vcf")) as file:
        assert sum(record.pos - 1 == GONE for record in file) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("##ALT=<ID=NON_REF,", "##ALT=<ID=DEL,"),
        ("##FORMAT=<ID=SB,Number=4,Type=Integer", "##FORMAT=<ID=SB,Number=1,Type=Float"),
        ("##FORMAT=<ID=DP,Number=1,Type=Integer", "##FORMAT=<ID=DP,Number=1,Type=Float"),
        ("##FILTER=<ID=LowQual,", "##FILTER=<ID=GQ,"),
        ("length=3000", "assembly=x"),
        ("END=300\tGT:DP:GQ:MIN_DP:PL", "END=300\tGT:DP:GQ:PL"),
        ("END=300\t", "END=299\t"),
        ("END=300\t", "END=301\t"),
        ("END=300\t", "END=300;DP=9\t"),
        (",<NON_REF>\t", "\t"),
        (";RAW_MQandDP=", ";RAW_MQ="),
        ("GT:AD:DP:GQ:PL:SB:SBI", "GT:DP:AD:GQ:PL:SB:SBI"),
        ("|", "/"),
        ("one\t301\t", "one\t300\t"),
        (":0,", ":1,"),
    ],
)
def test_the_rules_find_what_is_wrong(made, tmp_path, old, new):
    text = made[2].read_text()
    assert old in text
    (tmp_path / "bad.vcf").write_text(text.replace(old, new, 1))
    try:
        assert faults_of(tmp_path / "bad.vcf")
    except (KeyError, ValueError) as error:  # a column that cannot be read at all
        assert error.args
