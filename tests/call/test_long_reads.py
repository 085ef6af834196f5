"""Long reads: phased along a contig, weighed by haplotype, and tagged."""

import random

import pysam
import pytest

from helpers.jobs import call_variants
from helpers.making import Read, other, random_sequence, tiled, write_bam, write_fasta
from readwarp.config import CallParameters, Resources
from readwarp.errors import UsageError

RUN = 7000  # of ten As, which reads show too long or too short now and then
SEQUENCE = random_sequence(15_000, seed=5)
SEQUENCE = SEQUENCE[: RUN - 1] + "C" + "A" * 10 + "G" + SEQUENCE[RUN + 11 :]
BOTH = [(place, SEQUENCE[place], other(SEQUENCE[place])) for place in range(450, 13_900, 3300)]
FIRST = [(place, SEQUENCE[place], other(SEQUENCE[place])) for place in range(300, 13_900, 1100)]
SECOND = [(place, SEQUENCE[place], other(SEQUENCE[place])) for place in range(900, 13_900, 1310)]
LONGER = (RUN - 1, "C", "CA")
PACBIO = {"RG": [{"ID": "g", "SM": "patient", "PL": "PACBIO"}]}
CONTIGS = {"one": len(SEQUENCE)}


def with_slips(reads: list[Read], share: float) -> list[Read]:
    """A base too many or too few in the run, in this share of the reads across it."""
    rng, out = random.Random(8), []
    for read in reads:
        base = next((q for p, q, _ in read.aligned() if p == RUN + 4 and q is not None), None)
        if base is None or not 50 < base < len(read.bases) - 50 or rng.random() >= share:
            out.append(read)
            continue
        change = rng.choice(("A", ""))
        bases = read.bases[:base] + change + read.bases[base + (not change) :]
        done, runs = 0, []
        for size, operation in read.operations:
            step = size if operation in "MI" else 0
            if operation == "M" and done <= base < done + step:
                left = base - done
                runs += [(left, "M"), (1, "I" if change else "D"), (size - left - (not change), "M")]
            else:
                runs.append((size, operation))
            done += step
        cigar = "".join(f"{size}{operation}" for size, operation in runs)
        out.append(Read(read.position, cigar, bases, (35,) * len(bases), read.flag, 60, read.name))
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    reads = tiled([sorted(BOTH + FIRST), sorted([*BOTH, *SECOND, LONGER])], SEQUENCE, step=270, length=4000)
    bam = write_bam(folder / "a.bam", CONTIGS, [("one", read) for read in with_slips(reads, 0.35)], PACBIO)
    return write_fasta(folder / "ref.fa", {"one": SEQUENCE}), bam


def records_of(path) -> list[pysam.VariantRecord]:
    with pysam.VariantFile(str(path)) as file:
        return list(file)


def test_one_phase_set_from_end_to_end(made, tmp_path):
    call_variants(*made, tmp_path / "a.vcf", haplotag=tmp_path / "tagged.bam")
    records = {record.start: record for record in records_of(tmp_path / "a.vcf") if record.filter.keys() == ["PASS"]}
    assert records.keys() == {place for place, *_ in (*BOTH, *FIRST, *SECOND, LONGER)}
    genotypes = {place: record.samples[0]["GT"] for place, record in records.items()}
    first = genotypes[FIRST[0][0]]
    second = first[::-1]
    assert first in ((0, 1), (1, 0))
    for places, genotype in ((BOTH, (1, 1)), (FIRST, first), ([*SECOND, LONGER], second)):
        assert all(genotypes[place] == genotype for place, *_ in places)
    sets = {record.samples[0].get("PS") for place, record in records.items() if genotypes[place] != (1, 1)}
    assert sets == {FIRST[0][0] + 1}
    with pysam.AlignmentFile(str(tmp_path / "tagged.bam")) as file, pysam.AlignmentFile(str(made[1])) as given:
        assert file.has_index() and file.header.to_dict()["PG"][-1]["PN"] == "readwarp"
        for record, before in zip(file, given, strict=True):
            assert record.get_tag("PS") == FIRST[0][0] + 1
            on_first = record.query_name.startswith("h0")
            assert record.get_tag("HP") == (1 if on_first == (first == (1, 0)) else 2)
            record.set_tags([tag for tag in record.get_tags() if tag[0] not in ("HP", "PS")])
            assert record.to_string() == before.to_string()


@pytest.mark.parametrize(
    "resources", [Resources(threads=3), Resources(batch_bases=64 * 3000), Resources(memory=1 << 30)]
)
def test_resources_change_nothing(made, tmp_path, resources):
    for number, own in enumerate((Resources(), resources)):
        call_variants(*made, tmp_path / f"{number}.vcf", resources=own, haplotag=tmp_path / f"{number}.bam")
    assert (tmp_path / "0.vcf").read_bytes() == (tmp_path / "1.vcf").read_bytes()
    assert (tmp_path / "0.bam").read_bytes() == (tmp_path / "1.bam").read_bytes()


