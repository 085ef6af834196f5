"""call --somatic where samples are of two people, or hold molecules of two, or are the same reads."""

import random
import re

import pysam
import pytest

from helpers.command_samples import run_main
from helpers.making import Read, other, random_sequence, write_fasta, write_samples

LENGTH, SIZE, DEPTH, APART = 9000, 100, 50, 60
SEQUENCE = random_sequence(LENGTH, seed=21)
SITES = range(APART, LENGTH - APART, APART)
FREQUENCY = 0.4
MUTATED = LENGTH // 2 + 7
HEADER = f"""##fileformat=VCFv4.2
##contig=<ID=c,length={LENGTH}>
##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO
"""
Person = dict[int, tuple[bool, bool]]  # which copies have the common allele of a site


def person(seed: int) -> Person:
    rng = random.Random(seed)
    return {at: (rng.random() < FREQUENCY, rng.random() < FREQUENCY) for at in SITES}


OWN, FOREIGN = person(1), person(2)


def reads_of(people: dict[float, Person], seed: int, mutated: float = 0.0) -> list[tuple[str, Read]]:
    """people: by their share of the molecules. mutated: share of molecules with the mutation."""
    rng, made = random.Random(seed), []
    for number in range(DEPTH * LENGTH // SIZE):
        start, copy = rng.randrange(LENGTH - SIZE), rng.randrange(2)
        (owner,) = rng.choices(list(people.values()), list(people))
        bases = list(SEQUENCE[start : start + SIZE])
        for at in range(start, start + SIZE):
            if at in owner and owner[at][copy]:
                bases[at - start] = other(SEQUENCE[at])
        if start <= MUTATED < start + SIZE and rng.random() < mutated:
            bases[MUTATED - start] = other(SEQUENCE[MUTATED])
        flag = 16 * rng.randrange(2)
        made.append(("c", Read(start, f"{SIZE}M", "".join(bases), (37,) * SIZE, flag, 60, f"r{seed}.{number}")))
    return made


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return write_fasta(tmp_path_factory.mktemp("people") / "ref.fa", {"c": SEQUENCE})


@pytest.fixture(scope="module")
def population(tmp_path_factory):
    path = tmp_path_factory.mktemp("population") / "gnomad.vcf"
    rows = (f"c\t{at + 1}\t.\t{SEQUENCE[at]}\t{other(SEQUENCE[at])}\t.\t.\tAF={FREQUENCY}\n" for at in SITES)
    path.write_text(HEADER + "".join(rows))
    return pysam.tabix_index(str(path), preset="vcf", force=True)


@pytest.fixture(scope="module")
def contaminated(tmp_path_factory):
    """A tumour of which a tenth are another person's molecules, and its normal."""
    own = {"TUMOUR": reads_of({0.9: OWN, 0.1: FOREIGN}, 3, 0.3), "NORMAL": reads_of({1.0: OWN}, 4)}
    return write_samples(tmp_path_factory.mktemp("contaminated") / "pair.bam", {"c": LENGTH}, own)


def called(folder, *given):
    """(text of the header, FILTER and INFO by position)"""
    output = folder / "out.vcf"
    assert run_main(("call", *given, "--somatic", "-o", output, "-f", "-t", 1, "--device", "cpu")) == 0
    with pysam.VariantFile(str(output)) as file:
        return str(file.header), {r.start: (set(r.filter), dict(r.info)) for r in file}


def brought(found) -> dict:
    """Of sites at which the person has not the allele that the other has."""
    return {at: own for at, own in found.items() if at in OWN and not any(OWN[at]) and any(FOREIGN[at])}


@pytest.mark.parametrize("with_normal", [True, False])
def test_contamination_is_seen_and_filtered(with_normal, reference, population, contaminated, tmp_path, capsys):
    options = ("--normal", "NORMAL") if with_normal else ("--sample", "TUMOUR")
    header, found = called(tmp_path, reference, contaminated, "--population", population, *options)
    fraction, error = map(float, re.search(r"=<ID=TUMOUR,Fraction=(.*),StandardError=(.*),Sites", header).groups())
    assert fraction == pytest.approx(0.1, abs=4 * error) and error < 0.03
    said = capsys.readouterr().err
    assert f"TUMOUR: contamination {100 * fraction:.2f} % (standard error" in said
    assert ("##contamination=<ID=NORMAL,Fraction=" in header) == with_normal
    foreign = brought(found)
    assert len(foreign) > 15
    assert all("contamination" in filters and info["CONTQ"] < 10 for filters, info in foreign.values())
    assert found[MUTATED][0] == {"PASS"} and found[MUTATED][1]["CONTQ"] > 50
    without = called(tmp_path, reference, contaminated, *options)[1]
    assert sum(filters == {"PASS"} for filters, _ in brought(without).values()) > 15
    assert "CONTQ" not in without[MUTATED][1]


def test_windows_do_not_matter(reference, population, contaminated, tmp_path):
    given = reference, contaminated, "--population", population, "--normal", "NORMAL"
    header, found = called(tmp_path, *given)
    again, same = called(tmp_path, *given, "--batch-bases", 64 * 700, "-t", 3)
    assert found == same
    pattern = "##contamination=.*"
    assert len(re.findall(pattern, header)) == 2 and re.findall(pattern, header) == re.findall(pattern, again)


def test_contamination_that_is_given(reference, population, contaminated, tmp_path, capsys):
    given = reference, contaminated, "--normal", "NORMAL", "--population", population
    header, found = called(tmp_path, *given, "--contamination", 0.1)
    assert "##contamination=<ID=TUMOUR,Fraction=0.1>" in header and "another person" not in capsys.readouterr().err
    assert all("contamination" in filters for filters, _ in brought(found).values())
    _, found = called(tmp_path, *given, "--contamination", 0)
    assert all("contamination" not in filters for filters, _ in found.values())


def test_few_sites(reference, population, contaminated, tmp_path, capsys):
    given = reference, contaminated, "--sample", "TUMOUR", "--population", population, "-r", "c:1-1000"
    header, found = called(tmp_path, *given)
    assert "##contamination" not in header and "contamination cannot be estimated from" in capsys.readouterr().err
    assert all("CONTQ" not in info for _, info in found.values())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--mixture --population {0} --contamination 0.1", "--population needs --somatic"),
        ("--somatic --contamination 0.1", "--contamination needs --population: frequencies tell what"),
        ("--somatic --population {0} --contamination 1", "--contamination must be 0 or more, and less than 1"),
        ("--contamination 0.1", "--contamination needs --population"),
    ],
)
def test_what_is_refused(options, said, reference, population, contaminated, tmp_path, capsys):
    words = options.format(population).split()
    assert run_main(("call", reference, contaminated, "-o", tmp_path / "o.vcf", "-q", *words)) == 2
    assert f"readwarp: error: {said}" in capsys.readouterr().err


