"""Copies are counted where reads cannot span them: tandem duplications, and variants that a deletion removes."""

import random

import pytest

from helpers.command_samples import run_main
from helpers.jobs import call_variants
from helpers.making import Read, other, random_sequence, write_bam, write_fasta, write_samples, write_vcf

SEQUENCE = random_sequence(1600, seed=33)
PLACE = 800
FORWARD, REVERSE = 99, 147
Joints = list[tuple[int, int]]  # of a haplotype: first base after a joint, and what later positions are moved by


def duplicated(unit: int) -> tuple[str, Joints]:
    """A haplotype that has the bases before PLACE twice, and where it goes on elsewhere on the reference."""
    return SEQUENCE[:PLACE] + SEQUENCE[PLACE - unit :], [(PLACE, -unit)]


def deleted(size: int) -> tuple[str, Joints]:
    return SEQUENCE[:PLACE] + SEQUENCE[PLACE + size :], [(PLACE, size)]


def changed(position: int) -> tuple[str, Joints]:
    return SEQUENCE[:position] + other(SEQUENCE[position]) + SEQUENCE[position + 1 :], []


REFERENCE = SEQUENCE, []


def align(bases: str, start: int, joints: Joints, flag: int, name: str) -> Read:
    """Place a read as aligners do: by the longer side of a joint, with the other one clipped."""
    size, move = len(bases), 0
    for place, moved in joints:
        left, right = place - start, start + size - place
        if left <= 0:
            move += moved
        elif right > 0 and left >= right:
            return Read(start, f"{left}M{right}S", bases, (37,) * size, flag, 60, name)
        elif right > 0:
            return Read(place + moved, f"{left}S{right}M", bases, (37,) * size, flag, 60, name)
    return Read(start + move, f"{size}M", bases, (37,) * size, flag, 60, name)


def pairs_of(haplotypes, length: int = 150, insert: int = 300, depth: float = 40, seed: int = 1, name: str = "r"):
    """Pairs of both haplotypes, or of haplotypes with shares; error-free."""
    rng, made = random.Random(seed), []
    shares = {h: 1 / len(haplotypes) for h in range(len(haplotypes))}
    for h, (bases, joints, *share) in enumerate(haplotypes):
        number = round(len(bases) * depth * (share[0] if share else shares[h]) / (2 * length))
        for i in range(number):
            size = max(length, round(rng.gauss(insert, 30)))
            start = rng.randrange(len(bases) - size)
            stop = start + size - length
            for at, flag in ((start, FORWARD), (stop, REVERSE)):
                made.append(align(bases[at : at + length], at, joints, flag, f"{name}{h}_{i}"))
    return [("c", read) for read in made]


@pytest.fixture
def called(tmp_path):
    """Call one sample, or several by name -> (position, length of ALT less that of REF) to (ALT, FILTER, values)."""
    reference = write_fasta(tmp_path / "ref.fa", {"c": SEQUENCE})

    def called(*haplotypes, samples=None, alleles=None, **options):
        bam, lengths = tmp_path / "reads.bam", {"c": len(SEQUENCE)}
        if samples:
            made = {n: pairs_of(own, seed=k, name=n, **options) for k, (n, own) in enumerate(samples.items())}
            write_samples(bam, lengths, made)
        else:
            write_bam(bam, lengths, pairs_of(haplotypes, **options))
        more = {"alleles": write_vcf(tmp_path / "alleles.vcf", alleles, {"c": SEQUENCE})} if alleles else {}
        call_variants(reference, bam, tmp_path / "o.vcf", **more)
        return read_calls(tmp_path / "o.vcf")

    return called


def read_calls(path) -> dict:
    found = {}
    for line in path.read_text().splitlines():
        if line[0] != "#":
            _, position, _, ref, alt, _, status, _, names, *values = line.split("\t")
            own = [dict(zip(names.split(":"), each.split(":"), strict=True)) for each in values]
            found[int(position), len(alt.split(",")[0]) - len(ref)] = alt, status, own
    return found


