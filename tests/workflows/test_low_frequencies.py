"""The workflows for tumours, panels with UMIs and viral amplicons: lint, their tables, and runs on real reads."""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pysam
import pysam.bcftools
import pysam.samtools
import pytest

from helpers.workflow_runs import ROOT, records, snakemake

pytestmark = pytest.mark.slow
WORKFLOWS = ROOT / "workflows"
NAMES = "somatic", "umi_panel", "viral_amplicons"
CONTROL = ROOT / "benchmarks" / "data" / "sarscov2"


@pytest.fixture
def trial(tmp_path, snakemake_installed) -> Callable[[str], Path]:
    """A copy of a workflow's folder .test, beside copies of all workflows that it takes rules and data from."""

    def copy(name: str) -> Path:
        for folder in ("germline", *NAMES):
            ignored = shutil.ignore_patterns(".snakemake", "results", "logs", "benchmarks")
            shutil.copytree(WORKFLOWS / folder, tmp_path / folder, ignore=ignored)
        return tmp_path / name / ".test"

    return copy


def run(trial: Path, *options: object, check: bool = True) -> str:
    """Snakemake's messages."""
    done = snakemake(trial, "--snakefile", trial.parent / "workflow" / "Snakefile", *options, check=check)
    assert check or done.returncode != 0, done.stdout
    return done.stdout


def readwarp(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "readwarp", *map(str, words), "-q"], check=True)


def passed(path: Path) -> dict[tuple[int, str, str], float]:
    """Alleles that pass, and on which share of the first sample's molecules."""
    with pysam.VariantFile(path) as file:
        return {(r.pos, r.ref, r.alts[0]): r.samples[0]["AF"][0] for r in file if "PASS" in r.filter}


def calls(path: Path) -> list[str]:
    with pysam.VariantFile(path) as file:
        return [str(record) for record in file]


def put_in(trial: Path, reference: Path, tmp_path: Path) -> dict[tuple[int, str, str], float]:
    """Variants of the truth and their shares, as far left as they go."""
    packed = tmp_path / "truth.vcf.gz"
    pysam.tabix_compress(str(trial / "data" / "truth.vcf"), str(packed), force=True)
    (tmp_path / "ref.fa").write_text(reference.read_text())
    text = left_aligned(packed, tmp_path / "ref.fa")
    rows = [line.split("\t") for line in text.splitlines()]
    return {(int(row[1]), row[3], row[4]): float(re.search(r"SHARE=([\d.]+)", row[7])[1]) for row in rows}


def left_aligned(path: Path, reference: Path) -> str:
    return pysam.bcftools.norm("-f", str(reference), "--no-version", str(path), catch_stdout=True).split("sample\n")[1]


@pytest.mark.parametrize("name", NAMES)
def test_format_and_lint(name, trial):
    check = [sys.executable, "-m", "snakefmt", "--check", WORKFLOWS / name / "workflow"]
    subprocess.run(check, check=True, capture_output=True)
    assert "Congratulations" in run(trial(name), "--lint")


@pytest.mark.parametrize("name", NAMES)
def test_its_own_config_is_complete(name, trial):
    """config.yaml and the tables of the folder config are what a user begins with."""
    folder = trial(name).parent
    shutil.copytree(folder / "config", folder / "new" / "config")
    done = snakemake(folder / "new", "--dry-run", "--snakefile", folder / "workflow" / "Snakefile", check=False)
    assert "MissingInputException" in done.stdout and "resources/" in done.stdout


