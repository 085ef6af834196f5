"""Structural variants from files: the alignments of made reads to VCF."""

import gzip
import subprocess
import sys

import numpy as np
import pysam
import pytest

from helpers.jobs import call_variants
from helpers.making import Read, random_sequence, write_bam, write_fasta, write_samples
from helpers.vcf_checks import check_vcf, check_with_bcftools
from readwarp.cli import main
from readwarp.config import CallParameters, Resources, StructuralParameters
from readwarp.errors import InputError, UsageError
from readwarp.structural import job as structural_job

CONTIG = random_sequence(300_000, seed=9)
LENGTH, STEP = 6000, 700
SECOND = random_sequence(30_000, seed=10)
NEW = random_sequence(900, seed=11)
# Position of the base before, bases deleted, bases inserted; on which haplotypes.
EVENTS = (
    (20_000, 300, "", (1,)),
    (50_000, 0, NEW, (0, 1)),
    (80_000, 0, CONTIG[80_001:82_001], (1,)),  # a tandem duplication
    (110_000, 60, "", (0, 1)),
    (131_071, 70, "", (0,)),  # where a window ends
    (160_000, 0, NEW[:49], (1,)),  # too short
    (200_000, 5000, "", (1,)),
    (250_000, 0, NEW[:200], (0, 1)),
)
TRUTH = {(start, len(new) - gone): len(on) for start, gone, new, on in EVENTS if abs(len(new) - gone) >= 50}


def haplotype(number: int) -> tuple[str, np.ndarray]:
    """Its bases, and of each where it is on the contig; inserted ones are negative."""
    text, place, cursor = "", [], 0
    for start, gone, new, on in EVENTS:
        if number in on:
            text += CONTIG[cursor : start + 1] + new
            place += [np.arange(cursor, start + 1), np.full(len(new), -1)]
            cursor = start + 1 + gone
    return text + CONTIG[cursor:], np.concatenate([*place, np.arange(cursor, len(CONTIG))])


def aligned(name: str, text: str, place: np.ndarray, flag: int, is_split: bool = False) -> list[Read]:
    """The record of a read whose gaps are known; with `is_split`, two where it has a gap of 1,000 bases."""
    inner = np.flatnonzero(place >= 0)
    runs: list[list] = [["S", int(inner[0])]] if inner[0] else []
    cuts, before = [], None
    for i in range(inner[0], inner[-1] + 1):
        at = place[i]
        if at >= 0:
            if before is not None and at > before + 1:
                if at - before > 1000:
                    cuts.append((i, int(before) + 1, int(at)))
                runs.append(["D", int(at - before - 1)])
            before = at
        letter = "M" if at >= 0 else "I"
        if runs and runs[-1][0] == letter:
            runs[-1][1] += 1
        else:
            runs.append([letter, 1])
    if inner[-1] + 1 < len(text):
        runs.append(["S", len(text) - int(inner[-1]) - 1])
    if is_split and cuts:
        i, _, at = cuts[0]
        left = aligned(name, text[:i], place[:i], flag)[0]
        right = aligned(name, text[i:], place[i:], flag | 0x800)[0]
        bases = Read(left.position, f"{left.cigar}{len(text) - i}S", text, (30,) * len(text), flag, 60, name)
        return [bases, Read(at, f"{i}H{right.cigar}", right.bases, right.qualities, flag | 0x800, 60, name)]
    cigar = "".join(f"{n}{letter}" for letter, n in runs)
    return [Read(int(place[inner[0]]), cigar, text, (30,) * len(text), flag, 60, name)]


