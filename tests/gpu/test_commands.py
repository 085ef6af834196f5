"""Whole commands on a card give the data of `--device cpu`, for every memory limit and batch size."""

import gzip
import json
import random
from pathlib import Path

import pysam
import pytest

from helpers.cards import HAS_GPU
from helpers.group_names import beginning
from helpers.made_mixtures import deletion, snv, write_mixture
from helpers.random_reads import changed
from helpers.seeding import reverse_complement
from readwarp.formats.common.bgzf import BLOCK, EOF_BLOCK, blocks_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.any_capability,  # kernels that differ have tests of their own
]

SETS = {
    "na12878": ("na12878_chr21/ref.fa", ("na12878_chr21/reads_1.fq.gz", "na12878_chr21/reads_2.fq.gz"), ()),
    "unaligned BAM": ("odd/sarscov2_genome.fa.gz", ("odd/sarscov2_unaligned.bam",), ()),
    "interleaved": ("odd/sarscov2_genome.fa.gz", ("odd/sarscov2_interleaved.fastq.gz",), ("-p",)),
    "36 bases": (
        "odd/portiera_genome.fa.gz",
        ("odd/portiera_36bp_1.fastq.gz", "odd/portiera_36bp_2.fastq.gz"),
        ("--preset", "short"),
    ),
}
LIMITS = [(), ("--vram", "1G"), ("--vram", "512M"), ("--batch-bases", "300000"), ("--batch-bases", "50000", "-t", "1")]


@pytest.fixture
def aligned(readwarp, tmp_path):
    """The SAM of `readwarp align`, and its counts."""

    def align(device, reference, reads, *options):
        counts = tmp_path / f"{device}.json"
        sam = readwarp("align", reference, *reads, "-q", "--no-pg", "--device", device, "--metrics", counts, *options)
        return sam, json.loads(counts.read_text())

    return align


@pytest.fixture
def inputs(test_data, tmp_path):
    """Reference (a link, so that its index is written beside it) and reads of a set of test_data."""

    def find(name):
        reference, reads, options = SETS[name]
        link = tmp_path / (test_data / reference).name
        link.symlink_to(test_data / reference)
        return (link, [test_data / each for each in reads]), options

    return find


def records(sam: bytes) -> int:
    return sum(not line.startswith(b"@") for line in sam.splitlines())


@pytest.mark.parametrize("name", SETS)
def test_align_real_reads(name, inputs, aligned):
    files, options = inputs(name)
    expected, _ = aligned("cpu", *files, *options)
    found, metrics = aligned("cuda", *files, *options)
    assert found == expected and records(found) >= 100
    assert metrics["device"].startswith("cuda")


@pytest.fixture(scope="module")
def without_limits(made_reads, readwarp) -> bytes:
    """The SAM of the CPU."""
    return readwarp("align", made_reads.reference, *made_reads.reads, "-q", "--no-pg", "--device", "cpu")


@pytest.mark.parametrize("limits", LIMITS, ids=" ".join)
def test_align_within_any_limits(limits, made_reads, without_limits, aligned):
    found, metrics = aligned("cuda", made_reads.reference, made_reads.reads, *limits)
    assert found == without_limits and records(found) >= made_reads.records
    assert metrics["counts"]["rescue_windows"] > 0 and metrics["counts"]["traced"] > 0


@pytest.mark.parametrize(
    "options", [("--clip", "0"), ("-A", "2", "-B", "3"), ("-A", "20", "-O", "60", "--clip", "100")]
)
def test_align_with_other_scores(options, made_reads, aligned):
    expected, _ = aligned("cpu", made_reads.reference, made_reads.reads, *options)
    found, _ = aligned("cuda", made_reads.reference, made_reads.reads, *options)
    assert found == expected


@pytest.fixture(scope="session")
def made_long_reads(made_reads, tmp_path_factory):
    """Long reads and short ones of the same genome: errors, a chimera, an inversion, one letter, one of 60 kb."""
    rng, path = random.Random(12), tmp_path_factory.mktemp("long") / "reads.fq"
    genome = "".join(made_reads.reference.read_text().splitlines()[1:])
    sizes = [*(rng.randrange(500, 9000) for _ in range(60)), 60_000, *(150 for _ in range(20))]
    starts = [rng.randrange(len(genome) - size) for size in sizes]
    reads = [changed(rng, genome[at : at + size], 0.02) for at, size in zip(starts, sizes, strict=True)]
    turned = reverse_complement(genome[7000:8500])
    reads += [genome[5000:7000] + turned + genome[8500:9900], genome[:3000] + genome[90_000:92_000], "A" * 30_000]
    oriented = (read if number % 2 else reverse_complement(read) for number, read in enumerate(reads))
    path.write_text("".join(f"@r{n}\n{read}\n+\n{'I' * len(read)}\n" for n, read in enumerate(oriented)))
    return path