@pytest.mark.parametrize(("unit", "length", "insert"), [(90, 150, 300), (120, 150, 300), (150, 100, 350)])
def test_a_homozygous_duplication_has_two_copies(called, unit, length, insert):
    """Mates of one molecule end in different copies, and overlap on the reference."""
    calls = called(duplicated(unit), duplicated(unit), length=length, insert=insert)
    assert [(size, own[0]["GT"], status) for (_, size), (_, status, own) in calls.items()] == [(unit, "1/1", "PASS")]


@pytest.mark.parametrize(("unit", "length"), [(90, 150), (150, 150), (120, 100), (180, 100)])
def test_a_heterozygous_duplication_has_one(called, unit, length):
    """Also where no read spans the unit, so that all reads that tell the alleles apart show the duplication."""
    calls = called(duplicated(unit), REFERENCE, length=length, insert=350)
    assert [(size, own[0]["GT"], status) for (_, size), (_, status, own) in calls.items()] == [(unit, "0/1", "PASS")]


def test_reads_within_a_unit_do_not_show_two(called):
    unit = SEQUENCE[PLACE - 180 : PLACE]
    before = SEQUENCE[PLACE - 181]
    calls = called(REFERENCE, REFERENCE, alleles=[("c", PLACE - 180, before, before + unit)])
    ((_, _, own),) = calls.values()
    assert own[0]["GT"] == "0/0" and own[0]["AD"].split(",")[1] == "0"


@pytest.mark.parametrize("unit", [60, 120, 150, 180])
def test_the_fraction_of_a_duplication_is_that_of_molecules(tmp_path, unit):
    reference = write_fasta(tmp_path / "ref.fa", {"c": SEQUENCE})
    reads = pairs_of([(*REFERENCE, 0.9), (*duplicated(unit), 0.1)], depth=400, insert=350)
    bam, output = write_bam(tmp_path / "reads.bam", {"c": len(SEQUENCE)}, reads), tmp_path / "o.vcf"
    assert run_main(["call", reference, bam, "-o", output, "--mixture", "-q", "-t", 1, "--device", "cpu"]) == 0
    (own,) = (own[0] for (_, size), (_, _, own) in read_calls(output).items() if size == unit)
    assert 0.07 < float(own["AF"]) < 0.14
    low, high = map(float, own["AFCI"].split(","))
    assert low < 0.1 < high


@pytest.mark.parametrize("size", [130, 170, 195])
def test_a_variant_opposite_a_deletion_is_on_one_copy(called, size):
    """Although it is farther from the deletion's ends than clipped reads go."""
    at = PLACE + size // 2
    calls = called(deleted(size), changed(at))
    assert {key: (status, own[0]["GT"]) for key, (_, status, own) in calls.items()} == {
        (min(position for position, _ in calls), -size): ("PASS", calls[min(calls)][2][0]["GT"]),
        (at + 1, 0): ("PASS", calls[at + 1, 0][2][0]["GT"]),
    }
    assert all(sorted(own[0]["GT"][::2]) == ["0", "1"] for _, _, own in calls.values())


def test_a_place_that_both_copies_lack_is_a_star(called):
    """A sample without the base is not homozygous for the reference's."""
    at, size = PLACE + 3, 8
    samples = {"a": [deleted(size), deleted(size)], "b": [changed(at), REFERENCE]}
    calls = called(samples=samples)
    alt, status, own = calls[at + 1, 0]
    assert alt == f"{other(SEQUENCE[at])},*" and status == "PASS"
    assert [each["GT"] for each in own] == ["2/2", "0/1"]
    deletion = next(own for (_, change), (_, _, own) in calls.items() if change == -size)
    assert [each["GT"] for each in deletion] == ["1/1", "0/0"]


def test_a_given_allele_in_a_homozygous_deletion_is_not_there(called):
    at, size = PLACE + 3, 8
    rows = [("c", at + 1, SEQUENCE[at], other(SEQUENCE[at]))]
    calls = called(deleted(size), deleted(size), alleles=rows)
    alt, _, own = calls[at + 1, 0]
    assert alt == f"{other(SEQUENCE[at])},*" and own[0]["GT"] == "2/2"
