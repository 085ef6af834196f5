"""The germline workflow: lint, checks of its tables, and a run on real reads compared with plain commands."""

import ast
import re
import shutil
import subprocess
import sys

import pysam
import pytest

from helpers.workflow_runs import HEAD, OTHER, READS, ROOT, records, snakemake, unit

pytestmark = pytest.mark.slow
WORKFLOW = ROOT / "workflows" / "germline"
SAMPLES = "sample\tploidy\nNA12878\t2\nagain\t2\n"


def test_format_and_lint(project):
    subprocess.run(
        [sys.executable, "-m", "snakefmt", "--check", WORKFLOW / "workflow"], check=True, capture_output=True
    )
    folder = project(SAMPLES, HEAD + unit("NA12878", "L1", READS) + unit("again", "L1", READS), READS / "ref.fa")
    assert "Congratulations" in snakemake(folder, "--lint").stdout


@pytest.mark.parametrize(
    ("samples", "units", "message"),
    [
        ("sample\nA\nA\n", unit("A", "1", READS), "sample A is listed twice"),
        ("sample\nA\n", unit("A", "1", READS) * 2, "unit 1 of sample A is listed twice"),
        ("sample\nA\n", unit("B", "1", READS), "sample B is not in"),
        ("sample\nA\nB\n", unit("A", "1", READS), "sample B has no unit"),
        ("sample\tploidy\nA\t20\n", unit("A", "1", READS), "20 is greater than the maximum of 8"),
        ("sample\nA b\n", unit("A b", "1", READS), "does not match"),
        ("sample\n$(id)\n", unit("$(id)", "1", READS), "does not match"),
        ("sample\n..\n", unit("..", "1", READS), "does not match"),
        ("sample\nA\n", unit("A", "-1;id", READS), "does not match"),
        ("sample\n", "", "the table is empty"),
        (
            "sample\tploidi\nA\t2\n",
            unit("A", "1", READS),
            "unknown column 'ploidi' (did you mean 'ploidy'?); it has sample, ploidi, and may have sample, ploidy",
        ),
        ("sample\tsex\nA\tXX\n", unit("A", "1", READS), "unknown column 'sex'; it has sample, sex, and may have"),
        ("sample,ploidy\nA,2\n", unit("A", "1", READS), "column 'sample,ploidy' (is the table separated by tabs?)"),
    ],
)
def test_tables_that_do_not_fit(samples, units, message, project):
    folder = project(samples, HEAD + units, READS / "ref.fa")
    done = snakemake(folder, "--dry-run", check=False)
    assert done.returncode != 0 and message in done.stdout


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("fastq_1", "reads_1"), ("fq1", "reads_1"), ("read1", "reads_1"), ("lane", "unit"), ("Sample_ID", "sample")],
)
def test_columns_as_other_workflows_name_them(theirs, ours, project):
    folder = project("sample\nA\n", HEAD.replace(ours, theirs) + unit("A", "1", READS), READS / "ref.fa")
    done = snakemake(folder, "--dry-run", check=False)
    assert f"config/units.tsv: unknown column '{theirs}' (did you mean '{ours}'?); it has" in done.stdout


LONG_HEAD = "sample\tunit\treads_1\treads_2\tplatform\tpreset\n"


@pytest.mark.parametrize(
    ("units", "preset", "message"),
    [
        ("A\t1\tr.bam\t\t\thifi\nA\t2\tr.bam\t\t\t\n", "standard", "sample A has units of different presets"),
        ("A\t1\tr.bam\t\t\thifi\nA\t2\tr.bam\t\t\tont\n", "standard", "sample A has units of different presets"),
        ("A\t1\tr.bam\tm.bam\t\tont\n", "standard", "sample A has long reads with mates"),
        ("A\t1\tr.bam\t\t\tont\n", "short", "sample A has long reads, for which reference.preset is standard"),
        ("A\t1\tr.bam\t\t\tclr\n", "standard", "'clr' is not one of"),
    ],
)
def test_presets_that_do_not_fit(units, preset, message, project):
    folder = project("sample\nA\n", LONG_HEAD + units, READS / "ref.fa")
    file = folder / "config" / "config.yaml"
    file.write_text(file.read_text().replace("reference:\n", f"reference:\n  preset: {preset}\n"))
    done = snakemake(folder, "--dry-run", check=False)
    assert done.returncode != 0 and message in done.stdout