def reads(name: str = "r", haplotypes=(0, 1), step: int = STEP, is_split: bool = True) -> list[Read]:
    found = []
    for number in haplotypes:
        text, place = haplotype(number)
        for start in range(0, len(text) - LENGTH, step):
            part = slice(start, start + LENGTH)
            flag = 16 * (start // step % 2)
            found += aligned(f"{name}{number}_{start}", text[part], place[part], flag, is_split and start % 3 == 0)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("structural")
    contigs = {"c": CONTIG, "d": SECOND}
    write_fasta(path / "ref.fa", contigs)
    pysam.faidx(str(path / "ref.fa"))
    lengths = {name: len(text) for name, text in contigs.items()}
    write_bam(path / "reads.bam", lengths, [("c", read) for read in reads()])
    return path


def call(folder, output, bam="reads.bam", **options):
    return call_variants(folder / "ref.fa", folder / bam, folder / output, sv_only=True, **options)


def rows_of(path) -> list[str]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [line for line in text.decode().splitlines() if line[:1] != "#"]


def found(path) -> dict[tuple[int, int], int]:
    """(position of the base before, length) -> copies."""
    with pysam.VariantFile(str(path)) as file:
        return {(r.start, r.info["SVLEN"][0]): sum(a or 0 for a in r.samples[0]["GT"]) for r in file}


def test_variants_are_found(folder):
    metrics = call(folder, "all.vcf")
    assert found(folder / "all.vcf") == TRUTH
    assert check_vcf(folder / "all.vcf", folder / "ref.fa") == len(TRUTH) == metrics.counts["structural_variants"]
    check_with_bcftools(folder / "all.vcf", folder / "ref.fa")
    with pysam.VariantFile(str(folder / "all.vcf")) as file:
        records = {record.start: record for record in file}
    assert records[50_000].alts[0] == CONTIG[50_000] + NEW and records[50_000].info["SVTYPE"] == "INS"
    assert records[80_000].alts[0] == CONTIG[80_000:82_001]
    assert records[200_000].stop == 205_001 and records[200_000].info["SVTYPE"] == "DEL"
    assert all(record.filter.keys() == ["PASS"] and "PRECISE" in record.info for record in records.values())
    assert records[110_000].samples[0]["AD"][0] == 0 and records[110_000].info["SUPPORT"] >= 10


@pytest.mark.parametrize("window", [1 << 12, 50_001])
def test_windows_and_threads_change_nothing(folder, window, monkeypatch):
    call(folder, "one.vcf")
    monkeypatch.setattr(structural_job, "WINDOW", window)
    call(folder, "other.vcf", resources=Resources(threads=3))
    assert rows_of(folder / "one.vcf") == rows_of(folder / "other.vcf") != []


@pytest.mark.parametrize("region", ["c:15,000-60,000", "c:20,001-20,001", "c:80,002-200,001"])
def test_a_region_has_the_variants_that_begin_in_it(folder, region):
    call(folder, "all.vcf")
    call(folder, "part.vcf", regions=[region])
    low, high = map(int, region.removeprefix("c:").replace(",", "").split("-"))
    own = [row for row in rows_of(folder / "all.vcf") if low <= int(row.split("\t")[1]) <= high]
    assert rows_of(folder / "part.vcf") == own != []


def test_targets_that_share_reads(folder):
    """A read that reaches both counts once."""
    (folder / "two.bed").write_text("c\t19000\t20100\nc\t20110\t51000\n")
    call(folder, "all.vcf")
    limit = StructuralParameters(max_sv_length=6000)
    call(folder, "two.vcf", targets=[str(folder / "two.bed")], structural=limit)
    own = [row for row in rows_of(folder / "all.vcf") if 19_000 < int(row.split("\t")[1]) <= 51_000]
    assert rows_of(folder / "two.vcf") == own and len(own) == 2


def test_beside_small_variants(folder):
    """--sv writes what --sv-only does; both files and their indexes are there."""
    call(folder, "all.vcf")
    hifi = CallParameters(platform="hifi")
    call_variants(folder / "ref.fa", folder / "reads.bam", folder / "small.vcf.gz", hifi, sv=folder / "sv.vcf.gz")
    assert rows_of(folder / "sv.vcf.gz") == rows_of(folder / "all.vcf")
    assert check_vcf(folder / "sv.vcf.gz", folder / "ref.fa") == len(TRUTH)
    assert (folder / "sv.vcf.gz.tbi").exists() and (folder / "small.vcf.gz.tbi").exists()


def test_run_writes_them_too(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    command = ["run", "ref.fa", "reads.bam", "--preset", "hifi", "--device", "cpu", "--no-report", "-q"]
    assert main([*command, "-o", "results", "--sv", "own.vcf.gz", "--min-sv-length", "55"]) == 0
    lengths = sorted(int(row.split("SVLEN=")[1].split(";")[0]) for row in rows_of(folder / "own.vcf.gz"))
    assert lengths == sorted(length for _, length in TRUTH)
    assert (folder / "own.vcf.gz.tbi").exists()
    (sample,) = {path.name.split(".")[0] for path in (folder / "results").glob("*.bam")}
    for options, said in (
        (["-o", "new", "--sv", "own.vcf.gz"], "own.vcf.gz: already exists"),
        (["-o", "results", "--sv", f"results/{sample}.vcf.gz", "-f"], "is another output too"),
        (["-o", "results", "--haplotag", f"results/{sample}.bam", "-f"], "is another output too"),
        (["-o", "new", "--haplotag", "x.bam", "--bam-output", "x.bam"], "x.bam: is another output too"),
        (["-o", "new", "--sv", "reads.bam", "-f"], "reads.bam: is an input too"),
    ):
        capsys.readouterr()
        assert main([*command, *options]) == 2
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1, error


def test_cram_and_bcf(folder):
    path = folder / "reads.cram"
    pysam.view("-C", "-T", str(folder / "ref.fa"), "-o", str(path), str(folder / "reads.bam"), catch_stdout=False)
    pysam.index(str(path))
    call(folder, "all.vcf")
    call(folder, "cram.bcf", bam="reads.cram")
    assert found(folder / "cram.bcf") == found(folder / "all.vcf") and (folder / "cram.bcf.csi").exists()


def test_samples_are_called_together(folder):
    """The second sample has the first haplotype only."""
    own = {"one": [("c", r) for r in reads("a")], "two": [("c", r) for r in reads("b", (0, 0))]}
    write_samples(folder / "two.bam", {"c": len(CONTIG), "d": len(SECOND)}, own)
    call(folder, "two.vcf", bam="two.bam")
    assert check_vcf(folder / "two.vcf", folder / "ref.fa") == len(TRUTH)
    with pysam.VariantFile(str(folder / "two.vcf")) as file:
        copies = {r.start: [sum(sample["GT"]) for sample in r.samples.values()] for r in file}
    wanted = {start: [len(on), 2 * (0 in on)] for start, gone, new, on in EVENTS if abs(len(new) - gone) >= 50}
    assert copies == wanted
    call(folder, "chosen.vcf", bam="two.bam", samples=("two",))
    with pysam.VariantFile(str(folder / "chosen.vcf")) as file:
        assert [r.start for r in file] == [start for start, (_, own) in wanted.items() if own]


def test_ploidy(folder):
    call(folder, "haploid.vcf", parameters=CallParameters(ploidy=1))
    with pysam.VariantFile(str(folder / "haploid.vcf")) as file:
        assert {record.samples[0]["GT"] for record in file} == {(1,)}


def test_limits(folder):
    call(folder, "short.vcf", structural=StructuralParameters(min_sv_length=40, max_sv_length=999))
    lengths = {(start, len(new) - gone) for start, gone, new, _ in EVENTS}
    assert found(folder / "short.vcf").keys() == {event for event in lengths if 40 <= abs(event[1]) <= 999}
    call(folder, "many.vcf", structural=StructuralParameters(min_sv_support=12))
    support = [int(row.split("SUPPORT=")[1].split(";")[0]) for row in rows_of(folder / "many.vcf")]
    assert support and all(number >= 9 for number in support) and len(support) < len(TRUTH)


def test_no_read_spells_an_insertion(folder):
    """Only pieces of reads whose records are all hard-clipped: the insertion is symbolic."""
    made = []
    for number in range(10):
        start = 99_000 - 20 * number
        made.append(Read(start, f"{100_000 - start}M2500H", CONTIG[start:100_000], (), 0x800, 60, f"h{number}"))
        text = CONTIG[100_000 : 101_000 - 20 * number]
        made.append(Read(100_000, f"{100_000 - start + 1500}H{len(text)}M", text, (), 0x800, 60, f"h{number}"))
    made = [Read(r.position, r.cigar, r.bases, (30,) * len(r.bases), r.flag, 60, r.name) for r in made]
    write_bam(folder / "hard.bam", {"c": len(CONTIG), "d": len(SECOND)}, [("c", read) for read in made])
    call(folder, "hard.vcf", bam="hard.bam")
    (row,) = rows_of(folder / "hard.vcf")
    assert row.split("\t")[1:5] == ["100000", ".", CONTIG[99_999], "<INS>"]
    assert "SVLEN=1500;END=100000;" in row
    check_vcf(folder / "hard.vcf", folder / "ref.fa")


def test_at_the_ends_of_a_contig(folder):
    """There is no base before the first one."""
    made = []
    for number in range(6):
        made.append(Read(0, "60I3000M", "ACGTN" * 12 + SECOND[:3000], (30,) * 3060, 0, 60, f"a{number}"))
        rest = SECOND[26_000:29_930]
        made.append(Read(26_000, "3930M70D", rest, (30,) * 3930, 0, 60, f"z{number}"))
    write_bam(folder / "ends.bam", {"c": len(CONTIG), "d": len(SECOND)}, [("d", read) for read in made])
    call(folder, "ends.vcf", bam="ends.bam")
    first, last = (row.split("\t")[:5] for row in rows_of(folder / "ends.vcf"))
    assert first == ["d", "1", ".", SECOND[0], "ACGTN" * 12 + SECOND[0]]
    assert last == ["d", "29930", ".", SECOND[29_929:], SECOND[29_929]]
    check_vcf(folder / "ends.vcf", folder / "ref.fa")


def test_a_stream_and_stdout(folder):
    call(folder, "all.vcf")
    with open(folder / "reads.bam", "rb") as file:
        command = [sys.executable, "-m", "readwarp", "call", folder / "ref.fa", "-", "--sv-only", "-q"]
        done = subprocess.run(command, stdin=file, capture_output=True, check=True)
    lines = [line for line in done.stdout.decode().splitlines() if line[:1] != "#"]
    assert lines == rows_of(folder / "all.vcf")


def test_short_reads_are_refused(folder):
    made = [Read(p, "150M", CONTIG[p : p + 150], (30,) * 150, 0, 60, f"s{p}") for p in range(0, 3000, 50)]
    write_bam(folder / "short.bam", {"c": len(CONTIG), "d": len(SECOND)}, [("c", read) for read in made])
    with pytest.raises(UsageError, match="--sv-only supports long reads only"):
        call(folder, "none.vcf", bam="short.bam")
    assert not (folder / "none.vcf").exists()
    call(folder, "none.vcf", bam="short.bam", parameters=CallParameters(platform="ont"))  # of a platform that has them
    assert rows_of(folder / "none.vcf") == []


def test_damage_leaves_no_file(folder):
    data = (folder / "reads.bam").read_bytes()
    (folder / "cut.bam").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="truncated"):
        call(folder, "cut.vcf", bam="cut.bam")
    broken = bytearray(data)
    broken[len(data) // 2 : len(data) // 2 + 200] = bytes(200)
    (folder / "broken.bam").write_bytes(broken)
    (folder / "broken.bam.bai").write_bytes((folder / "reads.bam.bai").read_bytes())
    for options in ({"sv_only": True}, {"sv": folder / "gone.sv.vcf.gz"}):
        with pytest.raises(InputError):
            call_variants(folder / "ref.fa", folder / "broken.bam", folder / "gone.vcf.gz", **options)
    assert not list(folder.glob("cut.vcf*")) and not list(folder.glob("gone*"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sv-only", "--sv", "x.vcf"], "--sv-only and --sv cannot be combined: it calls"),
        (["--sv-only", "--gvcf"], "--sv-only and --gvcf cannot be combined: it calls"),
        (["--sv", "x.txt", "-o", "y.vcf"], "x.txt"),
        (["--sv", "y.vcf", "-o", "y.vcf"], "y.vcf: is another output too"),
        (["--sv", "-"], "--sv and --output are both stdout"),
        (["--sv", "reads.bam", "-f", "-o", "y.vcf"], "reads.bam: is an input too"),
        (["--sv-only", "--min-sv-length", "10"], "--min-sv-length"),
        (["--sv-only", "--min-sv-length", "500", "--max-sv-length", "400"], "--max-sv-length"),
        (["--sv-only", "--min-sv-support", "0"], "--min-sv-support"),
    ],
)
def test_options_that_do_not_fit(folder, options, said, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["call", "ref.fa", "reads.bam", *options]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
