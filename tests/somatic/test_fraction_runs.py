"""call --mixture and --somatic on files: what is found and filtered, and what must not change it."""

import json
import subprocess
import sys
from pathlib import Path

import pysam
import pytest

from helpers.command_samples import run_main
from helpers.made_mixtures import LENGTH, SEQUENCE, SIZE, deletion, insertion, reads_of, snv, write_mixture, write_pair
from helpers.making import write_bam, write_samples, write_vcf

RARE, FREQUENT = 0.05, 0.2
MIXED = [
    snv(300, RARE),
    snv(600, FREQUENT),
    snv(801, 1.0),
    deletion(1100, 3, RARE),
    deletion(1400, 2, FREQUENT),
    insertion(1700, "GAT", RARE),
    insertion(2000, "C", FREQUENT),
    snv(2300, 0.5),
    snv(2700, RARE, 1),
]
INHERITED = [snv(700, 0.5), snv(901, 1.0), deletion(2100, 2, 0.5)]
ARTEFACT, TOLERATED = snv(1800, 0.1), snv(2500, 0.3)
MUTATIONS = [snv(300, 0.3), deletion(1300, 3, 0.2), TOLERATED]


@pytest.fixture(scope="module")
def mixture(tmp_path_factory) -> tuple[Path, Path]:
    return write_mixture(tmp_path_factory.mktemp("mixture"), MIXED)


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[Path, Path]:
    """The reads of the tumour, and of its normal."""
    inherited = [*INHERITED, ARTEFACT]
    return write_pair(tmp_path_factory.mktemp("pair"), [*MUTATIONS, *inherited], inherited)


@pytest.fixture
def called(tmp_path):
    """Run call -> the records, by position, REF and ALT."""

    def called(files: tuple[Path, Path], *options: object, name: str = "o.vcf") -> dict:
        output = tmp_path / name
        given = ["call", *files, "-o", output, "-q", "-f", *(() if "-t" in options else ("-t", 1)), *options]
        assert run_main(given if "--device" in options else [*given, "--device", "cpu"]) == 0
        with pysam.VariantFile(str(output)) as file:
            return {(r.start, *r.alleles): (r, dict(zip(r.samples, r.samples.values(), strict=True))) for r in file}

    return called


def lines_of(path: Path) -> list[str]:
    """Without the lines of the header that name the command."""
    return [line for line in path.read_text().splitlines() if not line.startswith(("##command", "##readwarp"))]


def shown(change, seed=1) -> tuple[int, int]:
    """(reads with the change, reads across its place)"""
    across = [r for r in reads_of(MIXED, seed=seed) if r.position < change.position < r.position + SIZE - 1]
    offset = change.position
    if len(change.old) == len(change.new):
        return sum(_base_at(read, offset) == change.new for read in across), len(across)
    kind = "D" if len(change.old) > len(change.new) else "I"
    text = f"{abs(len(change.old) - len(change.new))}{kind}"
    own = [read for read in across if text in read.cigar and _gap_of(read) == offset]
    return len(own), len(across)


def _base_at(read, position: int) -> str:
    return next((read.bases[q] for p, q, o in read.aligned() if p == position and o == "M"), "")


def _gap_of(read) -> int:
    """The last place before an insertion or deletion."""
    before = read.position
    for p, _, operation in read.aligned():
        if operation in "ID":
            return before
        before = p
    return -1


