"""From a reference and alignments to VCF: what is found, and what must not change it."""

import gzip
import random
import shutil

import numpy as np
import pysam
import pysam.bcftools
import pytest

from helpers.jobs import call_variants
from helpers.making import Read, other, random_sequence, tiled, write_bam, write_fasta
from readwarp.call.likelihoods import evidence
from readwarp.call.reads.depth import DepthLimit
from readwarp.call.reads.inputs import AlignmentFiles, AlignmentSource, RegionTooDeepError
from readwarp.call.windows import resources
from readwarp.config import CallParameters, FractionParameters, Resources
from readwarp.errors import InputError, MemoryBudgetError
from readwarp.formats.alignments.regions import AlignedReader, ReadFilter
from readwarp.metrics import Metrics

SEQUENCE = random_sequence(4000, seed=11)
REPEAT = 1500  # here the reference gets a repeat
for _place, _bases in ((REPEAT, "GT" + "CA" * 8 + "GG"), (700, "AGGCTA"), (2000, "A"), (2400, "A")):
    SEQUENCE = SEQUENCE[:_place] + _bases + SEQUENCE[_place + len(_bases) :]
CONTIGS = {"one": SEQUENCE, "bare": random_sequence(300, seed=12)}


def snv(position: int) -> tuple[int, str, str]:
    return position, SEQUENCE[position], other(SEQUENCE[position])


