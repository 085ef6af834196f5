"""Every record of what is called agrees with itself, with its header and with the reference."""

import random
from dataclasses import replace

import numpy as np
import pysam
import pytest
from making import Read, aligned_reads, codes, random_sequence, segment, tiled, write_fasta
from vcf_checks import bcftools, check_vcf, check_with_bcftools

from readwarp.batches import Calls
from readwarp.call.evidence.cpu import weigh_indels, weigh_substitutions
from readwarp.call.genotypes.annotations import FIELDS
from readwarp.call.genotypes.cpu import genotype_sites
from readwarp.call.genotypes.filters import DESCRIPTIONS
from readwarp.call.genotypes.joining import joined
from readwarp.call.genotypes.overlaps import mark_overlaps
from readwarp.call.pileup.cpu import count_window
from readwarp.call.pipeline import call_variants
from readwarp.call.sites.cpu import find_sites
from readwarp.call.sites.select import selected
from readwarp.config import CallParameters, Resources
from readwarp.formats.vcf import VariantWriter, header_text, lines_of
from readwarp.metrics import Metrics

LENGTH = 1500
REPEATS = ((300, "A" * 9), (700, "CA" * 7), (1100, "GATA" * 4))


def sequence(seed: int) -> str:
    text = random_sequence(LENGTH, seed)
    for place, bases in REPEATS:
        text = text[:place] + bases + text[place + len(bases) :]
    return text


def variants(rng: random.Random, text: str) -> list[tuple[int, str, str]]:
    """Differences of one haplotype; those of others lie at the same places, and are different ones at some."""
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
    """Reads of so many haplotypes, every third with an error, some placed unsurely."""
    made = []
    for read in tiled([variants(rng, text) for _ in range(copies)], text, step=7):
        bases = list(read.bases)
        if rng.random() < 0.3:
            bases[rng.randrange(len(bases))] = rng.choice("ACGTN")
        qualities = tuple(rng.choice((12, 25, 37)) for _ in bases)
        mapq = rng.choice((20, 60, 60))
        made.append(Read(read.position, read.cigar, "".join(bases), qualities, read.flag, mapq, read.name))
    return sorted(made, key=lambda read: read.position)


def called(text: str, own: list[list[Read]], parameters: CallParameters, forced: int) -> Calls:
    """Calls of several samples; the alleles of every `forced`-th site are asked for."""
    reads = sorted(((read, number) for number, reads in enumerate(own) for read in reads), key=lambda x: x[0].position)
    batch = replace(aligned_reads([read for read, _ in reads]), sample=np.array([n for _, n in reads], np.uint8))
    reference = codes(text)
    pileup = count_window(batch, reference, 0, LENGTH, parameters)
    sites = find_sites(pileup, reference, parameters)
    site = np.repeat(np.arange(len(sites)), np.diff(sites.allele_offsets))
    is_other = np.arange(site.size) > sites.allele_offsets[site]
    sites = replace(sites, is_forced=(site % forced == 0) & is_other)
    indels, others = (selected(sites, np.flatnonzero(sites.is_indel == kind)) for kind in (True, False))
    for_indels, masked = weigh_indels(batch, pileup, indels, reference, 0, 1000)
    for_others = weigh_substitutions(batch, masked, others, 10, 1000)
    parts = [
        genotype_sites(sites, says, reference, 0, parameters, samples=len(own))
        for sites, says in ((others, for_others), (indels, for_indels))
    ]
    return mark_overlaps(joined(parts, 0, LENGTH))


def write(path, calls: Calls, samples: int) -> None:
    names = [f"s{i}" for i in range(samples)]
    header = header_text([("c", LENGTH, "")], names, "test", "c.fa", FIELDS, DESCRIPTIONS)
    writer = VariantWriter(str(path), header, LENGTH)
    writer.write(lines_of(calls, ["c"]))
    writer.close()


