"""Samples that are called together: a variant of one is not lost among the reads of the others."""

import logging

import numpy as np
import pysam
import pytest

from helpers.jobs import call_variants
from helpers.making import Read, aligned_reads, random_sequence, tiled, window_of, write_fasta, write_samples
from readwarp.call.candidates.regions.clips import find_clip_places
from readwarp.call.candidates.regions.find import find_regions, split_samples
from readwarp.call.candidates.sites.find import sites_of
from readwarp.call.likelihoods.haplotypes.ways import group_reads
from readwarp.config import CallParameters
from readwarp.ragged import replace, take

SEQUENCE = random_sequence(2400, seed=21)
SAMPLES = [f"s{number}" for number in range(10)]
CARRIER, SILENT = "s3", "s9"


def snv(position: int) -> tuple[int, str, str]:
    base = SEQUENCE[position]
    return position, base, "CGTA"["ACGT".index(base)]


def deletion(position: int, size: int) -> tuple[int, str, str]:
    """A deletion after `position` that cannot be written elsewhere."""
    while SEQUENCE[position] == SEQUENCE[position + size] or SEQUENCE[position + 1] == SEQUENCE[position + size + 1]:
        position += 1
    return position, SEQUENCE[position : position + size + 1], SEQUENCE[position]


PRIVATE = sorted([snv(600), deletion(1200, 6), snv(1225), snv(1800)])
SHARED = snv(2000)


def of_group(reads: list[Read], sample: str, *, own_names: bool) -> list[Read]:
    return [replace(read, name=f"{sample}_{read.name}") if own_names else read for read in reads]


def written(folder, *, own_names: bool = True, silent: bool = True):
    """A BAM file of ten samples. One carries the private variants on one haplotype, another one has no reads."""
    own = {sample: list[Read]() for sample in SAMPLES if silent or sample != SILENT}
    for sample in SAMPLES:
        if sample != SILENT:
            haplotypes = [sorted([*PRIVATE, SHARED]) if sample == CARRIER else [SHARED], []]
            own[sample] = of_group(tiled(haplotypes, SEQUENCE, step=5, length=75), sample, own_names=own_names)
    return write(folder, own)


def write(folder, own: dict[str, list[Read]]):
    """A reference, and a BAM file of these samples' reads."""
    fasta, reads = write_fasta(folder / "ref.fa", {"c": SEQUENCE}), {n: [("c", r) for r in own[n]] for n in own}
    return fasta, write_samples(folder / "reads.bam", {"c": len(SEQUENCE)}, reads)


def called(fasta, bam, output, samples=()) -> dict[tuple, dict[str, tuple]]:
    """GT of each sample at each variant that passes."""
    call_variants(fasta, bam, output, samples=samples)
    with pysam.VariantFile(str(output)) as file:
        return {
            (r.start, *r.alleles): {name: tuple(sorted(call["GT"], key=str)) for name, call in r.samples.items()}
            for r in file
            if list(r.filter) == ["PASS"]
        }


@pytest.fixture(scope="module")
def ten(tmp_path_factory):
    return written(tmp_path_factory.mktemp("ten"))


@pytest.fixture(scope="module")
def together(ten, tmp_path_factory):
    return called(*ten, tmp_path_factory.mktemp("together") / "a.vcf")


def test_private_variants_are_found_together(together):
    assert sorted(together) == [*PRIVATE, SHARED]
    for variant in PRIVATE:
        for sample in set(SAMPLES) - {SILENT}:
            assert together[variant][sample] == ((0, 1) if sample == CARRIER else (0, 0)), (variant, sample)
    assert all(together[SHARED][sample] == (0, 1) for sample in SAMPLES if sample != SILENT)


@pytest.mark.parametrize("sample", [CARRIER, "s5"])
def test_genotypes_are_those_of_a_sample_alone(sample, ten, together, tmp_path):
    alone = called(*ten, tmp_path / "a.vcf", [sample])
    assert {variant: genotypes[sample] for variant, genotypes in alone.items()} == {
        variant: genotypes[sample] for variant, genotypes in together.items() if genotypes[sample] != (0, 0)
    }


def test_equal_read_names_of_samples(together, tmp_path):
    """Fragments of two samples are two fragments, even if they share a name."""
    assert called(*written(tmp_path, own_names=False), tmp_path / "a.vcf") == together


def test_a_sample_without_reads(together, tmp_path):
    assert all(genotypes[SILENT] == (None, None) for genotypes in together.values())
    without = called(*written(tmp_path, silent=False), tmp_path / "a.vcf")
    assert without == {
        variant: {name: genotype for name, genotype in genotypes.items() if name != SILENT}
        for variant, genotypes in together.items()
    }


