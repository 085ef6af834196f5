"""Commands whose windows go through worker processes: the bytes of one thread, and nothing left however they end."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pysam
import pytest

from helpers.command_samples import CONTIGS, fasta, pairs, record, run_main
from helpers.making import other, random_sequence, tiled, write_bam, write_fasta

DEADLINE = 60
PROCESSES = ("-t", "5", "--batch-bases", "6400")  # windows of 101 bases
LONG = random_sequence(40_000, seed=4)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a reference and alignments to it, with substitutions."""
    folder = tmp_path_factory.mktemp("made")
    changed = {name: "".join(swapped(bases, 300)) for name, bases in CONTIGS.items()}
    (folder / "ref.fa").write_text(fasta(changed))
    for mate in (1, 2):
        (folder / f"s_{mate}.fq").write_text("".join(record(pair[0], pair[mate]) for pair in pairs(1200)))
    reads = [folder / f"s_{mate}.fq" for mate in (1, 2)]
    options = ("-R", r"@RG\tID:1\tSM:s", "--sort", "coordinate", "--write-index", "-q")
    assert run_main(["align", folder / "ref.fa", *reads, "-o", folder / "s.bam", *options]) == 0
    assert run_main(["align", folder / "ref.fa", *reads, "-o", folder / "s.cram", *options]) == 0
    return folder


