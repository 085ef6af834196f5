"""Reads that are aligned in worker processes: the bytes of one thread, and nothing left however a command ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pysam
import pytest

from helpers.command_samples import CONTIGS, fasta, pairs, record
from helpers.making import other

DEADLINE = 60
PROCESSES = ("-t", "9")
BATCHES = ("--batch-bases", "3000")  # of 30 reads


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a reference and pairs of reads, some twice."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    templates = [*pairs(1500), *((f"copy{name}", *mates) for name, *mates in pairs(1500)[:100])]
    for mate in (1, 2):
        (folder / f"s_{mate}.fq").write_text("".join(record(each[0], changed(each[mate])) for each in templates))
        pysam.tabix_compress(str(folder / f"s_{mate}.fq"), str(folder / f"s_{mate}.fq.gz"), force=True)
    assert align(folder, "-o", folder / "first.sam", "-t", 1).returncode == 0  # makes the index
    return folder


def changed(bases: str) -> str:
    """With a substitution in its middle."""
    return f"{bases[:50]}{other(bases[50])}{bases[51:]}"


def command(folder: Path, *arguments: object, name: str = "align", ending: str = ".fq") -> list[str]:
    reads = [folder / f"s_{mate}{ending}" for mate in (1, 2)]
    given = [name, folder / "ref.fa", *reads, "-R", r"@RG\tID:1\tSM:s", "-q", "--device", "cpu", *arguments]
    return [sys.executable, "-m", "readwarp", *map(str, given)]


def align(folder: Path, *arguments: object, **options: object) -> "subprocess.CompletedProcess[str]":
    given = command(folder, *arguments, **options)
    return subprocess.run(given, capture_output=True, text=True, timeout=DEADLINE)


def records_of(path: Path) -> list[str]:
    if path.suffix == ".paf":
        return path.read_text().splitlines()
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return [each.to_string() for each in file]


def check_same(folder: Path, out: Path, ending: str, options: tuple[str, ...], ways: list[tuple[str, ...]]) -> None:
    """Whether each way gives the records and the counts of one thread, in as many processes as it has threads."""
    for number, way in enumerate([("-t", "1"), *ways]):
        output, metrics = out / f"{number}.{ending}", out / f"{number}.json"
        done = align(folder, "-o", output, "--metrics", metrics, *options, *way)
        assert (done.returncode, done.stderr) == (0, "")
        found, one = (json.loads(path.read_text()) for path in (metrics, out / "0.json"))
        assert found.get("worker_processes", 0) == (int(way[1]) if number else 0)
        assert records_of(output) == records_of(out / f"0.{ending}")
        for name in {*found["counts"], *one["counts"]} - {"batches"}:
            assert found["counts"][name] == one["counts"][name], name
    assert len(records_of(out / f"0.{ending}")) >= 3200


@pytest.mark.parametrize(
    ("ending", "options"), [("sam", ()), ("bam", ("--mark-duplicates", "--write-index", "--trim"))]
)
def test_processes_write_what_one_thread_writes(ending, options, made, tmp_path):
    check_same(made, tmp_path, ending, options, [(*PROCESSES, *BATCHES)])


OTHERS = [("paf", ()), ("bam", ("--sort", "name")), ("cram", ("--sort", "coordinate")), ("sam", ("-a",))]
WAYS = [("-t", "9"), ("-t", "64", *BATCHES), ("-t", "12", "--batch-bases", "100000")]


@pytest.mark.slow
def test_all_numbers_of_processes(made, tmp_path):
    """64 on any machine; none where memory is short."""
    check_same(made, tmp_path, "bam", (), WAYS)


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "options"), OTHERS)
def test_all_outputs_of_processes(ending, options, made, tmp_path):
    """The command writes what its workers send back, whichever worker sent it."""
    check_same(made, tmp_path, ending, options, WAYS[-1:])


@pytest.mark.weekly
@pytest.mark.parametrize(("ending", "options"), OTHERS)
def test_all_outputs_of_all_numbers_of_processes(ending, options, made, tmp_path):
    check_same(made, tmp_path, ending, options, WAYS[:-1])


@pytest.mark.slow
def test_memory_of_64_processes(made, tmp_path):
    """What they take together is what was planned, at most."""
    done = align(made, "-o", tmp_path / "o.bam", "-t", 64, "--metrics", tmp_path / "m.json", "--memory", "4G")
    assert done.returncode == 0
    found = json.loads((tmp_path / "m.json").read_text())
    assert found["worker_processes"] == 64 and found["planned_bytes"] <= 4 << 30
    assert found["peak_memory_bytes"] <= found["planned_bytes"]


def test_threads_where_memory_is_short(made, tmp_path):
    done = align(made, "-o", tmp_path / "o.sam", *PROCESSES, "--memory", "400M", "--metrics", tmp_path / "m.json")
    assert done.returncode == 0
    found = json.loads((tmp_path / "m.json").read_text())
    assert "worker_processes" not in found and found["planned_bytes"] <= 400 << 20
    assert records_of(tmp_path / "o.sam") == records_of(made / "first.sam")


def test_an_error_in_a_process_is_that_of_a_thread(made, tmp_path):
    told = []
    for mate in (1, 2):
        text = (made / f"s_{mate}.fq").read_text().split("\n")
        text[4 * 700 + 3] = text[4 * 700 + 3][:-1] + ("\x7f" if mate == 2 else "I")
        (tmp_path / f"s_{mate}.fq").write_text("\n".join(text))
    (tmp_path / "ref.fa").write_text(fasta(CONTIGS))
    for way in (("-t", "1"), PROCESSES):
        done = align(tmp_path, "-o", tmp_path / "o.bam", *way, *BATCHES)
        assert done.returncode == 3 and not (tmp_path / "o.bam").exists()
        told.append(done.stderr)
    assert told[0] == told[1] and "s_2.fq" in told[0] and "record 701" in told[0] and len(told[0].splitlines()) == 1


def start(folder: Path, out: Path, *arguments: object) -> tuple["subprocess.Popen[str]", list[int]]:
    """A command that waits for reads, and its workers."""
    os.mkfifo(out / "s_1.fq")
    given = ["align", folder / "ref.fa", out / "s_1.fq", "-o", out / "o.bam", "--single", *PROCESSES, *BATCHES]
    program = [sys.executable, "-m", "readwarp", *map(str, [*given, *arguments])]
    process = subprocess.Popen(program, stderr=subprocess.PIPE, text=True)
    started, children = time.monotonic(), Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while len(workers := children.read_text().split()) < 9:
        assert process.poll() is None and time.monotonic() - started < DEADLINE
        time.sleep(0.02)
    return process, list(map(int, workers))


def state_of(pid: int) -> str:
    """Of a process; X if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def check_ended(workers: list[int]) -> None:
    started = time.monotonic()
    while any(state_of(pid) not in "ZX" for pid in workers):
        assert time.monotonic() - started < 5
        time.sleep(0.02)


