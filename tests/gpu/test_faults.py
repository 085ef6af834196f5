"""Emulated cards that are small, slow, many, full, lost or interrupted: the CPU's bytes, or one line and no output."""

import random
import signal
import subprocess
import sys
import time

import pytest

import emulated_card
from cards import HAS_GPU

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(HAS_GPU, reason="a real card has no faults on demand")]

PAIRS = 600
SLOW = {"load_us": 3000, "launch_us": 300, "copy_us": 300}
MANY_BATCHES = ("--batch-bases", "9000")
LAUNCHES = [1, 60, 200, 400]  # while kernels are warmed up, and while workers are at it
LOST, FAILED, FULL = 999, 719, 2  # CUDA_ERROR_UNKNOWN, _LAUNCH_FAILED, _OUT_OF_MEMORY


@pytest.fixture(scope="module")
def few(made_reads, tmp_path_factory):
    """The first pairs, in files of their own."""
    folder = tmp_path_factory.mktemp("few")
    files = []
    for path in made_reads.reads:
        files.append(folder / path.name)
        files[-1].write_text("".join(path.read_text().splitlines(keepends=True)[: 4 * PAIRS]))
    return files


@pytest.fixture(scope="module")
def expected(made_reads, few):
    options = "-q", "--no-pg", "--device", "cpu"
    command = [sys.executable, "-m", "readwarp", "align", made_reads.reference, *few, *options]
    return subprocess.run(list(map(str, command)), check=True, capture_output=True).stdout


@pytest.fixture
def align(made_reads, few, tmp_path, capability):
    """Starts an alignment on emulated cards; `out` is where its SAM will be."""

    def start(*options, cards=f"{capability}:8G", **behaviour):
        out = tmp_path / "out.sam"
        command = [sys.executable, "-m", "readwarp", "align", made_reads.reference, *few, "-o", out, "-q", "--no-pg"]
        (tmp_path / "tmp").mkdir(exist_ok=True)  # of its own: cards that other tests have taken are not these
        environment = emulated_card.environment(cards, **{"checks": "", **behaviour})
        environment["TMPDIR"] = str(tmp_path / "tmp")
        process = subprocess.Popen([*map(str, command), *options], env=environment, stderr=subprocess.PIPE, text=True)
        return process, out

    return start


def finished(process, out):
    """(exit code, standard error's lines, SAM or None); nothing else is left behind."""
    said = process.communicate(timeout=300)[1].splitlines()
    assert not [line for line in said if line.startswith(("emulated card:", "Traceback"))], said
    left = [path.name for path in out.parent.iterdir() if path.is_file() and not path.name.startswith("out.sam.lock")]
    assert left == [out.name] * out.exists()
    return process.returncode, said, out.read_bytes() if out.exists() else None


@pytest.mark.parametrize(
    ("options", "behaviour"),
    [
        (("--device", "cuda:0,1", "-t", "8"), {"seed": 3, **SLOW}),
        (("--device", "cuda:0,1", "-t", "8", *MANY_BATCHES), {"load_us": 20000}),
        (("--device", "cuda:1"), {"seed": 4}),
        (("--device", "cuda:0", "-t", "16", "--batch-bases", "20000"), {"seed": 5, **SLOW}),
    ],
    ids=["two cards", "many first launches", "the second card", "many threads"],
)
def test_the_bytes_of_the_cpu(options, behaviour, align, expected, capability):
    other = "8.0" if capability != "8.0" else "9.0"
    found = finished(*align(*options, cards=f"{capability}:8G,{other}:8G", **behaviour))
    assert found == (0, [], expected)


def test_a_second_run_takes_kernels_from_the_disk(align, expected):
    """Many threads launch first what an earlier process compiled."""
    for _ in range(2):
        process, out = align("--device", "cuda", "-t", "8", *MANY_BATCHES, load_us=20000)
        assert finished(process, out) == (0, [], expected)
        out.unlink()


def test_a_card_with_little_memory(align, expected, capability):
    assert finished(*align("--device", "cuda", cards=f"{capability}:400M")) == (0, [], expected)


@pytest.mark.parametrize("call", [1, 3, 6])
def test_a_card_that_is_full(call, align, expected):
    """At whichever allocation: the work is done in smaller parts or on the host, or one line says what was missing.

    Numba asks twice.
    """
    full = ",".join(f"cuMemAlloc:{number}:{FULL}" for number in (call, call + 1))
    code, said, sam = finished(*align("--device", "cuda", fail=full))
    assert (code == 0 and sam == expected) or (code == 5 and sam is None and len(said) == 1), (code, said)


@pytest.mark.parametrize("launch", LAUNCHES)
def test_a_card_that_is_lost(launch, align):
    code, said, sam = finished(*align("--device", "cuda", *MANY_BATCHES, lose=f"0:{launch}:{LOST}"))
    assert code == 4 and sam is None and len(said) == 1
    assert said[0].startswith("readwarp: error: cuda:0 (Emulated card")


@pytest.mark.parametrize("launch", LAUNCHES)
def test_a_kernel_that_fails(launch, align):
    code, said, sam = finished(*align("--device", "cuda", *MANY_BATCHES, fail=f"launch:{launch}:{FAILED}"))
    assert code == 1 and sam is None and len(said) == 1
    assert said[0].startswith("readwarp: error: a kernel failed on cuda:0")


def test_one_of_two_cards_is_lost(align, capability):
    cards = f"{capability}:8G,{capability}:8G"
    started = align("--device", "cuda:0,1", *MANY_BATCHES, cards=cards, lose=f"1:150:{LOST}")
    code, said, sam = finished(*started)
    assert code == 4 and sam is None and len(said) == 1 and "cuda:1" in said[0]


@pytest.mark.parametrize("number", range(6))
def test_interrupted_at_any_moment(number, align, capability):
    """Ctrl-C or TERM while cards work: the exit code that says so, no output, no crash, and no long wait."""
    rng = random.Random(f"{capability} {number}")
    which, code = ((signal.SIGINT, 130), (signal.SIGTERM, 143))[number % 2]
    slow = {"launch_us": 3000, "copy_us": 3000, "seed": number}
    process, out = align("--device", "cuda", "-t", "4", *MANY_BATCHES, **slow)
    time.sleep(rng.uniform(0.5, 8))
    sent = time.monotonic()
    process.send_signal(which)
    ended, _, sam = finished(process, out)
    assert time.monotonic() - sent < 60
    # A signal that comes before or behind the command's own work ends Python as it ends any program.
    assert (ended == code and sam is None) or (ended == 0 and sam is not None) or ended == -which