@pytest.mark.parametrize(
    ("samples", "config", "message"),
    [
        ("sample\ttype\nTUMOUR\tnormal\nNORMAL\tnormal\n", "", "no sample is of type tumour"),
        ("sample\ttype\nTUMOUR\ttumor\nNORMAL\tnormal\n", "", "'tumor' is not one of"),
        ("sample\ttype\nTUMOUR\t\nNORMAL\tnormal\n", "", "patient NORMAL has a normal but no tumour"),
        ("sample\tpatient\nTUMOUR\tP 1\nNORMAL\tP1\n", "", "does not match"),
        ("sample\tpatients\nTUMOUR\tP1\nNORMAL\tP1\n", "", "unknown column 'patients' (did you mean 'patient'?)"),
        ("sample\nTUMOUR\n", "", "sample NORMAL is not in"),
        (
            "sample\tpatient\ttype\nTUMOUR\tP1\t\nNORMAL\tP1\tnormal\n",
            "call: {make_panel: true}",
            "a panel needs two normals or more, and there are 1",
        ),
        (
            "sample\tpatient\ttype\nTUMOUR\tP1\t\nNORMAL\tP1\tnormal\n",
            "call: {make_panel: true, panel_of_normals: pon.vcf.gz}",
            "give one of them",
        ),
        ("sample\nTUMOUR\nNORMAL\n", "call: {scatter: 2}", "scatter"),
    ],
)
def test_patients_that_do_not_fit(samples, config, message, trial):
    folder = trial("somatic")
    (folder / "config" / "samples.tsv").write_text(samples)
    with (folder / "config" / "config.yaml").open("a") as file:
        file.write(config)
    assert message in run(folder, "--dry-run", check=False)


@pytest.mark.parametrize("name", NAMES)
def test_long_reads_are_refused(name, trial):
    folder = trial(name)
    table = folder / "config" / "units.tsv"
    head, *rows = table.read_text().splitlines()
    rows = [f"{row}\thifi" for row in rows]
    table.write_text("\n".join([f"{head}\tpreset", *(re.sub(r"\t\S+\thifi", "\t\thifi", row) for row in rows), ""]))
    assert "has long reads; this workflow is for short ones" in run(folder, "--dry-run", check=False)


def test_known_columns_are_those_of_the_schemas():
    text = (WORKFLOWS / "somatic" / "workflow" / "rules" / "patients.smk").read_text()
    columns = ast.literal_eval(re.search(r'"samples", (\[.*?\])\)', text)[1])
    schema = (WORKFLOWS / "somatic" / "workflow" / "schemas" / "samples.schema.yaml").read_text()
    assert columns == re.findall(r"^  (\w+):$", schema, re.MULTILINE)


def test_a_tumour_and_its_normal(trial, tmp_path):
    """Mutations put into half of NA12878's reads, the other half being the normal: as by plain commands."""
    folder = trial("somatic")
    run(folder, "--cores", 2)
    assert {path.name for path in folder.iterdir()} == {"config", "data", "results", ".snakemake"}
    results, data = folder / "results", folder / "data"
    reference, bams = results / "reference" / "genome.fa", {}
    for name in ("TUMOUR", "NORMAL"):
        bams[name], reads = tmp_path / f"{name}.bam", [data / f"{name.lower()}_{mate}.fq.gz" for mate in (1, 2)]
        group = rf"@RG\tID:{name}.L1\tSM:{name}\tLB:{name}\tPL:ILLUMINA"
        readwarp("align", reference, *reads, "-R", group, "--mark-duplicates", "-o", bams[name])
        assert records(results / "bam" / f"{name}.bam") == records(bams[name])
    plain = tmp_path / "plain.vcf"
    readwarp("call", reference, *bams.values(), "--somatic", "--normal", "NORMAL", "-o", plain)
    assert calls(results / "vcf" / "P1.vcf.gz") == calls(plain)
    truth, found = put_in(folder, reference, tmp_path), passed(results / "vcf" / "P1.vcf.gz")
    assert found.keys() <= truth.keys() and len(found) >= 0.9 * len(truth)
    assert "Nothing to be done" in run(folder, "--cores", 2, "--dry-run")