def test_limits_are_said(ten, tmp_path, caplog):
    """In the records, and once on the terminal; nothing is said where nothing is left out."""
    fasta, bam = ten
    call_variants(fasta, bam, tmp_path / "a.vcf")
    with pysam.VariantFile(str(tmp_path / "a.vcf")) as file:
        assert "LIM" in file.header.info and not any("LIM" in record.info for record in file)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    for parameters, name, said in (
        (CallParameters(max_depth=20), "depth", "left out where the depth exceeds --max-depth"),
        (
            CallParameters(max_region_reads=20),
            "reads",
            "1 region with too many reads of a sample to compare with haplotypes",
        ),
    ):
        call_variants(fasta, bam, tmp_path / "b.vcf", parameters)
        with pysam.VariantFile(str(tmp_path / "b.vcf")) as file:
            found = {record.start: record.info.get("LIM") for record in file}
        assert set(found.values()) == ({(name,)} if name == "depth" else {(name,), None}) and said in caplog.text


def test_low_depth_of_many_samples(tmp_path):
    """A read of each of ten samples, half of which show a substitution and a deletion: nobody has two reads of any."""
    variants = [snv(600), deletion(1200, 6)]
    reads = {}
    for i, sample in enumerate(SAMPLES):
        made = tiled([variants if i % 2 else []], SEQUENCE, step=90, length=90)
        reads[sample] = of_group(made, sample, own_names=True)
    found = called(*write(tmp_path, reads), tmp_path / "a.vcf")
    assert list(found) == variants
    for genotypes in found.values():
        assert {name for name, genotype in genotypes.items() if any(genotype)} == set(SAMPLES[1::2])


def test_many_samples_with_variants_of_their_own(tmp_path):
    """Each of forty samples has a substitution and a deletion of its own, all within 200 bases; each finds its own."""
    samples = [f"s{number}" for number in range(40)]
    own = {name: sorted([snv(800 + 5 * i), deletion(1000 + 5 * i, 2)]) for i, name in enumerate(samples)}
    reads = {n: of_group(tiled([own[n], []], SEQUENCE, 10, 100), n, own_names=True) for n in samples}
    found = called(*write(tmp_path, reads), tmp_path / "a.vcf")
    carriers = {v[:3]: {n for n, g in genotypes.items() if 1 in g} for v, genotypes in found.items()}  # without `*`
    expected = dict[tuple, set[str]]()
    for name, variants in own.items():
        for variant in variants:
            expected.setdefault(variant, set()).add(name)
    assert carriers == expected
    assert all(genotype in ((0, 0), (0, 1), (0, 2)) for genotypes in found.values() for genotype in genotypes.values())


def numbered(reads: list[Read], samples: list[int]):
    """The reads, sorted by position, assigned to these samples."""
    return replace(aligned_reads(reads), sample=np.array(samples, np.uint16))


def test_reads_of_one_sample():
    reads = [
        Read(1, "4M", "ACGT", (31,) * 4),
        Read(2, "2M1I2M", "CGTAC", (32,) * 5),
        Read(3, "1S5M", "TTACGA", (33,) * 6),
    ]
    batch = numbered(reads, [1, 0, 1])
    for sample, chosen in ((0, [1]), (1, [0, 2]), (2, [])):
        found, plain = take(batch, "reads", batch.sample == sample), aligned_reads([reads[i] for i in chosen])
        for name in ("position", "reference_stop", "cigar", "cigar_offsets", "bases", "qualities", "read_offsets"):
            assert np.array_equal(getattr(found, name), getattr(plain, name)), name
        assert (found.sample == sample).all()


def test_clips_of_one_sample_make_a_place():
    """Two of eight reads of one sample are enough; one read of each of two samples is not."""
    clipped = Read(100, "50M10S", "A" * 60, (35,) * 60)
    whole = Read(100, "60M", "A" * 60, (35,) * 60)
    window = window_of("A" * 1000)
    own = numbered([clipped] * 2 + [whole] * 98, [1, 1] + [1] * 6 + [0] * 92)
    assert find_clip_places(own, window).ending.tolist() == [150]
    apart = replace(own, sample=np.array([0, 1] + [0] * 49 + [1] * 49, np.uint16))
    assert find_clip_places(apart, window).ending.size == 0


def test_names_are_numbered_by_sample():
    window = window_of("A" * 400)
    reads = [Read(100, "60M", "A" * 60, (35,) * 60, 0, 60, name) for name in "aabba"]
    batch = numbered(reads, [0, 1, 1, 0, 0])
    sites = sites_of([(130, True, [(0, b""), (2, b"")])], window)
    regions, _ = find_regions(batch, find_clip_places(batch, window), sites, window)
    regions = split_samples(regions, batch)
    assert regions.place.tolist() == [0, 0] and regions.sample.tolist() == [0, 1]
    groups = group_reads(regions, batch)
    sample, name = batch.sample[groups.read], batch.name_hash[groups.read]
    assert sample.tolist() == [0, 0, 0, 1, 1] and groups.read_offsets.tolist() == [0, 3, 5]
    assert groups.fragment.tolist() == [0, 0 if name[0] == name[1] else 1, 1, 2, 3]
    assert groups.fragment_offsets.tolist() == [0, 2, 4] and groups.region.tolist() == [0, 1]