def test_two_people(reference, tmp_path, capsys):
    own = {"TUMOUR": reads_of({1.0: OWN}, 5), "NORMAL": reads_of({1.0: FOREIGN}, 6), "AGAIN": reads_of({1.0: OWN}, 7)}
    bam = write_samples(tmp_path / "three.bam", {"c": LENGTH}, own)
    called(tmp_path, reference, bam, "--normal", "NORMAL", "--sample", "NORMAL", "--sample", "TUMOUR")
    text = r"NORMAL lacks (\d+) of (\d+) alleles that TUMOUR has: are the samples swapped, or from two people\?"
    lacked, carried = map(int, re.search(text, capsys.readouterr().err).groups())
    assert carried == pytest.approx(sum(map(any, OWN.values())), rel=0.1)
    assert lacked == pytest.approx(sum(any(OWN[at]) and not any(FOREIGN[at]) for at in SITES), rel=0.1)
    called(tmp_path, reference, bam, "--normal", "AGAIN", "--sample", "AGAIN", "--sample", "TUMOUR")
    assert "two people" not in capsys.readouterr().err


def test_the_same_reads(reference, tmp_path, capsys):
    reads = reads_of({1.0: OWN}, 8)
    bam = write_samples(tmp_path / "twice.bam", {"c": LENGTH}, {"TUMOUR": reads, "NORMAL": reads})
    output = tmp_path / "o.vcf"
    assert run_main(("call", reference, bam, "--somatic", "--normal", "NORMAL", "-o", output, "-q")) == 2
    assert "--normal NORMAL: has the same reads as TUMOUR, the tumour" in capsys.readouterr().err
    assert not output.exists()