def feed(out: Path, text: str) -> None:
    with open(out / "s_1.fq", "w") as pipe:
        pipe.write(text)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_command_that_is_stopped(number, code, made, tmp_path):
    process, workers = start(made, tmp_path)
    process.send_signal(number)
    feed_end = os.open(tmp_path / "s_1.fq", os.O_RDWR | os.O_NONBLOCK)  # whoever waits for the pipe goes on
    process.communicate(timeout=DEADLINE)
    os.close(feed_end)
    assert process.returncode == code
    check_ended(workers)
    if code > 0:
        assert [path.name for path in tmp_path.iterdir()] == ["s_1.fq"]


def test_a_worker_that_is_killed(made, tmp_path):
    process, workers = start(made, tmp_path)
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    feed(tmp_path, (made / "s_1.fq").read_text())
    _, told = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    (line,) = [line for line in told.splitlines() if "error" in line]
    assert "worker process" in line and "was killed by signal 9" in line
    assert [path.name for path in tmp_path.iterdir()] == ["s_1.fq"]
    check_ended(workers)


@pytest.mark.slow
def test_a_run_that_is_resumed(made, tmp_path):
    """In other processes than those that began it, and at last in a thread."""
    whole = align(made, "-o", tmp_path / "whole.bam", "-t", "1", "--mark-duplicates")
    assert whole.returncode == 0
    given = command(made, "-o", tmp_path / "o.bam", "--mark-duplicates", "--resume", *BATCHES)
    for way in (PROCESSES, ("-t", "12"), ("-t", "1")):
        process = subprocess.Popen([*given, *way], stderr=subprocess.DEVNULL)
        if way != ("-t", "1"):
            time.sleep(1.5)
            process.terminate()
        process.wait(DEADLINE)
    assert process.returncode == 0 or (tmp_path / "o.bam").exists()
    assert records_of(tmp_path / "o.bam") == records_of(tmp_path / "whole.bam")