def planted() -> list[list[tuple[int, str, str]]]:
    """Two haplotypes: heterozygous and homozygous substitutions, indels, and two insertions at one place."""
    both = [snv(300), (700, SEQUENCE[700:704], SEQUENCE[700]), snv(2900)]
    first = [snv(500), (REPEAT + 1, "TCA", "T"), (2000, SEQUENCE[2000], SEQUENCE[2000] + "GATTACAT"), snv(3500)]
    second = [
        snv(1000),
        snv(1010),
        (2400, SEQUENCE[2400], SEQUENCE[2400] + "GGCC"),
        (
            3500,
            SEQUENCE[3500],
            "ACGT"[next(i for i in range(4) if "ACGT"[i] not in (SEQUENCE[3500], other(SEQUENCE[3500])))],
        ),
    ]
    return [sorted(both + first), sorted(both + second)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calling")
    reads = tiled(planted(), SEQUENCE, step=4)
    noisy = []
    rng = random.Random(3)
    for read in reads:  # a sequencing error in every fourth read
        bases = list(read.bases)
        if rng.random() < 0.25:
            bases[rng.randrange(len(bases))] = rng.choice("ACGT")
        noisy.append(Read(read.position, read.cigar, "".join(bases), read.qualities, read.flag, 60, read.name))
    header = {"RG": [{"ID": "g", "SM": "patient"}]}
    bam = write_bam(folder / "made.bam", {n: len(s) for n, s in CONTIGS.items()}, [("one", r) for r in noisy], header)
    return write_fasta(folder / "ref.fa", CONTIGS), bam


def run(
    fasta, bam, output, *, parameters=None, threads=1, device="cpu", batch_bases=None, memory=None, **options
) -> Metrics:
    given = Resources(threads=threads, device=device, memory=memory, batch_bases=batch_bases)
    return call_variants(fasta, bam, output, parameters, given, **options)


def records(path) -> list[tuple]:
    with pysam.VariantFile(str(path)) as file:
        return [(r.chrom, r.start, r.alleles, r.samples[0]["GT"], list(r.filter)) for r in file]


def body(path) -> bytes:
    return path.read_bytes()


def calls_of(path) -> list[bytes]:
    return [line for line in body(path).splitlines() if line[:1] != b"#"]


def expected() -> list[tuple[int, tuple[str, ...], tuple[int, int]]]:
    first, second = planted()
    out = {}
    for side, variants in enumerate((first, second)):
        for position, old, new in variants:
            out.setdefault(position, (old, {}))[1].setdefault(new, set()).add(side)
    rows = []
    for position, (old, news) in sorted(out.items()):
        if len(news) == 2:
            rows.append((position, (old, *sorted(news)), (1, 2)))
        else:
            ((new, sides),) = news.items()
            rows.append((position, (old, new), (1, 1) if len(sides) == 2 else (0, 1)))
    return rows


def test_finds_what_was_planted(made, tmp_path):
    metrics = run(*made, tmp_path / "a.vcf")
    found = [
        (start, (alleles[0], *sorted(alleles[1:])), genotype)
        for _, start, alleles, genotype, filters in records(tmp_path / "a.vcf")
        if filters == ["PASS"]
    ]
    assert found == expected()
    assert metrics.counts["variants_pass"] == len(found)
    assert metrics.counts["snvs"] == sum(len(a[0]) == len(a[1]) == 1 for _, a, _ in found)
    assert metrics.counts["indels"] == sum(len(a[0]) != len(a[1]) for _, a, _ in found)


def test_records_are_normal(made, tmp_path):
    """bcftools norm finds every REF in the reference and nothing to move or trim."""
    run(*made, tmp_path / "a.vcf")
    said = pysam.bcftools.norm("--check-ref", "e", "-f", str(made[0]), str(tmp_path / "a.vcf"))
    before = [line for line in (tmp_path / "a.vcf").read_text().splitlines() if line[0] != "#"]
    assert [line for line in said.splitlines() if line[0] != "#"] == before


@pytest.mark.parametrize(
    "options", [{"threads": 2}, {"batch_bases": 1}, {"batch_bases": 64 * 37, "threads": 3}], ids=str
)
def test_threads_and_windows_do_not_matter(made, tmp_path, options):
    run(*made, tmp_path / "a.vcf")
    if options.get("batch_bases") == 1:  # one base a window: a part is enough
        options = {**options, "regions": [("one", 995, 1015), ("one", 1495, 1510)]}
    run(*made, tmp_path / "b.vcf", **options)
    regions = options.get("regions")
    lines = body(tmp_path / "a.vcf").splitlines()
    if regions:
        spans = [range(start, stop) for _, start, stop in regions]
        lines = [x for x in lines if x[:1] == b"#" or any(int(x.split(b"\t")[1]) - 1 in span for span in spans)]
    assert body(tmp_path / "b.vcf").splitlines() == lines
    assert len(lines) > len([x for x in lines if x[:1] == b"#"])


def test_deep_windows_are_cut(made, tmp_path):
    """Narrow ones are tried with the memory of all workers, and the run ends where that is too little."""
    assert "windows_alone" not in run(*made, tmp_path / "a.vcf").counts
    fixed = resources.PROGRAM + 5000  # of the reference and the index
    whole = run(*made, tmp_path / "b.vcf", memory=fixed + 8 * 100_000, threads=3).counts
    assert whole["windows_alone"] == 2
    assert body(tmp_path / "a.vcf") == body(tmp_path / "b.vcf")
    needed = rf"need at least {resources.PROGRAM >> 20}\.\dM"
    with pytest.raises(MemoryBudgetError, match=rf"the [\d,]+ bases of reads at and around one:1-\d+ {needed}"):
        run(*made, tmp_path / "c.vcf", memory=fixed + 8 * 6000)
    assert not (tmp_path / "c.vcf").exists()
    reader = AlignedReader(made[1])
    alignments = AlignmentFiles((AlignmentSource(reader, {0: 0}, ReadFilter(), np.zeros(1, np.uint16)),), ("s",))
    with pytest.raises(RegionTooDeepError):
        alignments.read((0, 0, 4000), DepthLimit(1000), 6000)
    assert alignments.read((0, 0, 1000), DepthLimit(1), 6000).bases.size < 3000
    reader.close()


@pytest.mark.parametrize("parameters", [None, CallParameters(fractions=FractionParameters())], ids=["usual", "mixture"])
def test_sites_in_parts_are_called_as_all_together(made, tmp_path, monkeypatch, parameters):
    run(*made, tmp_path / "a.vcf", parameters=parameters)
    monkeypatch.setattr(evidence, "PAIRS", 100)  # of some 40 reads across a site
    run(*made, tmp_path / "b.vcf", parameters=parameters)
    assert body(tmp_path / "a.vcf") == body(tmp_path / "b.vcf") and calls_of(tmp_path / "a.vcf")


@pytest.mark.cards
def test_cuda_gives_the_same_bytes(tmp_path):
    """Pileup and PairHMM on a minimal set with a deletion in a region and a substitution outside."""
    sequence = random_sequence(110, seed=5)
    variants = [(30, sequence[30:33], sequence[30]), (80, sequence[80], "ACGT"["ACGT".index(sequence[80]) - 1])]
    reads = tiled([variants], sequence, step=9, length=32)
    fasta = write_fasta(tmp_path / "ref.fa", {"one": sequence})
    bam = write_bam(tmp_path / "made.bam", {"one": 110}, [("one", read) for read in reads])
    metrics = run(fasta, bam, tmp_path / "a.vcf")
    run(fasta, bam, tmp_path / "b.vcf", device="cuda")
    assert body(tmp_path / "a.vcf") == body(tmp_path / "b.vcf")
    assert len(records(tmp_path / "a.vcf")) == 2 and metrics.counts["regions"] == 1


def test_regions_together_equal_the_whole(made, tmp_path):
    run(*made, tmp_path / "whole.vcf")
    parts = []
    for i, cut in enumerate([(0, 701), (701, 2000), (2000, 4000)]):
        run(*made, tmp_path / f"{i}.vcf", regions=[("one", *cut)])
        parts += [x for x in body(tmp_path / f"{i}.vcf").splitlines() if x[:1] != b"#"]
    assert parts == [x for x in body(tmp_path / "whole.vcf").splitlines() if x[:1] != b"#"]


def test_targets_that_share_a_window_are_called_as_by_themselves(made, tmp_path):
    """And counted so: 300 is in the padding of the first one, 700 and 1010 between targets, 2900 excluded."""
    run(*made, tmp_path / "whole.vcf")
    bed = tmp_path / "x.bed"
    bed.write_text("one\t305\t320\none\t400\t600\none\t990\t1005\none\t1400\t4000\n")
    metrics = run(*made, tmp_path / "part.vcf", targets=[str(bed)], excluded=["one:2890-2910"], padding=5)
    wanted = [(300, 325), (395, 605), (985, 1010), (1395, 2889), (2910, 4000)]
    places = {
        line: int(line.split(b"\t")[1]) - 1 for line in body(tmp_path / "whole.vcf").splitlines() if line[:1] != b"#"
    }
    kept = [line for line, place in places.items() if any(low <= place < high for low, high in wanted)]
    assert [line for line in body(tmp_path / "part.vcf").splitlines() if line[:1] != b"#"] == kept
    assert 0 < len(kept) < len(places) - 2
    alone = [run(*made, tmp_path / "x.vcf", regions=[("one", *cut)]).counts for cut in wanted]
    assert metrics.counts["bases_counted"] == sum(counts["bases_counted"] for counts in alone)
    assert metrics.counts["reads_used"] == sum(counts["reads_used"] for counts in alone)


def test_cram_equals_bam(made, tmp_path):
    fasta, bam = made
    cram = tmp_path / "made.cram"
    with (
        pysam.AlignmentFile(str(bam)) as file,
        pysam.AlignmentFile(str(cram), "wc", template=file, reference_filename=str(fasta)) as out,
    ):
        for record in file:
            out.write(record)
    pysam.index(str(cram))
    run(fasta, bam, tmp_path / "a.vcf")
    packed = tmp_path / "ref.fa.gz"
    packed.write_bytes(gzip.compress(fasta.read_bytes()))
    here = sorted(p.name for p in tmp_path.iterdir())
    for reference in (fasta, packed):
        run(reference, cram, tmp_path / "b.vcf")
        assert calls_of(tmp_path / "a.vcf") == calls_of(tmp_path / "b.vcf")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*here, "b.vcf"])  # nothing beside the inputs
    other = write_fasta(tmp_path / "other.fa", {n: s[::-1] for n, s in CONTIGS.items()})
    with pytest.raises(InputError, match="another sequence"):
        run(other, cram, tmp_path / "c.vcf")


