"""Disks that are full or broken: one line names the file and the reason, and nothing of it is left.

Each line of the table in docs/how-to/errors.md has a test here or in test_surroundings.py, marked `row`.
"""

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.command_samples import run_main
from helpers.faults import fault, finish, start
from readwarp.formats.common.writing import write_whole

ROOT = Path(__file__).resolve().parents[2]
FULL = "No space left on device"


def test_each_row_has_a_test():
    page = (ROOT / "docs" / "how-to" / "errors.md").read_text()
    table = page.partition("## When the system fails")[2]
    rows = re.findall(r"^\| (?!-)(.+?) \|", table, re.MULTILINE)[1:]
    texts = [(Path(__file__).parent / f"test_{name}.py").read_text() for name in ("systems", "surroundings")]
    tested = set(re.findall(r'^@pytest\.mark\.row\("(.+)"\)', "".join(texts), re.MULTILINE))
    assert len(rows) >= 20 and set(rows) == tested


@pytest.fixture
def out(tmp_path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture(scope="module")
def sample(reference, mates, tmp_path_factory) -> Path:
    """Alignments and their index, and calls."""
    folder = tmp_path_factory.mktemp("sample")
    bam = folder / "s.bam"
    assert run_main(["align", reference, *mates, "-o", bam, "--write-index", "-q"]) == 0
    assert run_main(["call", reference, bam, "-o", folder / "s.g.vcf.gz", "--gvcf", "-q"]) == 0
    return bam


@pytest.fixture
def commands(reference, mates, sample) -> dict[str, tuple[object, ...]]:
    """By the name of what they write."""
    align, call = ("align", reference, *mates), ("call", reference, sample)
    return {
        **dict.fromkeys(("o.bam", "o.sam", "o.cram", "o.paf"), align),
        **dict.fromkeys(("o.vcf", "o.vcf.gz", "o.bcf"), call),
        "sorted.bam": (*align, "--write-index"),
        "cohort.vcf.gz": ("genotype", reference, sample.with_name("s.g.vcf.gz")),
        "r.rwx": ("index", reference),
        "p.tsv": ("pairwise", *mates),
    }


def check_failure(ended: tuple[int, str], path: Path, reason: str) -> None:
    assert ended == (1, f"readwarp: error: {path}: {reason}\n")


WRITTEN = (
    "o.bam",
    "o.sam",
    "o.cram",
    "o.paf",
    "o.vcf",
    "o.vcf.gz",
    "o.bcf",
    "sorted.bam",
    "cohort.vcf.gz",
    "r.rwx",
    "p.tsv",
)


@pytest.mark.zig
@pytest.mark.row("the disk is full")
@pytest.mark.parametrize(("name", "allowed"), [*((name, 0) for name in WRITTEN), ("o.bam", 600), ("o.vcf.gz", 600)])
def test_a_full_disk(name, allowed, commands, out, scratch):
    """From its first byte on, and in the midst of it."""
    process = start(*commands[name], "-o", out / name, "-q", environment=fault("write", errno.ENOSPC, out, allowed))
    code, said = finish(process)
    assert code == 1 and said.startswith(f"readwarp: error: {out / name}: ") and said.count("\n") == 1
    assert said.endswith(f": {FULL}\n")
    assert list(out.iterdir()) == [] and list(scratch.iterdir()) == []


@pytest.mark.zig
@pytest.mark.parametrize(
    ("ending", "name", "options"),
    [("bai", "o.bam", ["--write-index"]), ("tbi", "o.vcf.gz", []), ("csi", "o.bcf", [])],
)
def test_a_disk_without_room_for_the_index(ending, name, options, commands, out):
    """Neither the file nor its index is there then, and htslib, which gives no reason for BCF, is quiet."""
    process = start(*commands[name], *options, "-o", out / name, "-q", environment=fault("write", 28, f".{ending}"))
    code, said = finish(process)
    reason = "cannot be written " if ending == "csi" else FULL
    assert code == 1 and said.startswith(f"readwarp: error: {out / name}.{ending}: {reason}")
    assert said.count("\n") == 1 and list(out.iterdir()) == []


@pytest.mark.zig
def test_a_full_disk_while_work_is_kept(commands, out):
    """--resume: what was complete before stays."""
    unfinished = out / "o.bam.unfinished"
    resumed = (*commands["o.bam"], "-o", out / "o.bam", "--resume", "-q")
    check_failure(finish(start(*resumed, environment=fault("write", 28, out))), unfinished / "job.json", FULL)
    assert list(out.iterdir()) == []
    ended = finish(start(*resumed, environment=fault("write", 28, "000000.partial")))
    check_failure(ended, unfinished / "000000.partial", FULL)
    assert [path.name for path in unfinished.iterdir()] == ["job.json"]


@pytest.mark.zig
def test_a_full_disk_while_realigned_reads_are_written(commands, out):
    path = out / "r.bam"
    command = (*commands["o.vcf"], "-o", out / "o.vcf", "--bam-output", path, "-q")
    check_failure(finish(start(*command, environment=fault("write", 28, f"{path}.partial"))), path, FULL)
    assert list(out.iterdir()) == []


@pytest.fixture
def in_namespace(tmp_path):
    """Run a shell script with mounts of its own, as root or not; skipped where the system forbids it."""
    unshare = ["unshare", "-m" if os.getuid() == 0 else "-Urm"]
    place = tmp_path / "mount"
    place.mkdir()

    def run(script: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
        command = [*unshare, "sh", "-c", f"place=$1; shift; {script}", "sh", str(place), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    if not shutil.which("unshare") or run("mount -t tmpfs none $place").returncode:
        pytest.skip("needs mounts in a namespace")
    run.place = place
    return run


LISTING = 'find "$place" -type f -printf "%f\\n" | sort'


@pytest.mark.row("the disk is full while `run` makes its report")
def test_a_disk_that_is_full_at_the_report(reference, mates, in_namespace):
    """A tmpfs that holds the alignments and calls, but not all texts of samtools."""
    mount = f'mount -t tmpfs -o size=72k none "$place"; "$@"; echo $?; {LISTING}'
    command = (sys.executable, "-m", "readwarp", "run", reference, *mates, "-q", "-o", in_namespace.place / "out")
    ended = in_namespace(mount, *command)
    code, *left = ended.stdout.split()
    assert code == "1" and re.fullmatch(rf"readwarp: error: \S+/out/\S+: {FULL}\n", ended.stderr), ended.stderr
    assert {"s.bam", "s.bam.bai", "s.vcf.gz", "s.vcf.gz.tbi"} <= set(left) and "report.html" not in left
    assert not any("partial" in name for name in left)


@pytest.mark.zig
@pytest.mark.row("a quota is used up")
def test_a_quota(commands, out):
    environment = fault("write", errno.EDQUOT, out, 100)
    check_failure(
        finish(start(*commands["o.bam"], "-o", out / "o.bam", "-q", environment=environment)),
        out / "o.bam",
        "Disk quota exceeded",
    )
    assert list(out.iterdir()) == []


@pytest.mark.zig
@pytest.mark.row("the temporary folder is full")
def test_a_full_temporary_folder(reference, sample, out, scratch):
    with sample.open("rb") as stream:
        environment = fault("write", errno.ENOSPC, scratch, 100)
        process = start("call", reference, "-", "-o", out / "o.vcf", "-q", stdin=stream, environment=environment)
        ended = finish(process)
    check_failure(ended, scratch, f"{FULL} (for temporary files; TMPDIR sets another folder)")
    assert list(out.iterdir()) == [] and list(scratch.iterdir()) == []


@pytest.mark.row("a folder is read-only")
def test_a_read_only_folder(reference, mates, in_namespace):
    script = f'mount -t tmpfs none "$place"; mount -o remount,ro "$place"; "$@"; echo $?; {LISTING}'
    command = (sys.executable, "-m", "readwarp", "align", reference, *mates, "-q", "-o", in_namespace.place / "o.bam")
    ended = in_namespace(script, *command)
    assert ended.stdout == "2\n"
    assert ended.stderr == f"readwarp: error: {in_namespace.place}/o.bam: cannot be written (permission denied)\n"


@pytest.mark.row("an output's folder vanishes")
def test_a_folder_that_vanishes(reference, mates, out):
    """It is removed while the command waits for more reads."""
    process = start("align", reference, "-", "-o", out / "o.bam", "-q", stdin=subprocess.PIPE)
    process.stdin.write(mates[0].read_bytes())
    process.stdin.flush()
    while not list(out.glob("*.partial/output")):
        assert process.poll() is None
    shutil.rmtree(out)
    process.stdin.close()
    process.stdin = None
    check_failure(finish(process), out / "o.bam", "No such file or directory")
    assert not out.exists()


@pytest.mark.zig
@pytest.mark.row("a disk fails to read")
@pytest.mark.parametrize("name", ["s_1.fq", "ref.fa", "s.bam", "s.g.vcf.gz", "t.bed", "gvcfs.txt"])
def test_a_disk_that_cannot_be_read(name, reference, mates, sample, out, tmp_path):
    bed, listing, genomic = tmp_path / "t.bed", tmp_path / "gvcfs.txt", sample.with_name("s.g.vcf.gz")
    bed.write_text("one\t0\t100\n")
    listing.write_text(f"{genomic}\n")
    command, path = {
        "s_1.fq": (("align", reference, *mates, "-o", out / "o.bam"), mates[0]),
        "ref.fa": (("index", reference, "-o", out / "r.rwx"), reference),
        "s.bam": (("align", reference, sample, "-o", out / "o.bam"), sample),
        "s.g.vcf.gz": (
            ("genotype", reference, sample.with_name("s.g.vcf.gz"), "-o", out / "o.vcf"),
            sample.with_name("s.g.vcf.gz"),
        ),
        "t.bed": (("call", reference, sample, "-L", bed, "-o", out / "o.vcf"), bed),
        "gvcfs.txt": (("genotype", reference, f"@{listing}", "-o", out / "o.vcf"), listing),
    }[name]
    code, said = finish(start(*command, "-q", environment=fault("read", errno.EIO, path)))
    assert code == 3 and said.startswith(f"readwarp: error: {path}: ") and "nput/output error" in said
    assert "Errno" not in said and said.count("\n") == 1 and list(out.iterdir()) == []


@pytest.mark.zig
@pytest.mark.parametrize("name", ["s.stats.txt", "s.idxstats.txt", "metrics.json"])
def test_texts_of_a_report_that_cannot_be_read(name, reference, mates, tmp_path):
    folder = tmp_path / "results"
    assert run_main(["run", reference, *mates, "-o", folder, "-q"]) == 0
    path = folder / name
    ended = finish(start("report", folder, "-q", "-f", environment=fault("read", errno.EIO, path)))
    assert ended == (3, f"readwarp: error: {path}: cannot be read (Input/output error)\n")


@pytest.mark.zig
@pytest.mark.row("a disk fails to write")
@pytest.mark.parametrize("name", ["o.bam", "o.vcf.gz"])
def test_a_disk_that_cannot_be_written(name, commands, out):
    process = start(*commands[name], "-o", out / name, "-q", environment=fault("write", errno.EIO, out, 100))
    check_failure(finish(process), out / name, "Input/output error")
    assert list(out.iterdir()) == []


@pytest.mark.zig
@pytest.mark.row("the file system has no locks")
def test_a_file_system_without_locks(commands, out):
    process = start(*commands["o.bam"], "-o", out / "o.bam", "-q", environment=fault("flock", errno.ENOLCK, out))
    code, said = finish(process)
    assert code == 0 and "its file system has no locks (No locks available): let no other process write it" in said
    assert [path.name for path in out.iterdir()] == ["o.bam"]


def test_a_whole_file_or_none(tmp_path, monkeypatch):
    """Of a text that is replaced, the one before stays."""
    path = tmp_path / "x.json"
    write_whole(path, b"1")
    monkeypatch.setattr("readwarp.formats.common.writing.sync", lambda _: (_ for _ in ()).throw(OSError(28, "")))
    with pytest.raises(OSError, match=FULL) as caught:
        write_whole(path, b"2")
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"1" and list(tmp_path.iterdir()) == [path]
