"""What surrounds a process: limits, folders of the user, locales, clocks, pipes, and other processes.

With test_systems.py it has a test for each line of the table in docs/how-to/errors.md, marked `row`.
"""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pysam
import pytest

from helpers.command_samples import record, run_main
from helpers.faults import fault, finish, start
from readwarp.compiler import kernel_cache
from readwarp.compiler.machine_code import unsealed
from readwarp.formats.common.bgzf import EOF_BLOCK

DEADLINE = 60
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
C_SHELL = f'"{sys.executable}" -m readwarp "$@"'


@pytest.fixture
def align(reference, mates, tmp_path) -> tuple[object, ...]:
    return "align", reference, *mates, "-q", "-o", tmp_path / "o.bam"


def content(path: Path) -> bytes:
    """Without the header, which has the command line."""
    return pysam.view(str(path)).encode()


def limited(kind: int, number: int) -> dict[str, object]:
    return {"preexec_fn": lambda: resource.setrlimit(kind, (number, number))}


def in_shell(script: str, *arguments: object) -> "subprocess.CompletedProcess[bytes]":
    """A script in which $READWARP is the command with the arguments."""
    command = ["bash", "-c", script.replace("READWARP", C_SHELL), "bash", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=DEADLINE)


@pytest.mark.row("few files may be open (`ulimit -n`)")
@pytest.mark.parametrize("number", [16, 32, 64])
def test_few_open_files(number, align, reference, tmp_path):
    assert finish(start(*align, **limited(resource.RLIMIT_NOFILE, number))) == (0, "")
    assert run_main(["merge", align[-1], "-o", tmp_path / "s.bam", "--write-index", "-q"]) == 0
    call = "call", reference, tmp_path / "s.bam", "-q", "-o", tmp_path / "o.vcf"
    code, said = finish(start(*call, **limited(resource.RLIMIT_NOFILE, number)))
    assert code == (0 if number == 64 else 3)
    assert code == 0 or f"files need 39 to be open at once, but this system allows {number} (`ulimit -Hn`)" in said


@pytest.mark.row("there is too little memory (`ulimit -v`)")
@pytest.mark.parametrize("megabytes", [150, 250])
def test_little_memory(megabytes, align, tmp_path):
    """Not enough for the libraries, and not enough for the work."""
    code, said = finish(start(*align, **limited(resource.RLIMIT_AS, megabytes << 20)))
    assert (code, said) == (5, "readwarp: error: out of memory: try a smaller --memory or fewer --threads\n")
    assert not (tmp_path / "o.bam").exists() and not list(tmp_path.glob("*.partial"))


@pytest.mark.row("files may not grow (`ulimit -f`)")
def test_small_files(align, tmp_path):
    ended = finish(start(*align, **limited(resource.RLIMIT_FSIZE, 4096)))
    assert ended == (1, f"readwarp: error: {tmp_path / 'o.bam'}: File too large\n")
    assert not (tmp_path / "o.bam").exists() and not list(tmp_path.glob("*.partial"))


@pytest.mark.row("TMPDIR is missing or cannot be written")
def test_no_temporary_folder(align, tmp_path):
    assert finish(start(*align, "--sort", "coordinate", environment={"TMPDIR": str(tmp_path / "none")})) == (0, "")


@pytest.mark.row("HOME is missing or cannot be written")
def test_no_home(align, tmp_path):
    homeless = {"HOME": "/nonexistent", "XDG_CACHE_HOME": "", "MPLCONFIGDIR": ""}
    assert finish(start(*align, environment=homeless)) == (0, "")
    assert len(content(tmp_path / "o.bam").splitlines()) == 400