@pytest.mark.parametrize(("ploidy", "samples"), [(1, 1), (2, 1), (4, 1), (1, 3), (2, 3), (3, 2)])
def test_samples_and_ploidies(tmp_path, ploidy, samples):
    """The last of several samples has reads in one half only; every fifth site is forced."""
    rng, text = random.Random(ploidy * 10 + samples), sequence(7)
    own = [reads_of(rng, text, ploidy) for _ in range(samples)]
    if samples > 1:
        own[-1] = [read for read in own[-1] if read.position < LENGTH // 2]
    calls = called(text, own, CallParameters(ploidy=ploidy), forced=5)
    fasta = write_fasta(tmp_path / "c.fa", {"c": text})
    write(tmp_path / "a.vcf", calls, samples)
    assert check_vcf(tmp_path / "a.vcf", fasta) == len(calls) > 15
    assert {len(genotype) for row in calls.genotype for genotype in row} == {ploidy}
    assert any(len(allele) != len(alleles[0]) for alleles in calls.alleles for allele in alleles)
    if ploidy * samples > 1:
        assert any(len(alleles) > 2 for alleles in calls.alleles)
    if samples > 1:
        assert ((-1,) * ploidy) in {row[-1] for row in calls.genotype}


def test_with_bcftools(tmp_path):
    rng, text = random.Random(5), sequence(8)
    calls = called(text, [reads_of(rng, text, 2) for _ in range(2)], CallParameters(), forced=4)
    fasta = write_fasta(tmp_path / "c.fa", {"c": text})
    for name in ("a.vcf", "a.vcf.gz", "a.bcf"):
        write(tmp_path / name, calls, 2)
        assert check_vcf(tmp_path / name, fasta) == len(calls)
    check_with_bcftools(tmp_path / "a.bcf", fasta)


def write_samples(path, own: list[list[Read]]) -> None:
    """A BAM file with a read group for each sample."""
    groups = [{"ID": f"g{i}", "SM": f"s{i}"} for i in range(len(own))]
    head = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "c", "LN": LENGTH}], "RG": groups}
    reads = sorted(((read, i) for i, reads in enumerate(own) for read in reads), key=lambda x: x[0].position)
    with pysam.AlignmentFile(str(path), "wb", header=head) as out:
        for read, i in reads:
            record = segment(out.header, read, "c")
            record.set_tag("RG", f"g{i}")
            out.write(record)
    pysam.index(str(path))


@pytest.mark.parametrize(("ploidy", "samples"), [(1, 1), (2, 3), (4, 1)])
def test_what_the_pipeline_writes(tmp_path, ploidy, samples):
    """Other ploidies in an interval."""
    rng, text = random.Random(ploidy), sequence(9)
    write_samples(tmp_path / "c.bam", [reads_of(rng, text, ploidy) for _ in range(samples)])
    fasta = write_fasta(tmp_path / "c.fa", {"c": text})
    (tmp_path / "ploidy.bed").write_text("c\t400\t800\t3\n")
    options = {"ploidies": tmp_path / "ploidy.bed"}
    parameters = CallParameters(ploidy=ploidy)
    call_variants(fasta, tmp_path / "c.bam", tmp_path / "a.vcf", parameters, Resources(), Metrics(), **options)
    assert check_vcf(tmp_path / "a.vcf", fasta) > 15
    check_with_bcftools(tmp_path / "a.vcf", fasta)
    with pysam.VariantFile(str(tmp_path / "a.vcf")) as file:
        assert len(file.header.samples) == samples
        for record in file:
            here = 3 if 400 <= record.start < 800 else ploidy
            assert {len(sample["GT"]) for sample in record.samples.values()} == {here}


def test_genomic_vcf(tmp_path):
    rng, text = random.Random(4), sequence(9)
    write_samples(tmp_path / "c.bam", [reads_of(rng, text, 2)])
    fasta = write_fasta(tmp_path / "c.fa", {"c": text})
    bam, out = tmp_path / "c.bam", tmp_path / "a.g.vcf"
    call_variants(fasta, bam, out, CallParameters(), Resources(), Metrics(), gvcf=True)
    assert check_vcf(out, fasta) > 30


GOOD = "c\t5\t.\tA\tC\t50\tPASS\tAC=1;AN=2;AF=0.5;DP=9\tGT:GQ:DP:AD:PL\t0/1:50:9:4,5:60,0,50"


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
        ("0/1:50", "1/1:50"),
        ("0/1:50", "1/0:50"),
        ("0/1:50", "0|1:50"),
        ("0/1:50", "./.:50"),
        ("0/1:50", "0/2:50"),
        ("0/1:50", "1:50"),
        ("0/1:50", "0/1:49"),
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
    header = header_text([("c", 15, "")], ["s"], "test", "c.fa", FIELDS, DESCRIPTIONS)
    path = tmp_path / "a.vcf"
    path.write_text(header + GOOD + "\n")
    assert check_vcf(path, fasta) == 1
    path.write_text(header + GOOD.replace(old, new, 1) + "\n")
    with pytest.raises((AssertionError, ValueError)):
        check_vcf(path, fasta)


def test_order_is_checked(tmp_path):
    fasta = write_fasta(tmp_path / "c.fa", {"c": "GGGTATTAAAGGGGG"})
    header = header_text([("c", 15, "")], ["s"], "test", "c.fa", FIELDS, DESCRIPTIONS)
    lines = [GOOD.replace("\t5\t.\tA", "\t8\t.\tA"), GOOD]
    (tmp_path / "a.vcf").write_text(header + "\n".join(lines) + "\n")
    with pytest.raises(AssertionError, match="not in order"):
        check_vcf(tmp_path / "a.vcf", fasta)


def test_bcftools_reads_a_file_of_no_calls(tmp_path):
    (tmp_path / "a.vcf").write_text(header_text([("c", 15, "")], ["s"], "test", "c.fa", FIELDS, DESCRIPTIONS))
    assert bcftools("view", str(tmp_path / "a.vcf"))[1] == ""