def test_a_mixture(mixture, called):
    """Substitutions, insertions and deletions of 5 % of the molecules and more, with their fractions."""
    found = called(mixture, "--mixture")
    assert {key for key, (record, _) in found.items() if list(record.filter) == ["PASS"]} == {c.record for c in MIXED}
    for change in MIXED:
        record, samples = found[change.record]
        own, (number, across) = samples["m"], shown(change)
        assert number > 8
        assert own["AD"][1] == pytest.approx(number, rel=0.25, abs=2)
        (fraction,), (low, high) = own["AF"], own["AFCI"]
        assert fraction == pytest.approx(number / across, rel=0.3)
        assert low < fraction and (fraction < high or fraction > 0.99)
        assert low < number / across < high or change.share == 1.0
        assert high - low < 5 * (change.share / across) ** 0.5 + 0.02
        assert own["GT"] == ((1, 1) if change.share == 1.0 else (0, 1))
        assert sum(own["SB"]) == sum(own["AD"]) <= own["DP"] == record.info["DP"]
        assert record.info["TLOD"] == pytest.approx(own["LOD"][0])
        for side, column in enumerate(zip(own["F1R2"], own["F2R1"], strict=True)):
            assert sum(column) == own["AD"][side]
    assert "GERMQ" not in found[MIXED[0].record][0].info


def test_a_tumour_and_its_normal(pair, called, tmp_path, capsys):
    found = called(pair, "--somatic", "--normal", "NORMAL")
    assert "no --normal" not in capsys.readouterr().err
    assert b"\n##tumor_sample=TUMOUR\n##normal_sample=NORMAL\n" in (tmp_path / "o.vcf").read_bytes()
    filters = {key: set(record.filter) for key, (record, _) in found.items()}
    assert {key for key, own in filters.items() if own == {"PASS"}} == {change.record for change in MUTATIONS}
    for change in INHERITED:
        assert "germline" in filters[change.record]
    assert "normal_artifact" in filters[ARTEFACT.record]
    record, samples = found[MUTATIONS[0].record]
    assert samples["TUMOUR"]["GT"] == (0, 1) and samples["NORMAL"]["GT"] == (0, 0)
    assert samples["NORMAL"]["AD"][1] <= 1 and record.info["NLOD"] > 10 and record.info["NALOD"] > 5


def test_a_tumour_without_its_normal(pair, called):
    """Its sample alone: what is on one of two copies, and no more, may be inherited."""
    found = called(pair, "--somatic", "--sample", "TUMOUR")
    filters = {key: set(record.filter) for key, (record, _) in found.items()}
    assert filters[ARTEFACT.record] == {"PASS"}
    assert filters[INHERITED[1].record] >= {"germline"} or filters[INHERITED[1].record] == {"PASS"}
    assert "NLOD" not in found[ARTEFACT.record][0].info


NOTHING_TELLS = "without --normal, --population or --panel-of-normals, nothing tells mutations from inherited variants"


def test_nothing_tells_inherited_variants(pair, called, capsys, tmp_path):
    """It is said first and last, and every record has it; samples that are named are all tumours."""
    names = "--sample", "TUMOUR", "--sample", "NORMAL"
    found = called(pair, "--somatic", *names, name="o.g.vcf")
    said = capsys.readouterr().err.splitlines()
    assert said[0].endswith(
        f"{tmp_path / 'o.g.vcf'}: is a plain VCF, not a gVCF as its name says, because --gvcf is missing"
    )
    number = sum(list(record.filter) == ["PASS"] for record, _ in found.values())
    end = "may be inherited (FORMAT ORIGIN: unknown)"
    assert said[1].endswith(f"{NOTHING_TELLS}: most of what passes {end}")
    assert said[-1].endswith(f"{NOTHING_TELLS}: most of the {number} variants that pass {end}")
    assert all(own["ORIGIN"] == "unknown" for _, samples in found.values() for own in samples.values())
    for options in (["--mixture"], ["--somatic", "--normal", "NORMAL"]):
        assert "ORIGIN" not in next(iter(called(pair, *options).values()))[0].format
        assert capsys.readouterr().err == ""


TRIPLE = [snv(at, 1.0) for at in (1500, 1501, 1502)]
JOINED = 1500, SEQUENCE[1500:1503], "".join(change.new for change in TRIPLE)


