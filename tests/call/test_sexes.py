"""Samples of differing ploidies that are called together: males and females on X and Y."""

import pysam
import pytest

from helpers.jobs import call_variants, genotype_cohort
from helpers.making import Read, other, random_sequence, tiled, write_fasta, write_samples
from helpers.vcf_checks import check_vcf, check_with_bcftools
from readwarp.call.records.genotypes.calls import phred_of_excess
from readwarp.ragged import replace

SEQUENCES = {name: random_sequence(1500, seed=seed) for seed, name in enumerate(("1", "X", "Y"), 31)}
LENGTHS = {name: len(sequence) for name, sequence in SEQUENCES.items()}
MALES, FEMALES = ("m1", "m2"), ("f1", "f2")
SAMPLES = ("m1", "f1", "m2", "f2")
PAR = 400  # X begins with it; on Y its reads have no place
BED = "Y\t0\t1500\t0\n" + "".join(f"X\t{PAR}\t1500\t1\t{m}\nY\t{PAR}\t1500\t1\t{m}\n" for m in MALES)


def snv(contig: str, position: int) -> tuple[int, str, str]:
    base = SEQUENCES[contig][position]
    return position, base, other(base)


def deletion(contig: str, position: int) -> tuple[int, str, str]:
    """Of six bases, which cannot be written elsewhere."""
    text = SEQUENCES[contig]
    while text[position] == text[position + 6] or text[position + 1] == text[position + 7]:
        position += 1
    return position, text[position : position + 7], text[position]


AUTOSOMAL, IN_PAR, HAPLOID, GAP, ON_Y = snv("1", 700), snv("X", 200), snv("X", 800), deletion("X", 1200), snv("Y", 900)
STRAY = snv("Y", 600)  # on reads of a female that belong elsewhere
HAPLOTYPES = {  # two of contig 1, two of X (a male's second is the PAR's, which is on Y), and of Y
    "m1": ([AUTOSOMAL], [], [HAPLOID, GAP], [IN_PAR], [ON_Y]),
    "m2": ([], [], [], [], []),
    "f1": ([AUTOSOMAL], [], [IN_PAR, HAPLOID], [GAP], []),
    "f2": ([AUTOSOMAL], [AUTOSOMAL], [HAPLOID], [HAPLOID, GAP], []),
}
NUMBER = {"m1": 5, "m2": 0, "f1": 4, "f2": 3}  # of variants that each has
STEP, LENGTH = 6, 80