@pytest.mark.parametrize(
    "options",
    [
        ("hifi",),
        ("ont", "--secondary", "3"),
        ("asm", "--vram", "300M"),
        ("ont", "--batch-bases", "20000"),
        ("standard",),
    ],
    ids=" ".join,
)
def test_align_long_reads(options, made_reads, made_long_reads, aligned):
    given = ("--preset", *options) if options else ()
    expected, _ = aligned("cpu", made_reads.reference, [made_long_reads], *given)
    found, metrics = aligned("cuda", made_reads.reference, [made_long_reads], *given)
    assert found == expected and records(found) > 83
    assert "reads_on_host" not in metrics["counts"]


SORTED = "--sort", "coordinate", "--mark-duplicates", "--write-index"
ON_CARD = "--device", "cuda"
WAYS = {
    "cpu": ("--device", "cpu"),
    "as on the CPU": (*ON_CARD, "--bgzf", "cpu"),
    "card": ON_CARD,
    "few blocks at a time": (*ON_CARD, "--vram", "300M"),
    "seeds on the host": (*ON_CARD, "--vram", "40M"),
    "other batches": (*ON_CARD, "--batch-bases", "100000", "-t", "1"),
    "resumable": (*ON_CARD, "--resume"),
}
BEGINNING = 12