def write_event(folder: Path) -> tuple[Path, Path]:
    """A tumour with one event of three changes, of two inherited neighbours; and its normal."""
    inherited = [snv(1480, 0.5), snv(1520, 0.5)]
    fasta, bam = write_pair(folder, inherited, inherited, depth=60)
    reads = {
        "TUMOUR": reads_of(inherited, depth=50, seed=5) + reads_of([*inherited, *TRIPLE], depth=20, seed=6, name="m")
    }
    reads["NORMAL"] = reads_of(inherited, depth=60, seed=7, name="n")
    own = {name: [("chrM", read) for read in sorted(some, key=lambda r: r.position)] for name, some in reads.items()}
    return fasta, write_samples(bam, {"chrM": LENGTH}, own)


def test_one_event_of_several_records(called, tmp_path):
    """Its records have one phase set and pass, with inherited neighbours; or it is one record."""
    files = write_event(tmp_path)
    found = called(files, "--somatic", "--normal", "NORMAL")
    for change in TRIPLE:
        record, samples = found[change.record]
        assert list(record.filter) == ["PASS"] and record.info["ECNT"] == 1
        assert samples["TUMOUR"]["PS"] == 1501 and samples["TUMOUR"].phased and samples["TUMOUR"]["GT"] == (0, 1)
        assert samples["NORMAL"]["GT"] == (0, 0) and samples["NORMAL"]["PS"] is None
    found = called(files, "--somatic", "--normal", "NORMAL", "--max-mnp-distance", 1)
    record, samples = found[JOINED]
    assert list(record.filter) == ["PASS"] and samples["TUMOUR"]["AF"][0] == pytest.approx(0.28, abs=0.1)
    assert not found.keys() & {change.record for change in TRIPLE}


@pytest.mark.parametrize("mode", ["mixture", "somatic"])
def test_threads_and_windows_do_not_matter(mode, mixture, pair, called, tmp_path):
    files, options = (mixture, ["--mixture"]) if mode == "mixture" else (pair, ["--somatic", "--normal", "NORMAL"])
    called(files, *options)
    expected = lines_of(tmp_path / "o.vcf")
    assert sum(not line.startswith("#") for line in expected) >= 7
    called(files, *options, "--batch-bases", 64 * 700, "-t", 3)  # windows of 701 bases
    assert lines_of(tmp_path / "o.vcf") == expected


def test_worker_processes_do_not_matter(mixture, called, tmp_path):
    called(mixture, "--mixture")
    given = ["call", *mixture, "--mixture", "-o", tmp_path / "p.vcf", "-q", "-t", 5, "--device", "cpu"]
    given += ["--batch-bases", 64 * 211, "--metrics", tmp_path / "m.json"]
    done = subprocess.run([sys.executable, "-m", "readwarp", *map(str, given)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "m.json").read_text())["worker_processes"] == 5
    assert lines_of(tmp_path / "p.vcf") == lines_of(tmp_path / "o.vcf")


@pytest.mark.cards
def test_a_card_gives_the_same_bytes(called, tmp_path):
    files = write_pair(tmp_path, [*MUTATIONS, *INHERITED], INHERITED, depth=40)
    options = "--somatic", "--normal", "NORMAL", "-r", "chrM:251-750"
    assert len(called(files, *options)) == 2
    expected = lines_of(tmp_path / "o.vcf")
    called(files, *options, "--device", "cuda")
    assert lines_of(tmp_path / "o.vcf") == expected


def test_cram_regions_and_other_outputs(mixture, called, tmp_path):
    """The same records, of a region those within it."""
    fasta, bam = mixture
    expected = called(mixture, "--mixture")
    cram = tmp_path / "reads.cram"
    pysam.samtools.view("-C", "-T", str(fasta), "-o", str(cram), str(bam), catch_stdout=False)
    pysam.index(str(cram))
    text = lines_of(tmp_path / "o.vcf")
    called((fasta, cram), "--mixture")
    assert lines_of(tmp_path / "o.vcf") == text
    found = called(mixture, "--mixture", name="o.bcf")
    assert [str(record) for record, _ in found.values()] == [str(record) for record, _ in expected.values()]
    part = called(mixture, "--mixture", "-r", "chrM:1001-2000")
    assert part.keys() == {key for key in expected if 1000 <= key[0] < 2000}