@pytest.mark.row("the locale is not UTF-8")
def test_names_in_utf8(reference, mates, tmp_path):
    """Of files, samples, read groups, intervals and logs; and a message about one."""
    reads, bed = tmp_path / "réads.fq", tmp_path / "ü.bed"
    reads.write_bytes(mates[0].read_bytes())
    bed.write_text("one\t0\t3000\tnäme\n", encoding="utf-8")
    group = "@RG\\tID:é\\tSM:Zoë"
    folder = tmp_path / "öut"
    run = (
        "run",
        reference,
        reads,
        "-o",
        folder,
        "-R",
        group,
        "-L",
        bed,
        "--log",
        tmp_path / "ü.log",
        "-q",
        "--no-report",
    )
    assert finish(start(*run, environment=ASCII)) == (0, "")
    with pysam.AlignmentFile(str(folder / "Zoë.bam")) as file:
        assert file.header.to_dict()["RG"][0]["SM"] == "Zoë"
    with pysam.VariantFile(str(folder / "Zoë.vcf.gz")) as file:
        assert list(file.header.samples) == ["Zoë"]
    ended = finish(start("align", reference, tmp_path / "nö.fq", environment=ASCII))
    assert ended == (3, f"readwarp: error: {tmp_path}/nö.fq: no such file or directory\n")


def test_contigs_are_ascii(reference, tmp_path):
    path = tmp_path / "ref.fa"
    path.write_text(">cöntig\nACGT\n", encoding="utf-8")
    ended = finish(start("index", path, environment=ASCII))
    assert ended == (3, f"readwarp: error: {path}: record 1: its name is not printable ASCII\n")


@pytest.mark.zig
@pytest.mark.row("the clock jumps")
def test_a_clock_that_jumps(reference, mates, tmp_path):
    """By twelve years, forwards and back at each look; and files from the future."""
    copy = tmp_path / "ref.fa"
    copy.write_bytes(reference.read_bytes())
    os.utime(copy, (4e9, 4e9))
    command = ("run", copy, *mates, "-q", "--no-report")
    assert finish(start(*command, "-o", tmp_path / "jumps", environment=fault("clock", 0, allowed=4 * 10**8))) == (
        0,
        "",
    )
    assert finish(start(*command, "-o", tmp_path / "still")) == (0, "")
    assert content(tmp_path / "jumps" / "s.bam") == content(tmp_path / "still" / "s.bam")
    calls = [pysam.VariantFile(str(tmp_path / name / "s.vcf.gz")) for name in ("jumps", "still")]
    assert len({"".join(map(str, file)) for file in calls}) == 1
    assert f"{copy}.rwx" in map(str, tmp_path.iterdir())


@pytest.mark.row("the reader of stdout goes away")
@pytest.mark.parametrize("options", [[], ["--sort", "coordinate"]])
def test_a_reader_that_goes_away(options, reference, mates):
    ended = in_shell("READWARP | head -1 >/dev/null; echo ${PIPESTATUS[0]}", "align", reference, *mates, "-q", *options)
    assert (ended.stdout, ended.stderr) == (b"0\n", b"")


@pytest.mark.row("the reader of stderr goes away")
@pytest.mark.parametrize(("reads", "code"), [("s_1.fq", 0), ("missing.fq", 3)])
def test_a_reader_of_messages_that_goes_away(reads, code, reference, mates, tmp_path):
    path = tmp_path / "o.bam"
    gone, written = os.pipe()
    os.close(gone)
    process = start("align", reference, mates[0].with_name(reads), "--single", "-o", path, stderr=written)
    os.close(written)
    assert process.wait(DEADLINE) == code and path.exists() == (code == 0)


@pytest.mark.row("stdin, stdout or stderr is closed")
def test_closed_streams(reference, mates, tmp_path):
    """What does not need them works; no file gets their numbers."""
    path = tmp_path / "o.bam"
    align = ("align", reference, *mates)
    ended = in_shell("READWARP <&- >&- 2>&-; echo $?", *align, "-o", path)
    assert ended.stdout == b"0\n" and path.read_bytes().endswith(EOF_BLOCK)
    ended = in_shell("READWARP >&-; echo $? >&2", *align, "-q")
    assert ended.stderr == b"readwarp: error: stdout: Bad file descriptor\n1\n"
    ended = in_shell("READWARP <&-; echo $? >&2", "align", reference, "-", "-q")
    assert ended.stderr == b"readwarp: error: -: cannot be read (Bad file descriptor)\n3\n"