@pytest.fixture(scope="module")
def grouped_reads(made_reads, tmp_path_factory) -> list[Path]:
    """The reads, of which some pairs, here and there, have names with which groups of blocks begin."""
    files = [tmp_path_factory.mktemp("grouped") / path.name for path in made_reads.reads]
    for path, new in zip(made_reads.reads, files, strict=True):
        lines = path.read_text().splitlines()
        for place, name in zip(range(400, len(lines), len(lines) // BEGINNING // 4 * 4), beginning(), strict=False):
            lines[place] = f"@{name}"
        new.write_text("".join(f"{line}\n" for line in lines))
    return files


@pytest.mark.parametrize("options", [SORTED, ()], ids=["sorted and marked", "as read"])
def test_bam(options, made_reads, grouped_reads, readwarp, tmp_path):
    """Its data are those of the CPU; its bytes are, if the CPU compresses it, and else those of any card's memory."""
    made = {}
    for way, given in WAYS.items():
        out, metrics = tmp_path / f"{way}.bam", tmp_path / f"{way}.json"
        files = made_reads.reference, *grouped_reads
        readwarp("align", *files, "-o", out, "-q", "--no-pg", "--metrics", metrics, *given, *options)
        index = out.with_name(f"{out.name}.bai")
        made[way] = out.read_bytes(), index.read_bytes() if options else b"", json.loads(metrics.read_text())
    assert made["as on the CPU"][:2] == made["cpu"][:2] and len(made["cpu"][0]) > 100_000
    for way in ("few blocks at a time", "seeds on the host", "other batches", "resumable"):
        assert made[way][:2] == made["card"][:2]
    assert [made[way][2]["gpu"][0]["seeding"] for way in ("card", "seeds on the host")] == ["cuda", "cpu"]
    assert gzip.decompress(made["card"][0]) == gzip.decompress(made["cpu"][0])
    assert made["card"][0].endswith(EOF_BLOCK)
    assert [card["command"] for card in made["as on the CPU"][2]["gpu"]] == ["align"]
    if len(made["card"][2]["gpu"]) == 1 and HAS_GPU:
        pytest.skip("nvCOMP is not installed")
    assert made["card"][0] != made["cpu"][0]
    short = sum(size < BLOCK for size in blocks_of(made["card"][0])[1])
    assert short == 2 if options else short > BEGINNING
    facts = {way: made[way][2]["gpu"][-1] for way in ("card", "few blocks at a time")}
    assert all(each["command"] == "bgzf" and each["nvcomp"] >= "6" and each["batches"] for each in facts.values())
    assert facts["few blocks at a time"]["vram_planned_bytes"] < facts["card"]["vram_planned_bytes"]
    assert sum(each["vram_planned_bytes"] for each in made["few blocks at a time"][2]["gpu"]) <= 300 << 20
    pysam.samtools.quickcheck(str(tmp_path / "card.bam"))
    if options:
        same_regions(tmp_path / "card.bam", tmp_path / "cpu.bam")


def same_regions(*paths):
    """Check that the indexes lead to the same records."""
    found = []
    for path in paths:
        with pysam.AlignmentFile(str(path)) as bam:
            size = bam.lengths[0]
            places = range(0, size, size // 50)
            found.append([[str(read) for read in bam.fetch("one", at, at + 300)] for at in places])
    assert found[0] == found[1] and sum(map(len, found[0])) > 50


def test_bam_without_reads_or_to_a_pipe(made_reads, readwarp, tmp_path):
    empty, out = tmp_path / "empty.fq", tmp_path / "none.bam"
    empty.write_text("")
    readwarp("align", made_reads.reference, empty, "-o", out, "-q", "--no-pg", *ON_CARD)
    with pysam.AlignmentFile(str(out)) as bam:
        assert bam.references == ("one",) and list(bam) == []
    few = tmp_path / "few.fq"
    few.write_text("".join(made_reads.reads[0].read_text().splitlines(keepends=True)[:400]))
    sam = readwarp("align", made_reads.reference, few, "-q", "--no-pg", *ON_CARD)
    readwarp("align", made_reads.reference, few, "-o", tmp_path / "few.bam", "-q", "--no-pg", *ON_CARD)
    assert pysam.samtools.view("-h", "--no-PG", str(tmp_path / "few.bam")).encode() == sam and records(sam) == 100


def without_command(text: bytes) -> list[bytes]:
    """The lines of a VCF without the one that has the command."""
    return [line for line in text.splitlines() if not line.startswith((b"##command", b"##readwarp"))]


def test_call_and_run(inputs, readwarp, tmp_path):
    """Reads to variants on both sides, and the variants of the same alignments on both sides."""
    (reference, reads), _ = inputs("na12878")
    folders = {device: tmp_path / device for device in ("cpu", "cuda")}
    for device, folder in folders.items():
        readwarp("run", reference, *reads, "-o", folder, "-q", "--device", device)
    bam = next(folders["cpu"].glob("*.bam"))
    for device, folder in folders.items():
        readwarp("call", reference, bam, "-o", folder / "again.vcf", "-q", "--device", device)
        readwarp("call", reference, bam, "-o", folder / "again.g.vcf", "--gvcf", "-q", "--device", device)
    for name in ("again.vcf", "again.g.vcf"):
        cpu, cuda = (without_command((folder / name).read_bytes()) for folder in folders.values())
        assert cpu == cuda and len(cpu) > 300
    vcfs = [next(folder.glob("*.vcf.gz")) for folder in folders.values()]
    cpu, cuda = (readwarp_lines(vcf) for vcf in vcfs)
    assert cpu == cuda and len(cpu) > 300
    bams = [next(folder.glob("*.bam")) for folder in folders.values()]
    cpu, cuda = (pysam.samtools.view("--no-header", str(bam)) for bam in bams)
    assert cpu == cuda and cpu.count("\n") > 40_000


def readwarp_lines(vcf):
    return without_command(gzip.decompress(vcf.read_bytes()))


def test_call_of_fractions(readwarp, tmp_path):
    """In threads, and in processes, which share the card for PairHMM and multiply on the CPU."""
    made = write_mixture(tmp_path, [snv(300, 0.15), deletion(500, 3, 0.2), snv(900, 1.0)], depth=100)
    given = "call", *made, "--mixture", "-r", "chrM:201-1000", "-q", "-f"
    ways = {"threads": ("-t", "1"), "processes": ("-t", "4", "--batch-bases", "12800")}  # windows of 201 bases
    readwarp(*given, "-o", tmp_path / "cpu.vcf", "--device", "cpu", "-t", "1")
    expected = without_command((tmp_path / "cpu.vcf").read_bytes())
    assert sum(not line.startswith(b"#") for line in expected) == 3
    for name, way in ways.items():
        out, metrics = tmp_path / f"{name}.vcf", tmp_path / f"{name}.json"
        readwarp(*given, "-o", out, "--device", "cuda", *way, "--metrics", metrics)
        assert without_command(out.read_bytes()) == expected
        found = json.loads(metrics.read_text())
        assert found.get("worker_processes", 0) == (4 if name == "processes" else 0)
        assert found["gpu"][0]["batches"] > 0
    assert found["gpu"][0]["workspaces"] == 1 and found["gpu"][0]["batches"] == found["pairhmm_batches"]
