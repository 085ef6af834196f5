"""On a real SLURM with two nodes: the workflow, jobs killed for time and memory, and arrays without Snakemake."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pysam
import pytest

from helpers.workflow_runs import HEAD, READS, ROOT, records, snakemake, unit

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("slurm")]  # there is one SLURM on a machine
OPTIONS = ("--executor", "slurm", "--jobs", 4, "--slurm-status-command", "squeue", "--latency-wait", 20)
QUICK = (
    *("--seconds-between-status-checks", 2, "--slurm-init-seconds-before-status-checks", 2),
    *("--workflow-profile", "none", "--default-resources", "mem_mb=1500", "runtime=10"),
)
THREADS = ("--set-threads", *(f"{rule}=1" for rule in ("index", "align", "merge", "call", "statistics", "page")))
RULES = ("reference", "index", "align", "merge", "regions", "call", "gather", "statistics", "page", "multiqc")
MEMORY = {f"{rule}:mem_mb": "2500" for rule in RULES}  # a node of the sandbox has several times as much


def resources(**changed: str) -> tuple[str, ...]:
    """The --set-resources options of `changed`, rule__resource=value."""
    values = MEMORY | {name.replace("__", ":"): value for name, value in changed.items()}
    return "--set-resources", *(f"{name}={value}" for name, value in values.items())


SLOWED = """
import os
if os.environ.get("READWARP_TEST_PAUSE"):
    import time
    from readwarp.finish import segments
    segments.SEGMENT_BYTES = 200_000
    checkpoint = segments.ResumableWriter.checkpoint
    def slowly(self, *arguments):
        checkpoint(self, *arguments)
        time.sleep(float(os.environ["READWARP_TEST_PAUSE"]))
    segments.ResumableWriter.checkpoint = slowly