def test_given_alleles_are_in_any_case(mixture, called, tmp_path):
    """One that no read has, one that some have, and one of a site that others are at."""
    absent, other = snv(1000, 0.0), snv(600, 0.0, 1)
    rows = [("chrM", c.position + 1, c.old, c.new) for c in (MIXED[0], other, absent)]
    given = write_vcf(tmp_path / "given.vcf", rows, {"chrM": SEQUENCE})
    found = called(mixture, "--mixture", "--alleles", given)
    assert found.keys() == {c.record for c in (*MIXED, other, absent)}
    for change in (other, absent):
        record, samples = found[change.record]
        assert "weak_evidence" in record.filter and samples["m"]["GT"] == (0, 0)
        assert samples["m"]["AF"][0] < 0.01


def test_no_reads(mixture, called, tmp_path):
    empty = write_bam(tmp_path / "empty.bam", {"chrM": LENGTH}, [], {"RG": [{"ID": "m", "SM": "m"}]})
    assert called((mixture[0], empty), "--mixture") == {}
    given = write_vcf(tmp_path / "given.vcf", [("chrM", 301, MIXED[0].old, MIXED[0].new)], {"chrM": SEQUENCE})
    ((record, samples),) = called((mixture[0], empty), "--mixture", "--alleles", given).values()
    assert samples["m"]["GT"] == (None, None) and samples["m"]["DP"] == 0 and samples["m"]["AF"] == (None,)
    assert "weak_evidence" in record.filter


def test_limit_of_fractions(mixture, called):
    found = called(mixture, "--mixture", "--min-fraction", 0.1)
    for change in MIXED:
        record, _ = found[change.record]
        assert ("low_allele_frac" in record.filter) == (change.share == RARE)


BESIDE = "--mixture and {} cannot be combined"
COPIES = f"{BESIDE}: alleles have fractions, not genotypes"
ERRORS = {
    "--normal NORMAL": "--normal needs --somatic",
    "--min-fraction 0.1": "--min-fraction needs --somatic or --mixture",
    "--mixture --somatic": BESIDE.format("--somatic"),
    "--mixture --normal NORMAL": BESIDE.format("--normal"),
    "--mixture --ploidy 2": COPIES.format("--ploidy"),
    "--mixture --ploidy-bed x.bed": COPIES.format("--ploidy-bed"),
    "--mixture --gvcf": COPIES.format("--gvcf"),
    "--somatic": "--somatic with 2 samples (TUMOUR, NORMAL): which is the normal? Name it with --normal; if all are "
    "tumours, name each with --sample",
    "--mixture --sv x.vcf": BESIDE.format("--sv"),
    "--mixture --sv-only": BESIDE.format("--sv-only"),
    "--mixture --haplotag x.bam": BESIDE.format("--haplotag"),
    "--mixture --bam-output x.bam": BESIDE.format("--bam-output"),
    "--mixture --platform hifi": "--mixture supports short reads only (--platform short, if these are)",
    "--somatic --normal Normal": "--normal Normal: no such sample in the alignments, which have TUMOUR, NORMAL",
    "--somatic --normal NORMAL --normal TUMOUR": "--normal names all samples (TUMOUR, NORMAL): the tumour is missing",
    "--somatic --mutation-prior 1": "--mutation-prior must lie between 0 and 1",
    "--somatic --max-events 0": "--max-events must be at least 1",
    "--mixture --min-fraction 1.5": "--min-fraction must be 0 to 1",
}


@pytest.mark.parametrize("options", ERRORS)
def test_what_is_refused_in_one_line(options, pair, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ["call", *pair, "-o", tmp_path / "o.vcf", "-q", "-t", 1, "--device", "cpu", *options.split()]
    assert run_main(given) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"readwarp: error: {ERRORS[options]}\n")
    assert list(tmp_path.iterdir()) == []