def reads_of(sample: str) -> list[tuple[str, Read]]:
    own = HAPLOTYPES[sample]
    out = [("1", read) for read in tiled([*own[:2]], SEQUENCES["1"], STEP, LENGTH)]
    shared = tiled([*own[2:4]], SEQUENCES["X"], STEP, LENGTH)
    if sample in MALES:
        shared = [read for read in shared if read.name.startswith("h0") or read.position < PAR - LENGTH]
        out += [("Y", read) for read in tiled([own[4]], SEQUENCES["Y"], STEP, LENGTH) if read.position >= PAR]
    elif sample == "f1":
        out += [("Y", read) for read in tiled([[STRAY]], SEQUENCES["Y"], 15, LENGTH) if read.position >= PAR]
    out += [("X", read) for read in shared]
    return [(contig, replace(read, name=f"{sample}_{contig}_{read.name}")) for contig, read in out]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With c.fa, c.bam, sexes.bed and the calls of all in c.vcf."""
    out = tmp_path_factory.mktemp("sexes")
    write_fasta(out / "c.fa", SEQUENCES)
    write_samples(out / "c.bam", LENGTHS, {sample: reads_of(sample) for sample in SAMPLES})
    (out / "sexes.bed").write_text(BED)
    call_variants(out / "c.fa", out / "c.bam", out / "c.vcf", ploidies=out / "sexes.bed")
    return out


def records_of(path) -> dict[tuple, pysam.VariantRecord]:
    with pysam.VariantFile(str(path)) as file:
        return {(r.chrom, r.start, *r.alleles): r for r in file}


def key(contig: str, variant: tuple[int, str, str]) -> tuple:
    return (contig, *variant)


def genotypes(record: pysam.VariantRecord) -> dict[str, tuple]:
    return {name: tuple(sorted(call["GT"], key=str)) for name, call in record.samples.items()}


def test_genotypes_of_both_sexes(folder):
    found = records_of(folder / "c.vcf")
    assert {place: genotypes(record) for place, record in found.items()} == {
        key("1", AUTOSOMAL): {"m1": (0, 1), "f1": (0, 1), "m2": (0, 0), "f2": (1, 1)},
        key("X", IN_PAR): {"m1": (0, 1), "f1": (0, 1), "m2": (0, 0), "f2": (0, 0)},
        key("X", HAPLOID): {"m1": (1,), "f1": (0, 1), "m2": (0,), "f2": (1, 1)},
        key("X", GAP): {"m1": (1,), "f1": (0, 1), "m2": (0,), "f2": (0, 1)},
        key("Y", ON_Y): {"m1": (1,), "f1": (None,), "m2": (0,), "f2": (None,)},
    }
    assert all(list(record.filter) == ["PASS"] for record in found.values())
    assert check_vcf(folder / "c.vcf", folder / "c.fa") == 5
    check_with_bcftools(folder / "c.vcf", folder / "c.fa")


def test_annotations_over_both_sexes(folder):
    found = records_of(folder / "c.vcf")
    haploid, on_y = found[key("X", HAPLOID)], found[key("Y", ON_Y)]
    assert (haploid.info["AC"], haploid.info["AN"], haploid.info["AF"][0]) == ((4,), 6, pytest.approx(4 / 6, abs=1e-3))
    assert haploid.info["ExcessHet"] == pytest.approx(phred_of_excess(0, 1, 1), abs=0.01)  # of the females
    assert found[key("1", AUTOSOMAL)].info["ExcessHet"] == pytest.approx(phred_of_excess(1, 2, 1), abs=0.01)
    assert (on_y.info["AC"], on_y.info["AN"]) == ((1,), 2) and "ExcessHet" not in on_y.info
    assert on_y.info["DP"] == sum(on_y.samples[name]["DP"] for name in MALES) > 20
    assert on_y.samples["f1"]["DP"] == 0 and on_y.samples["f1"]["PL"] == (None,)
    line = next(line for line in (folder / "c.vcf").read_text().splitlines() if line.startswith(f"Y\t{ON_Y[0] + 1}\t"))
    assert line.split("\t")[10].startswith(".:")


@pytest.mark.parametrize("sample", SAMPLES)
def test_likelihoods_are_those_of_each_sample_alone(folder, tmp_path, sample):
    """And with `--sample`, rows of the others are no error."""
    call_variants(
        *(folder / "c.fa", folder / "c.bam", tmp_path / "a.vcf"), ploidies=folder / "sexes.bed", samples=(sample,)
    )
    together, alone = records_of(folder / "c.vcf"), records_of(tmp_path / "a.vcf")
    assert alone.keys() <= together.keys() and len(alone) == NUMBER[sample]
    for place, record in alone.items():
        for name in ("PL", "AD", "DP"):
            assert record.samples[sample][name] == together[place].samples[sample][name], (place, name)


def test_a_cohort_of_both_sexes_by_its_gvcfs(folder, tmp_path):
    """Genotyped from a gVCF of each, by the same file of ploidies, all have the genotypes of the call together."""
    files = [tmp_path / f"{sample}.g.vcf" for sample in SAMPLES]
    for sample, path in zip(SAMPLES, files, strict=True):
        options = {"ploidies": folder / "sexes.bed", "samples": (sample,), "gvcf": True}
        call_variants(folder / "c.fa", folder / "c.bam", path, **options)
    genotype_cohort(folder / "c.fa", files, tmp_path / "c.vcf")
    together, cohort = records_of(folder / "c.vcf"), records_of(tmp_path / "c.vcf")
    assert {place: genotypes(record) for place, record in cohort.items()} == {
        place: genotypes(record) for place, record in together.items()
    }


def test_reads_aligned_to_the_haplotypes_of_both_sexes(folder, tmp_path):
    bam = tmp_path / "c.bam"
    options = {"ploidies": folder / "sexes.bed", "bam_output": bam}
    call_variants(folder / "c.fa", folder / "c.bam", tmp_path / "c.vcf", **options)
    with pysam.AlignmentFile(str(bam)) as file:
        haplotypes = {r.get_tag("RG").split(".", 1)[1] for r in file if r.get_tag("RG").startswith("HAPLOTYPES.")}
    assert haplotypes >= {"m1", "f1", "f2"}


def test_one_ploidy_for_all_is_that_of_each(folder, tmp_path):
    """A row for each sample says the same as one row for all."""
    texts = []
    for rows in ("X\t0\t1500\t3\n", "".join(f"X\t0\t1500\t3\t{name}\n" for name in SAMPLES)):
        (tmp_path / "p.bed").write_text(rows)
        call_variants(folder / "c.fa", folder / "c.bam", tmp_path / "a.vcf", ploidies=tmp_path / "p.bed")
        texts.append([line for line in (tmp_path / "a.vcf").read_text().splitlines() if line[0] != "#"])
    assert texts[0] == texts[1] and len(texts[0]) >= 5