def test_a_panel_of_normals_is_made(trial):
    """Of the patient's normal and of one without a tumour; the report has all three samples."""
    folder = trial("somatic")
    samples, units = (folder / "config" / f"{name}.tsv" for name in ("samples", "units"))
    samples.write_text("sample\tpatient\ttype\nTUMOUR\tP1\ttumour\nNORMAL\tP1\tnormal\nN2\tP2\tnormal\n")
    units.write_text(f"{units.read_text()}N2\tL1\tdata/normal_1.fq.gz\tdata/normal_2.fq.gz\n")
    with (folder / "config" / "config.yaml").open("a") as file:
        file.write("call: {make_panel: true}\n")
    plan = run(folder, "--cores", 2, "--printshellcmds")
    assert re.search(r"--normal NORMAL +--panel-of-normals results/panel_of_normals\.vcf\.gz", plan)
    with pysam.VariantFile(folder / "results" / "panel_of_normals.vcf.gz") as file:
        assert sum(1 for _ in file) > 5  # what NA12878 has itself
    page = (folder / "results" / "qc" / "report.html").read_text()
    assert all(name in page for name in ("TUMOUR", "NORMAL", "N2"))


def test_a_panel_with_umis(trial, tmp_path):
    """Duplexes of real reads, whose variants are called in consensus reads: as by plain commands."""
    folder = trial("umi_panel")
    run(folder, "--cores", 2)
    assert {path.name for path in folder.iterdir()} == {"config", "data", "results", ".snakemake"}
    results, data = folder / "results", folder / "data"
    reference, bam, consensus, aligned = data / "ref.fa", *(tmp_path / f"{name}.bam" for name in "abc")
    group, umis = r"@RG\tID:MIXTURE.L1\tSM:MIXTURE\tLB:MIXTURE\tPL:ILLUMINA", ("--umi", "8M4S+T,8M4S+T", "--umi-duplex")
    reads = [data / f"reads_{mate}.fq.gz" for mate in (1, 2)]
    readwarp("align", reference, *reads, "-R", group, *umis, "--mark-duplicates", "-o", bam)
    assert records(results / "bam" / "MIXTURE.bam") == records(bam)
    readwarp("consensus", bam, "--duplex", "--min-reads", "2,1,1", "-o", consensus)
    readwarp("align", reference, consensus, "--write-index", "-o", aligned)
    assert records(results / "consensus" / "MIXTURE.bam") == records(aligned)
    plain = tmp_path / "plain.vcf"
    readwarp("call", reference, aligned, "--somatic", "-L", data / "targets.bed", "-o", plain)
    assert calls(results / "vcf" / "MIXTURE.vcf.gz") == calls(plain)
    truth, found = put_in(folder, reference, tmp_path), passed(results / "vcf" / "MIXTURE.vcf.gz")
    assert found.keys() <= truth.keys() and len(found) >= 8  # one of 30 % looks inherited; one lies outside the targets
    assert all(abs(share - truth[allele]) < 0.15 for allele, share in found.items())
    sizes = json.loads((results / "consensus" / "MIXTURE.json").read_text())["family_sizes"]
    assert sum(sizes.values()) > 1000
    assert "Molecules" in (results / "qc" / "report.html").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_jobs_on_gpus_go_to_their_partition(name, trial):
    """The profiles are those of the germline workflow."""
    folder = trial(name)
    profile = folder.parents[1] / "germline" / "workflow" / "profiles" / "slurm-gpu"
    plan = run(folder, "--dry-run", "--workflow-profile", profile)
    jobs = re.findall(r"^rule (\w+):\n(?:    .*\n)*?    resources: (.*)$", plan, re.M)
    on_gpus = {rule for rule, resources in jobs if "gpu=1" in resources}
    assert on_gpus == {rule for rule, resources in jobs if "slurm_partition=gpu" in resources} >= {"align", "call"}


def test_umis_of_one_strand(trial):
    folder = trial("umi_panel")
    config = folder / "config" / "config.yaml"
    config.write_text(config.read_text().replace("duplex: true", "duplex: false").replace("2,1,1", "2"))
    plan = run(folder, "--dry-run", "--printshellcmds")
    assert "duplex" not in plan and "--min-reads 2 " in plan
    config.write_text(config.read_text().replace("min_reads: 2", "min_reads: 2,x"))
    assert "does not match" in run(folder, "--dry-run", check=False)