@pytest.fixture(scope="module")
def long_reads(tmp_path_factory) -> Path:
    """The same of long reads of two haplotypes, one of which lacks 300 bases."""
    folder = tmp_path_factory.mktemp("long")
    places = range(500, len(LONG) - 500, 1000)
    haplotypes = [[(at, LONG[at], other(LONG[at])) for at in places if at // 1000 % 3 != number] for number in (0, 1)]
    haplotypes[0] = sorted([*haplotypes[0], (20_100, LONG[20_100:20_401], LONG[20_100])])
    reads = [("one", read) for read in tiled(haplotypes, LONG, step=400, length=5000)]
    write_bam(folder / "s.bam", {"one": len(LONG)}, reads, {"RG": [{"ID": "g", "SM": "s", "PL": "PACBIO"}]})
    write_fasta(folder / "ref.fa", {"one": LONG})
    return folder


def swapped(bases: str, step: int):
    for at in range(0, len(bases), step):
        yield other(bases[at])
        yield bases[at + 1 : at + step]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "readwarp", *map(str, arguments)]


def call(
    folder: Path, *arguments: object, reads: str = "s.bam", **options: object
) -> "subprocess.CompletedProcess[str]":
    given = command("call", folder / "ref.fa", folder / reads, "--device", "cpu", *arguments)
    return subprocess.run(given, capture_output=True, text=True, timeout=DEADLINE, **options)


def lines_of(path: Path) -> list[str]:
    """Without those of the header that name the command."""
    with pysam.BGZFile(str(path)) if path.suffix == ".gz" else path.open("rb") as file:
        return [line.decode() for line in file if not line.startswith(b"##")]


def check_same(folder: Path, out: Path, options: tuple[str, ...], ways: list[tuple[str, ...]]) -> list[dict]:
    """Whether each way gives the lines and the counts of one thread -> the metrics of all."""
    found = []
    for number, way in enumerate([("-t", "1"), *ways]):
        output, metrics = out / f"{number}.vcf.gz", out / f"{number}.json"
        done = call(folder, "-o", output, "-q", "--metrics", metrics, *options, *way)
        assert (done.returncode, done.stderr) == (0, "")
        found.append(json.loads(metrics.read_text()))
        assert lines_of(output) == lines_of(out / "0.vcf.gz")
        for name in set(found[-1]["counts"]) | set(found[0]["counts"]):
            if "windows" not in name:
                assert found[-1]["counts"][name] == found[0]["counts"][name], name
    assert len(lines_of(out / "0.vcf.gz")) > 10
    return found


def test_processes_write_what_one_thread_writes(made, tmp_path):
    one, several = check_same(made, tmp_path, (), [PROCESSES])
    assert "worker_processes" not in one and several["worker_processes"] == 5
    assert several["peak_memory_bytes"] - one["peak_memory_bytes"] > several["worker_memory_bytes"] / 2 > 20 << 20
    assert several["stage_seconds"].keys() == one["stage_seconds"].keys()


@pytest.mark.weekly
@pytest.mark.parametrize("options", ["--gvcf", "--ploidy 1", "--bam-output out.bam", "-r one:1001-4000"])
def test_all_numbers_of_threads(options, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    many = [("-t", "32", "--memory", "2G"), ("-t", "64"), ("-t", "8"), ("-t", "32")]
    ways = [("-t", "2"), PROCESSES, *((*way, *PROCESSES[2:]) for way in many), ("-t", "32")]
    if "--bam-output" in options:
        ways, options = ways[:2], f"{options} --force"
    found = check_same(made, tmp_path, options.split(), ways)
    windows = 30 if "-r" in options else 90
    numbers = [min(number, windows) for number in (5, 32, 64, 8, 32, 0)]
    assert [each.get("worker_processes", 0) for each in found][2:] == numbers[: len(ways) - 1]


@pytest.mark.weekly
def test_long_reads_in_processes(long_reads, tmp_path):
    """They are read twice; the phase of the contig goes to all workers."""
    for number, way in enumerate((("-t", "2"), PROCESSES)):
        outputs = ("-o", f"{number}.vcf", "--haplotag", f"{number}.bam", "--sv", f"{number}.sv.vcf")
        done = call(long_reads, *outputs, "--metrics", tmp_path / f"{number}.json", *way, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        done = call(long_reads, "--sv-only", "-o", tmp_path / f"{number}.only.vcf", *way)
        assert done.returncode == 0, done.stderr
    for name in ("vcf", "sv.vcf", "only.vcf"):
        assert lines_of(tmp_path / f"0.{name}") == lines_of(tmp_path / f"1.{name}")
    records = [[str(r) for r in pysam.AlignmentFile(str(tmp_path / f"{number}.bam"))] for number in (0, 1)]
    assert records[0] == records[1] and any("HP" in text for text in records[0])
    assert len(lines_of(tmp_path / "1.sv.vcf")) == 2 and any("|" in line for line in lines_of(tmp_path / "1.vcf"))
    one, several = (json.loads((tmp_path / f"{number}.json").read_text()) for number in (0, 1))
    assert one["counts"] == several["counts"] and several["worker_processes"] == 5


@pytest.mark.slow
def test_cram_and_streams_in_processes(made, tmp_path):
    """Each worker has a process of its own for CRAM."""
    assert call(made, "-o", tmp_path / "0.vcf", "-t", "1").returncode == 0
    assert call(made, "-o", tmp_path / "1.vcf", *PROCESSES, reads="s.cram").returncode == 0
    with (made / "s.bam").open("rb") as stream:
        given = command("call", made / "ref.fa", "-", "-o", tmp_path / "2.vcf", *PROCESSES)
        assert subprocess.run(given, stdin=stream, timeout=DEADLINE, check=False).returncode == 0
    assert lines_of(tmp_path / "0.vcf") == lines_of(tmp_path / "1.vcf") == lines_of(tmp_path / "2.vcf")


def test_a_run_calls_in_processes(made, tmp_path):
    """Threads of its alignment have ended by then."""
    reads = (made / "s_1.fq", made / "s_2.fq")
    given = command("run", made / "ref.fa", *reads, "-R", r"@RG\tID:1\tSM:s", "-o", tmp_path / "run", "--no-report")
    done = subprocess.run(
        [*given, "-q", "--device", "cpu", *PROCESSES], capture_output=True, text=True, timeout=DEADLINE
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["worker_processes"] == 5
    assert call(made, "-o", tmp_path / "1.vcf.gz", "-t", "1", reads=str(tmp_path / "run" / "s.bam")).returncode == 0
    assert lines_of(tmp_path / "run" / "s.vcf.gz") == lines_of(tmp_path / "1.vcf.gz")


def test_a_cohort_in_processes(made, tmp_path):
    one, other, wrong = (tmp_path / f"{name}.g.vcf" for name in ("one", "other", "wrong"))
    assert run_main(["call", made / "ref.fa", made / "s.bam", "-o", one, "--gvcf", "-q"]) == 0
    lines = one.read_text().replace("FORMAT\ts\n", "FORMAT\tother\n").splitlines(True)
    other.write_text("".join(lines))
    row = next(row for row, line in enumerate(lines) if ",<NON_REF>" in line)
    fields = lines[row].split("\t")
    fields[3] = "TAG"  # differs from the reference
    wrong.write_text("".join([*lines[:row], "\t".join(fields), *lines[row + 1 :]]))
    told = []
    for threads in (1, 5):
        given = ("genotype", "-t", threads, "-o", tmp_path / f"{threads}.vcf", made / "ref.fa", one)
        metrics = tmp_path / f"{threads}.json"
        done = subprocess.run(command(*given, other, "--metrics", metrics), timeout=DEADLINE, check=False)
        assert done.returncode == 0
        done = subprocess.run(command(*given, wrong, "-f", "-q"), capture_output=True, text=True, timeout=DEADLINE)
        told.append((done.returncode, done.stderr))
    assert lines_of(tmp_path / "1.vcf") == lines_of(tmp_path / "5.vcf") and len(lines_of(tmp_path / "1.vcf")) > 20
    one, several = (json.loads((tmp_path / f"{threads}.json").read_text()) for threads in (1, 5))
    assert one["counts"] == several["counts"] and several["worker_processes"] == 5
    assert told[0] == told[1] and told[0][0] == 3 and str(wrong) in told[0][1]


def damaged(source: Path, target: Path) -> Path:
    """A copy with a read in its middle that is aligned beyond its contig."""
    with pysam.AlignmentFile(str(source)) as file, pysam.AlignmentFile(str(target), "wb", template=file) as out:
        for row, each in enumerate(file):
            if row == 600:
                each.cigarstring = f"50M5000N{each.query_length - 50}M"
            out.write(each)
    pysam.index(str(target))
    return target


def test_an_error_in_a_process_is_that_of_a_thread(made, tmp_path):
    bam = damaged(made / "s.bam", tmp_path / "damaged.bam")
    told = []
    for number, way in enumerate((("-t", "1", *PROCESSES[2:]), PROCESSES)):
        done = call(made, "-v", "-o", tmp_path / f"{number}.vcf", *way, reads=str(bam))
        assert done.returncode == 3
        told.append([line for line in done.stderr.splitlines() if "readwarp: error" in line])
        if number:
            assert "in a worker process:" in done.stderr and "in _parts" in done.stderr
    assert told[0] == told[1] and "damaged.bam" in told[0][0] and len(told[0]) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"damaged.bam", "damaged.bam.bai"}


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def state_of(pid: int) -> str:
    """Of a process; X if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def start(folder: Path, out: Path) -> tuple["subprocess.Popen[str]", list[int]]:
    """A command that takes long, and its workers, once all of them work."""
    given = command(
        "call", folder / "ref.fa", folder / "s.bam", "-o", out / "o.vcf.gz", "-t", "5", "--batch-bases", "60"
    )
    process = subprocess.Popen(given, stderr=subprocess.PIPE, text=True)
    started = time.monotonic()
    while len(workers := children_of(process.pid)) < 5 or not any(out.iterdir()):
        assert process.poll() is None and time.monotonic() - started < DEADLINE
        time.sleep(0.02)
    time.sleep(0.3)
    return process, workers


def check_ended(workers: list[int]) -> None:
    started = time.monotonic()
    while any(state_of(pid) not in "ZX" for pid in workers):
        assert time.monotonic() - started < 5
        time.sleep(0.02)


def test_a_worker_that_is_killed(made, tmp_path):
    process, workers = start(made, tmp_path)
    os.kill(workers[2], signal.SIGKILL)
    _, told = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    (line,) = [line for line in told.splitlines() if "error" in line]
    assert line.startswith(f"readwarp: error: worker process {workers[2]} was killed by signal 9")
    assert list(tmp_path.iterdir()) == []
    check_ended(workers)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGUSR1, 143)])
def test_a_command_that_is_stopped(number, code, made, tmp_path):
    process, workers = start(made, tmp_path)
    process.send_signal(number)
    _, told = process.communicate(timeout=DEADLINE)
    assert process.returncode == code and told.splitlines()[-1].startswith("readwarp: error: ")
    assert list(tmp_path.iterdir()) == []
    check_ended(workers)


def test_a_command_that_is_killed(made, tmp_path):
    process, workers = start(made, tmp_path)
    process.kill()
    process.communicate(timeout=DEADLINE)
    check_ended(workers)
    done = call(made, "-o", tmp_path / "o.vcf.gz", *PROCESSES)  # no lock of an output remains
    assert done.returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"o.vcf.gz", "o.vcf.gz.tbi"}


FROM_PYTHON = """
import sys, threading, readwarp
if sys.argv[3] == "threads":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
result = readwarp.call(*sys.argv[1:3], output=sys.argv[4], threads=5, device="cpu", batch_bases=6400)
print(result.metrics.facts.get("worker_processes", 0), result.metrics.counts["variants"])
"""


def test_from_python(made, tmp_path):
    """A program with other threads is not forked."""
    told = []
    for way in ("processes", "threads"):
        arguments = (made / "ref.fa", made / "s.bam", way, tmp_path / f"{way}.vcf")
        program = [sys.executable, "-W", "error", "-c", FROM_PYTHON, *map(str, arguments)]
        told.append(subprocess.run(program, capture_output=True, text=True, check=True).stdout.split())
    assert [number for number, _ in told] == ["5", "0"] and told[0][1] == told[1][1]
    assert lines_of(tmp_path / "processes.vcf") == lines_of(tmp_path / "threads.vcf")