def test_long_reads_beside_short_ones(project, tmp_path):
    """Each sample by its preset, and PL as it says, unless the table says otherwise. HiFi is aligned."""
    read = "".join((READS / "ref.fa").read_text().splitlines()[1:])[1000:7000]
    (tmp_path / "long.fq").write_text(f"@r\n{read}\n+\n{'I' * len(read)}\n")
    rows = (f"H\tm1\t{tmp_path}/long.fq\t\t\thifi\n", f"N\tp1\t{tmp_path}/long.fq\t\tMINION\tont\n")
    short = f"S\tL1\t{READS}/reads_1.fq.gz\t{READS}/reads_2.fq.gz\t\t\n"
    folder = project("sample\nH\nN\nS\n", LONG_HEAD + "".join(rows) + short, READS / "ref.fa")
    plan = snakemake(folder, "--dry-run", "--printshellcmds").stdout
    commands = [line for line in plan.splitlines() if "readwarp align" in line]
    facts = sorted(
        (re.search(r"ID:(\w+)", c)[1], re.search(r"PL:(\w+)", c)[1], re.findall(r"--preset (\w+)", c)) for c in commands
    )
    assert facts == [("H", "PACBIO", ["hifi"]), ("N", "MINION", ["ont"]), ("S", "ILLUMINA", [])]
    snakemake(folder, "results/bam/H.bam", "--cores", 2, "--workflow-profile", "none")
    with pysam.AlignmentFile(folder / "results" / "bam" / "H.bam") as file:
        (record,) = file
    assert (record.reference_start, record.cigarstring, record.get_tag("RG")) == (1000, "6000M", "H.m1")


def test_spaces_in_a_table_do_not_matter(project):
    folder = project("sample \t ploidy\n A\t2 \n", HEAD + unit("A ", "1", READS), READS / "ref.fa")
    assert "results/bam/A.bam" in snakemake(folder, "--dry-run").stdout


def test_known_columns_are_those_of_the_schemas():
    rules, schemas = WORKFLOW / "workflow" / "rules", WORKFLOW / "workflow" / "schemas"
    for file, kind, pattern in (
        ("units.smk", "units", r"UNIT_COLUMNS = (\[.*?\n\])"),
        ("common.smk", "samples", r'"samples", (\[.*?\])\)'),
    ):
        known = ast.literal_eval(re.search(pattern, (rules / file).read_text(), re.DOTALL)[1])
        schema = (schemas / f"{kind}.schema.yaml").read_text()
        assert known == re.findall(r"^  (\w+):$", schema, re.MULTILINE)
        assert schema.endswith("additionalProperties: false\n")


def test_a_config_with_a_slip(project):
    folder = project("sample\nA\n", HEAD + unit("A", "1", READS), READS / "ref.fa", devise="cpu")
    done = snakemake(folder, "--dry-run", check=False)
    assert done.returncode != 0 and "devise" in done.stdout


def test_on_real_reads(project, genome):
    """Two samples, one with two lanes: BAM as of one run over all lanes, variants as of single calls."""
    units = HEAD + unit("NA12878", "L1", READS) + unit("NA12878", "L2", OTHER, "b") + unit("again", "L1", READS)
    folder = project(SAMPLES, units, genome)
    snakemake(folder, "--cores", 2, "--workflow-profile", "none")
    results = folder / "results"
    groups = [rf"@RG\tID:NA12878.L{i}\tSM:NA12878\tLB:{library}\tPL:ILLUMINA" for i, library in ((1, "a"), (2, "b"))]
    reads = [path / f"reads_{mate}.fq.gz" for path in (READS, OTHER) for mate in (1, 2)]
    whole = folder / "whole.bam"
    command = [sys.executable, "-m", "readwarp", "align", results / "reference" / "genome.fa", *reads, "-o", whole]
    command += ["-R", groups[0], "-R", groups[1], "--sort", "coordinate", "--mark-duplicates", "-q"]
    subprocess.run(list(map(str, command)), check=True)
    assert records(results / "bam" / "NA12878.bam") == records(whole)
    with pysam.VariantFile(results / "cohort.vcf.gz") as file:
        assert list(file.header.samples) == ["NA12878", "again"]
        called = [
            record for record in file if any(sample.allele_indices != (0, 0) for sample in record.samples.values())
        ]
    assert 650 < len(called) < 900
    called = folder / "NA12878.vcf"
    command = [sys.executable, "-m", "readwarp", "call", genome, whole, "-o", called, "-q"]
    subprocess.run(list(map(str, command)), check=True)
    assert genotypes(results / "vcf" / "NA12878.vcf.gz") == genotypes(called)
    for name in ("qc/report.html", "qc/multiqc.html"):
        assert (results / name).stat().st_size > 10_000
    again = snakemake(folder, "--cores", 2, "--workflow-profile", "none", "--dry-run")
    assert "Nothing to be done" in again.stdout