def test_haploid(made, tmp_path):
    run(*made, tmp_path / "a.vcf", parameters=CallParameters(ploidy=1))
    found = records(tmp_path / "a.vcf")
    assert {len(genotype) for _, _, _, genotype, _ in found} == {1}
    assert [start for _, start, _, _, filters in found if filters == ["PASS"]] == [300, 700, 2900]


def test_zero_coverage_is_a_header(made, tmp_path):
    empty = write_bam(tmp_path / "empty.bam", {n: len(s) for n, s in CONTIGS.items()}, [])
    metrics = run(made[0], empty, tmp_path / "a.vcf.gz")
    with pysam.VariantFile(str(tmp_path / "a.vcf.gz")) as file:
        assert list(file) == [] and list(file.header.contigs) == list(CONTIGS)
        assert list(file.header.samples) == ["empty"]
    assert metrics.counts["variants"] == 0


def test_contigs_that_the_file_lacks(made, tmp_path):
    """A file with fewer contigs than the reference is fine."""
    reads = tiled([[snv(300)]], SEQUENCE, step=4)
    bam = write_bam(tmp_path / "one.bam", {"one": len(SEQUENCE)}, [("one", r) for r in reads])
    run(made[0], bam, tmp_path / "a.vcf")
    assert [start for _, start, *_ in records(tmp_path / "a.vcf")] == [300]


def test_samples(made, tmp_path):
    lengths = {n: len(s) for n, s in CONTIGS.items()}
    groups = {"RG": [{"ID": "g", "SM": "x"}, {"ID": "h", "SM": "y"}]}
    bam = write_bam(tmp_path / "two.bam", lengths, [], groups)
    with pytest.raises(InputError, match="no read group of sample 'z'"):
        run(made[0], bam, tmp_path / "a.vcf", samples=["z"])
    run(made[0], bam, tmp_path / "a.vcf", samples=["y"])
    with pysam.VariantFile(str(tmp_path / "a.vcf")) as file:
        assert list(file.header.samples) == ["y"]