@pytest.mark.row("stdout is a file on a full disk")
@pytest.mark.parametrize("command", ["align", "call", "pairwise", "doctor"])
def test_a_full_stdout(command, reference, mates, tmp_path):
    bam = tmp_path / "s.bam"
    assert command != "call" or run_main(["align", reference, *mates, "-o", bam, "--write-index", "-q"]) == 0
    given = {"align": [reference, *mates, "-q"], "call": [reference, bam, "-q"], "pairwise": [*mates, "-q"]}
    ended = in_shell("READWARP >/dev/full; echo $? >&2", command, *given.get(command, []))
    assert ended.stderr == b"readwarp: error: stdout: No space left on device\n1\n"


@pytest.mark.zig
@pytest.mark.row("the log cannot be written any more")
def test_a_full_log(reference, mates, tmp_path):
    """That is said once, and the command goes on."""
    path, log = tmp_path / "o.bam", tmp_path / "log"
    command = ("align", reference, *mates, "-o", path, "--log", log, "-q")
    code, said = finish(start(*command, environment=fault("write", 28, log)))
    assert (code, said) == (0, f"readwarp: --log {log}: No space left on device: the log ends here\n")
    assert path.exists()


@pytest.mark.zig
@pytest.mark.row("the metrics cannot be written")
def test_full_metrics(align, tmp_path):
    folder = tmp_path / "metrics"
    folder.mkdir()
    path = folder / "m.json"
    code, said = finish(start(*align, "--metrics", path, environment=fault("write", 28, folder)))
    assert (code, said) == (1, f"readwarp: error: {path}: No space left on device\n")
    assert (tmp_path / "o.bam").exists() and list(folder.iterdir()) == []


@pytest.mark.row("two processes write one output")
def test_one_output_of_two_processes(reference, mates, tmp_path):
    path = tmp_path / "o.bam"
    first = start("align", reference, "-", "-q", "-o", path, stdin=subprocess.PIPE)
    while not Path(f"{path}.lock").exists():
        assert first.poll() is None
    code, said = finish(start("align", reference, *mates, "-q", "-o", path))
    assert (code, said) == (2, f"readwarp: error: {path}: is being written by another process ({path}.lock)\n")
    first.stdin.write(mates[0].read_bytes())
    first.stdin.close()
    first.stdin = None
    assert finish(first) == (0, "")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["o.bam"]


@pytest.mark.row("two processes build one index")
def test_one_index_of_two_processes(reference, mates, tmp_path):
    """Both run; the index is whole, and nothing else stays."""
    copy = tmp_path / "ref.fa"
    copy.write_bytes(reference.read_bytes())
    both = [start("align", copy, *mates, "-q", "-o", tmp_path / f"{i}.bam") for i in (0, 1)]
    assert [finish(process) for process in both] == [(0, "")] * 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["0.bam", "1.bam", "ref.fa", "ref.fa.rwx"]
    assert content(tmp_path / "0.bam") == content(tmp_path / "1.bam")


WRITES = """
import sys
from pathlib import Path
from readwarp.compiler.kernel_cache import write
for _ in range(300):
    write(Path(sys.argv[1]), sys.argv[2].encode() * 5000)
"""


@pytest.mark.row("two processes fill one cache of kernels")
def test_one_cache_of_two_processes(tmp_path):
    """Nobody reads half of a file, and nothing else stays."""
    path = tmp_path / "x.kernel"
    kernel_cache.write(path, b"a" * 5000)
    both = [subprocess.Popen([sys.executable, "-c", WRITES, str(path), letter]) for letter in "ab"]
    while any(process.poll() is None for process in both):
        assert unsealed(path.read_bytes(), path.name) in (b"a" * 5000, b"b" * 5000)
    assert [process.returncode for process in both] == [0, 0] and list(tmp_path.iterdir()) == [path]


def test_a_name_that_is_not_utf8(reference, tmp_path):
    """File systems allow any bytes. No text can hold them: those in the header become U+FFFD."""
    reads = os.fsencode(tmp_path) + b"/r\xe9ads.fq"
    Path(os.fsdecode(reads)).write_text(record("a", "ACGT" * 20))
    command = [sys.executable, "-m", "readwarp", "align", str(reference), reads, "-o", str(tmp_path / "o.sam"), "-q"]
    ended = subprocess.run(command, capture_output=True, timeout=DEADLINE)
    assert ended.returncode == 0, ended.stderr
    assert "r�ads" in (tmp_path / "o.sam").read_text(encoding="utf-8")