def genotypes(path):
    """Places and genotypes of the calls that are not the reference; a copy that a deletion takes (*) counts as REF."""
    with pysam.VariantFile(path) as file:
        return [
            (
                record.contig,
                record.pos,
                [record.ref if allele == "*" else allele for allele in record.samples[0].alleles],
            )
            for record in file
            if set(record.samples[0].allele_indices) != {0}
        ]


def test_ready_for_the_catalog(tmp_path, snakemake_installed):
    """The folder is a repository of its own: all that the catalog asks for, and data to try it on."""
    for name in ("LICENSE", "config/README.md", "workflow/Snakefile", "workflow/rules/call.smk"):
        assert (WORKFLOW / name).is_file(), name
    assert {"snakemake", "workflow"} <= set((WORKFLOW / "README.md").read_text().lower().split())
    import yaml

    usage = yaml.safe_load((WORKFLOW / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["software-stack-deployment"]["conda"] and usage["report"] and "desc" in usage["mandatory-flags"]
    shutil.copytree(WORKFLOW, tmp_path / "alone", ignore=shutil.ignore_patterns(".snakemake", "results", "logs"))
    test = tmp_path / "alone" / ".test"
    units = [line.split("\t") for line in (test / "config" / "units.tsv").read_text().splitlines()[1:]]
    assert all((test / path).is_file() for row in units for path in row[2:4] if path)
    planned = snakemake(test, "--dry-run", "--snakefile", tmp_path / "alone" / "workflow" / "Snakefile").stdout
    assert re.search(r"^vcf +2\s*$", planned, re.M)


def test_a_bad_input_is_said(project, tmp_path):
    """Another attempt, which plans with the memory that it then has, does not help."""
    cut = tmp_path / "cut.fq"
    cut.write_text("@r1\nACGT\n+\nIIII\n@r2\nACGT\n+\nIII\n")
    folder = project("sample\nA\n", HEAD + f"A\tL1\t{cut}\t\ta\n", READS / "ref.fa")
    options = "--workflow-profile", "workflow/profiles/local", "--retries", 1, "--printshellcmds"
    done = snakemake(folder, *options, check=False)
    assert done.returncode != 0
    planned = re.findall(r"readwarp align .* --memory (.*?M)\b", done.stdout)
    shown = subprocess.run(["bash", "-c", f"echo {' '.join(planned)}"], text=True, capture_output=True)
    assert list(dict.fromkeys(shown.stdout.split())) == ["14400M", "28800M"]
    assert re.search(r"readwarp: error: .*cut\.fq: record 2: ", done.stdout)
    assert not list((folder / "results").glob("units/*/*"))


def test_forty_lanes_and_two_hundred_pieces(project):
    """The plan for a cohort of 20 samples with two lanes each."""
    names = [f"S{i:02d}" for i in range(20)]
    units = "".join(unit(name, f"L{lane}", READS) for name in names for lane in (1, 2))
    folder = project("sample\n" + "\n".join(names) + "\n", HEAD + units, READS / "ref.fa", call={"scatter": 200})
    planned = snakemake(folder, "--dry-run", "--quiet", "rules", "--workflow-profile", "none").stdout
    jobs = dict(re.findall(r"^(\w+)\s+(\d+)\s*$", planned, re.MULTILINE))
    assert jobs["align"] == "40" and jobs["merge"] == "20" and jobs["call"] == "4000" and jobs["genotype"] == "200"