"""


@pytest.fixture
def small(tmp_path) -> Path:
    """3,000 pairs."""
    for mate in (1, 2):
        with (
            pysam.FastxFile(str(READS / f"reads_{mate}.fq.gz")) as file,
            (tmp_path / f"reads_{mate}.fq").open("w") as out,
        ):
            for number, record in enumerate(file):
                if number < 3000:
                    out.write(f"{record}\n")
    return tmp_path


@pytest.mark.usefixtures("slurm")
def test_the_workflow_on_two_nodes(project):
    """Jobs that would use a GPU ask for one, though the CPU does the work."""
    folder = project("sample\nA\n", HEAD + unit("A", "L1", READS), READS / "ref.fa", joint=False)
    snakemake(folder, *OPTIONS, *QUICK, *THREADS, *resources(align__gpu="1", call__gpu="1"))
    with pysam.VariantFile(folder / "results" / "gvcf" / "A.g.vcf.gz") as file:
        assert sum(record.alts != ("<NON_REF>",) for record in file) > 400


@pytest.fixture
def pauses(tmp_path, monkeypatch) -> None:
    """If the environment says so, aligning waits after each batch, so that a job lasts long enough to be killed."""
    (tmp_path / "pause").mkdir()
    (tmp_path / "pause" / "sitecustomize.py").write_text(SLOWED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "pause"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


@pytest.mark.usefixtures("slurm", "pauses")
def test_a_time_limit_and_too_little_memory(project, small, monkeypatch):
    """align runs into its first limit of a minute and goes on with twice as much; merge gets more memory."""
    monkeypatch.setenv("READWARP_TEST_PAUSE", "2")
    units = f"sample\tunit\treads_1\treads_2\nA\tL1\t{small}/reads_1.fq\t{small}/reads_2.fq\n"
    options = {"align": {"options": "--batch-bases 20000"}}  # 45 batches: 90 s of waiting
    folder = project("sample\nA\n", units, READS / "ref.fa", joint=False, **options)
    limits = resources(align__runtime="attempt*attempt", merge__mem_mb="120*attempt*attempt*attempt")
    target = "results/bam/A.bam"
    done = snakemake(folder, *OPTIONS, *QUICK, *THREADS, "--retries", 2, *limits, "--", target)
    assert "continuing after" in (folder / "results" / "logs" / "align" / "A" / "L1.log").read_text()
    assert "Trying to restart" in done.stdout
    whole = folder / "whole.bam"
    monkeypatch.setenv("READWARP_TEST_PAUSE", "")
    command = ["readwarp", "align", READS / "ref.fa", small / "reads_1.fq", small / "reads_2.fq", "-o", whole, "-q"]
    command += ["-R", r"@RG\tID:A.L1\tSM:A\tLB:A\tPL:ILLUMINA", "--sort", "coordinate", "--mark-duplicates"]
    subprocess.run(list(map(str, command)), check=True)
    assert records(folder / target) == records(whole)


@pytest.mark.usefixtures("slurm")
def test_a_bad_input_reaches_the_user(project, tmp_path):
    cut = tmp_path / "cut.fq"
    cut.write_text("@r1\nACGT\n+\nIII\n")
    folder = project("sample\nA\n", HEAD + f"A\tL1\t{cut}\t\ta\n", READS / "ref.fa", joint=False)
    command = (*OPTIONS, *QUICK, *THREADS, *resources(), "--show-failed-logs", "--", "results/bam/A.bam")
    done = snakemake(folder, *command, check=False)
    assert done.returncode != 0
    assert "readwarp: error: " in done.stdout and "cut.fq: record 1: " in done.stdout


@pytest.mark.usefixtures("slurm", "pauses")
def test_arrays_without_snakemake(small, tmp_path, monkeypatch):
    """Parts on both nodes, one of them warned and requeued, then joined: the bytes of one run."""
    scripts, out = ROOT / "workflows" / "slurm", tmp_path / "out"
    reads = f"{small}/reads_1.fq {small}/reads_2.fq"
    reference = tmp_path / "ref.fa"
    reference.write_text((READS / "ref.fa").read_text())
    subprocess.run(["readwarp", "index", reference, "-q"], check=True)
    for name, value in (("REFERENCE", reference), ("READS", reads), ("SAMPLE", "s"), ("OUT", out)):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("READWARP_OPTIONS", "--batch-bases 20000 --no-pg")
    monkeypatch.setenv("READWARP_TEST_PAUSE", "1")
    small_job = ["--cpus-per-task=1", "--mem=1500M", f"--output={tmp_path}/%x.%a.log", "--open-mode=append"]
    job = submitted(*small_job, "--array=1-2", scripts / "align.sbatch")
    wait_for(lambda: (out / "s.part1.bam.unfinished").is_dir(), "the first part to begin")
    time.sleep(5)
    subprocess.run(["scancel", "--signal=USR1", "--batch", f"{job}_1"], check=True)
    merge = submitted(*small_job, f"--dependency=afterok:{job}", scripts / "merge.sbatch")
    wait_for(lambda: (out / "s.bam").exists() and not is_queued(merge), "the parts to be merged", 300)
    assert "continuing after" in (tmp_path / "readwarp-align.1.log").read_text()
    monkeypatch.setenv("READWARP_TEST_PAUSE", "")
    whole = tmp_path / "whole.bam"
    command = ["readwarp", "align", reference, *reads.split(), "-R", r"@RG\tID:s\tSM:s", "-o", whole, "-q"]
    subprocess.run(list(map(str, [*command, "--sort", "coordinate", "--mark-duplicates"])), check=True)
    assert records(out / "s.bam") == records(whole)
    assert not list(out.glob("s.part*"))


def submitted(*arguments: object) -> str:
    done = subprocess.run(["sbatch", "--parsable", *map(str, arguments)], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def is_queued(job: str) -> bool:
    return bool(subprocess.run(["squeue", "-h", "-j", job], text=True, capture_output=True).stdout.strip())


def wait_for(happened, what: str, seconds: float = 120) -> None:
    stop = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < stop, f"waited for {what}"
        time.sleep(0.5)