def test_a_genomic_vcf_is_phased_too(made, tmp_path):
    call_variants(*made, tmp_path / "a.vcf")
    call_variants(*made, tmp_path / "a.g.vcf", gvcf=True)
    plain = {(r.start, r.alts[0]): (r.samples[0]["GT"], r.samples[0].get("PS")) for r in records_of(tmp_path / "a.vcf")}
    for record in records_of(tmp_path / "a.g.vcf"):
        if record.qual and record.filter.keys() == ["PASS"]:
            genotype, name = plain[record.start, record.alts[0]]
            assert (record.samples[0]["GT"], record.samples[0].get("PS")) == (genotype, name)


def snv_at(place: int) -> tuple[int, str, str]:
    return place, SEQUENCE[place], other(SEQUENCE[place])


def gap_at(place: int, change: int) -> tuple[int, str, str]:
    """From the first place on where it cannot be moved left."""
    added = "GATTACAGTC"[: max(0, change)]
    while SEQUENCE[place] == (added[-1] if added else SEQUENCE[place - change]):
        place += 1
    return place, SEQUENCE[place : place + max(0, -change) + 1], SEQUENCE[place] + added


ONE, OTHER = 0, 1  # haplotypes


@pytest.mark.parametrize(
    "found",
    [
        [(snv_at(5000), ONE), (gap_at(6000, -3), ONE), (gap_at(6200, 2), OTHER)],  # one substitution names the set
        [(snv_at(place), (place - 6000) // 5 % 2) for place in (6000, 6005, 6010, 6015)],  # all in one region
        [(snv_at(6000), ONE), (snv_at(6005), OTHER)],
        [(gap_at(6000, -4), ONE), (gap_at(6200, 3), OTHER), (gap_at(6400, 1), ONE)],
    ],
)
def test_sites_without_others_around_are_in_phase(found, tmp_path):
    copies = [sorted(variant for variant, copy in found if copy == own) for own in (ONE, OTHER)]
    bam = write_bam(
        tmp_path / "a.bam", CONTIGS, [("one", read) for read in tiled(copies, SEQUENCE, step=270, length=4000)], PACBIO
    )
    fasta = write_fasta(tmp_path / "ref.fa", {"one": SEQUENCE})
    for number, resources in enumerate((Resources(), Resources(batch_bases=64 * 700))):
        call_variants(fasta, bam, tmp_path / f"{number}.vcf", resources=resources)
    assert (tmp_path / "0.vcf").read_bytes() == (tmp_path / "1.vcf").read_bytes()
    records = {
        (r.start, *r.alleles): r.samples[0] for r in records_of(tmp_path / "0.vcf") if r.filter.keys() == ["PASS"]
    }
    assert records.keys() == {variant for variant, _ in found}
    assert {own["PS"] for own in records.values()} == {min(records)[0] + 1} and all(
        own.phased for own in records.values()
    )
    first = {own["GT"].index(1) == copy for variant, copy in found for own in [records[variant]]}
    assert len(first) == 1


@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        ({"RG": [{"ID": "g", "SM": "p"}]}, {}, r"reads of 4,0\d\d bases, but the read groups do not say PL:PACBIO"),
        (
            {"RG": [{"ID": "g", "SM": "p", "PL": "ONT"}, {"ID": "h", "SM": "p", "PL": "ILLUMINA"}]},
            {},
            r"reads of several platforms \(ont, short\)",
        ),
        (
            PACBIO,
            {"parameters": CallParameters(platform="short"), "haplotag": "x.bam"},
            "--haplotag supports long reads only",
        ),
    ],
)
def test_what_is_not_clear_is_asked_for(made, tmp_path, header, options, message):
    reads = tiled([[]], SEQUENCE, step=1000, length=4000)
    bam = write_bam(tmp_path / "b.bam", CONTIGS, [("one", read) for read in reads], header)
    options = {name: tmp_path / value if name == "haplotag" else value for name, value in options.items()}
    with pytest.raises(UsageError, match=message):
        call_variants(made[0], bam, tmp_path / "a.vcf", **options)
    assert not list(tmp_path.glob("a.vcf*"))


def test_two_samples_are_phased_apart_but_not_tagged(made, tmp_path):
    reads = tiled([FIRST, SECOND], SEQUENCE, step=500, length=4000)
    bams = [
        write_bam(
            tmp_path / f"{name}.bam",
            CONTIGS,
            [("one", read) for read in reads],
            {"RG": [{"ID": "g", "SM": name, "PL": "ONT"}]},
        )
        for name in "ab"
    ]
    call_variants(made[0], bams, tmp_path / "a.vcf")
    for record in records_of(tmp_path / "a.vcf"):
        one, other = record.samples.values()
        assert one["GT"] == other["GT"] and one["PS"] == other["PS"] == FIRST[0][0] + 1
    with pytest.raises(UsageError, match="--haplotag takes one alignment file"):
        call_variants(made[0], bams, tmp_path / "b.vcf", haplotag=tmp_path / "c.bam")