@pytest.mark.parametrize(
    ("contigs", "reason"),
    [
        (
            {"two": 4000},
            r"none of its contigs \('two'\) is in the reference, which has 'one', 'bare': it was aligned to a",
        ),
        ({"one": 3999}, "has 3999 bases, in the reference 4000"),
        ({"one": 4000, "two": 100}, "has reads on contig 'two', which is not in the reference"),
    ],
)
def test_contigs_that_do_not_match(made, tmp_path, contigs, reason):
    reads = [("two", Read(5, "10M", "ACGTACGTAC", (30,) * 10))] if "one" in contigs and "two" in contigs else []
    bam = write_bam(tmp_path / "other.bam", contigs, reads)
    with pytest.raises(InputError, match=reason):
        run(made[0], bam, tmp_path / "a.vcf")
    assert not list(tmp_path.glob("a.vcf*"))


@pytest.mark.parametrize("kind", ["bam", "cram"])
def test_contigs_that_the_reference_lacks(kind, made, tmp_path):
    """They may be named. Reads on them are an error only if the whole reference is called."""
    sequences = {**CONTIGS, "two": random_sequence(500, seed=9)}
    both, lengths = write_fasta(tmp_path / "both.fa", sequences), {n: len(s) for n, s in sequences.items()}
    reads = [("one", r) for r in tiled([[snv(300)]], SEQUENCE, step=4)]
    on_two = ("two", Read(5, "10M", sequences["two"][5:15], (30,) * 10))
    for name, placed in (("without", reads), ("with", [*reads, on_two])):
        bam = write_bam(tmp_path / f"{name}.bam", lengths, placed)
        if kind == "cram":
            pysam.view("-C", "-T", str(both), "-o", str(tmp_path / f"{name}.cram"), str(bam), catch_stdout=False)
            pysam.index(str(tmp_path / f"{name}.cram"))
    run(made[0], tmp_path / f"without.{kind}", tmp_path / "a.vcf")
    assert [start for _, start, *_ in records(tmp_path / "a.vcf")] == [300]
    with pytest.raises(InputError, match="has reads on contig 'two', which is not in the reference"):
        run(made[0], tmp_path / f"with.{kind}", tmp_path / "b.vcf")
    run(made[0], tmp_path / f"with.{kind}", tmp_path / "b.vcf", regions=[("one", 0, 4000)])
    assert calls_of(tmp_path / "a.vcf") == calls_of(tmp_path / "b.vcf")


def test_another_sequence_of_the_same_length(made, tmp_path):
    sequences = [{"SN": "one", "LN": 4000, "M5": "0" * 32}]
    bam = write_bam(tmp_path / "m5.bam", {"one": 4000}, [], {"SQ": sequences})
    with pytest.raises(InputError, match="another sequence"):
        run(made[0], bam, tmp_path / "a.vcf")


def test_damage_leaves_no_output(made, tmp_path):
    data = bytearray(made[1].read_bytes())
    data[len(data) // 2] ^= 0xFF
    bad = tmp_path / "bad.bam"
    bad.write_bytes(data)
    shutil.copy(f"{made[1]}.bai", f"{bad}.bai")
    with pytest.raises(InputError, match=r"bad\.bam"):
        run(made[0], bad, tmp_path / "a.vcf.gz", threads=2)
    assert not list(tmp_path.glob("a.vcf*"))


def test_deep_coverage(tmp_path):
    """10,000 reads at one place: capped by the stated rule, and called."""
    sequence = random_sequence(400, seed=4)
    alternate = sequence[:200] + other(sequence[200]) + sequence[201:]
    reads = [
        Read(150, "100M", (sequence, alternate)[i % 2][150:250], (30,) * 100, 16 * (i % 4 > 1), 60, f"r{i}")
        for i in range(10_000)
    ]
    fasta = write_fasta(tmp_path / "ref.fa", {"c": sequence})
    bam = write_bam(tmp_path / "deep.bam", {"c": 400}, [("c", r) for r in reads])
    run(fasta, bam, tmp_path / "a.vcf")
    with pysam.VariantFile(str(tmp_path / "a.vcf")) as file:
        (record,) = file
        assert (record.start, record.samples[0]["GT"], record.samples[0]["DP"]) == (200, (0, 1), 8000)


def test_progress_ends_at_the_end(made, tmp_path):
    seen = []
    run(*made, tmp_path / "a.vcf", batch_bases=64 * 999, progress=seen.append)
    assert seen[-1] == ("calling", 4300, "bases", 1.0) and sorted(seen) == seen and len(seen) == 5