def test_viral_amplicons(trial, tmp_path):
    """The control's genome is the reference, and the mixture's has what most of its reads got."""
    folder = trial("viral_amplicons")
    run(folder, "--cores", 2)
    assert {path.name for path in folder.iterdir()} == {"config", "data", "results", ".snakemake"}
    results, data = folder / "results", folder / "data"
    reference = results / "reference" / "genome.fa"
    truth = put_in(folder, reference, tmp_path)
    with pysam.FastaFile(reference) as file:
        (contig,), letters = file.references, file.fetch(file.references[0])
    with pysam.FastaFile(results / "consensus.fa") as file:
        genomes = {name: file.fetch(name) for name in file.references}
    assert list(genomes) == ["control", "mixture"]
    known = [i for i, letter in enumerate(genomes["control"]) if letter != "N"]
    assert len(known) > 2400 and all(genomes["control"][i] == letters[i] for i in known)
    found = passed(results / "vcf" / "mixture.vcf.gz")
    assert truth.keys() <= found.keys()
    assert all(abs(found[allele] - share) < 0.08 for allele, share in truth.items())
    expected = letters
    for position, old, new in sorted((a for a, share in found.items() if share > 0.5), reverse=True):
        expected = expected[: position - 1] + new + expected[position - 1 + len(old) :]
    assert genomes["mixture"].strip("N") in expected
    bam, plain = tmp_path / "mixture.bam", tmp_path / "plain.vcf"
    group = r"@RG\tID:mixture.L1\tSM:mixture\tLB:mixture\tPL:ILLUMINA"
    reads = [data / f"mixture_{mate}.fq.gz" for mate in (1, 2)]
    readwarp("align", reference, *reads, "-R", group, "--trim", "--write-index", "-o", bam)
    assert records(results / "bam" / "mixture.bam") == records(bam)
    options = ("--mixture", "--primers", data / "primers.bed", "-L", data / "targets.bed", "--min-fraction", 0.03)
    readwarp("call", reference, bam, *options, "-o", plain)
    assert calls(results / "vcf" / "mixture.vcf.gz") == calls(plain)
    assert contig in (results / "consensus" / "mixture.fa").read_text()


def test_segments_and_a_whole_control(trial, tmp_path):
    """All reads of the control at 330x, beside a segment that has none."""
    folder = trial("viral_amplicons")
    reference = tmp_path / "segments.fa"
    reference.write_text(f"{(CONTROL / 'ref.fa').read_text()}>other\n{'ACGTTGCA' * 100}\n")
    config, units = folder / "config" / "config.yaml", folder / "config" / "units.tsv"
    config.write_text(f"units: {units}\nreference: {{fasta: {reference}}}\n")
    units.write_text(f"sample\tunit\treads_1\treads_2\nwhole\tL1\t{CONTROL}/reads_1.fq.gz\t{CONTROL}/reads_2.fq.gz\n")
    run(folder, "results/consensus.fa", "--cores", 2)
    letters = "".join((CONTROL / "ref.fa").read_text().splitlines()[1:])
    with pysam.FastaFile(folder / "results" / "consensus.fa") as file:
        assert file.references == ["whole|NC_045512.2", "whole|other"] and set(file.fetch("whole|other")) == {"N"}
        genome = file.fetch("whole|NC_045512.2")
    depth = pysam.samtools.depth("-a", "-r", "NC_045512.2", str(folder / "results" / "bam" / "whole.bam"))
    is_deep = [int(line.split("\t")[2]) >= 10 for line in depth.splitlines()]
    assert genome == "".join(letter if deep else "N" for letter, deep in zip(letters, is_deep, strict=True))
    assert len(passed(folder / "results" / "vcf" / "whole.vcf.gz")) <= 6
