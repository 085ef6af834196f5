"""Emulated cards that are small, slow, many, full, lost or interrupted: the CPU's output, or one line and no output."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pysam
import pytest

import emulated_card
from helpers.cards import CAPABILITIES, HAS_GPU
from helpers.random_reads import changed, ends_of, letters

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.any_capability,  # drivers fail alike on all
    pytest.mark.skipif(HAS_GPU, reason="a real card has no faults on demand"),
]

LENGTH, PAIRS, DONOR_VARIANTS = 12_000, 600, 24
SLOW = {"load_us": 3000, "launch_us": 300, "copy_us": 300}
MANY_BATCHES = ("--batch-bases", "9000")
TRIAL = 1  # the launch by which a card shows that it works
LAUNCHES = [2, 60, 200, 400]  # while kernels are warmed up, and while workers are at it
LOST, FAILED, FULL = 999, 719, 2  # CUDA_ERROR_UNKNOWN, _LAUNCH_FAILED, _OUT_OF_MEMORY


@dataclass(frozen=True, slots=True)
class Command:
    arguments: tuple[object, ...]
    out: str  # what -o names
    content: Callable[[Path], object]


def variants(path):
    """Records of a VCF."""
    with pysam.VariantFile(str(path)) as records:
        return [str(record) for record in records]


def of_run(folder):
    return pysam.samtools.view("--no-header", str(folder / "reads.bam")), variants(folder / "reads.vcf.gz")


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """Reads of a donor with SNVs and indels at 15x, and three commands that use them."""
    folder, rng = tmp_path_factory.mktemp("donor"), random.Random(5)
    genome = letters(rng, LENGTH)
    donor = list(genome)
    for place in rng.sample(range(200, LENGTH - 200), DONOR_VARIANTS):
        donor[place] = rng.choice((letters(rng, 1), "", donor[place] + letters(rng, 3)))
    donor = "".join(donor)
    reference, files = folder / "ref.fa", [folder / f"reads_{mate}.fq" for mate in (1, 2)]
    reference.write_text(f">one\n{genome}\n")
    with files[0].open("w") as first, files[1].open("w") as last:
        for number in range(PAIRS):
            start = rng.randrange(len(donor) - 400)
            fragment = donor[start : start + max(152, round(rng.gauss(300, 40)))]
            mates = ends_of(fragment)
            if number % 10 == 0:  # indels, and bases that need their mate to find them
                mates = mates[0], changed(rng, mates[1], 0.12)
            for file, mate in zip((first, last), mates, strict=True):
                file.write(f"@r{number}\n{mate}\n+\n{'I' * len(mate)}\n")
    bam = folder / "reads.bam"
    for made in (
        ("index", reference),
        ("align", reference, *files, "-o", bam, "--sort", "coordinate", "--write-index", "--device", "cpu"),
    ):
        subprocess.run([sys.executable, "-m", "readwarp", *map(str, made), "-q"], check=True)
    return {
        "align": Command(("align", reference, *files, "--no-pg"), "out.sam", Path.read_bytes),
        "call": Command(("call", reference, bam), "out.vcf", variants),
        "run": Command(("run", reference, *files, "--no-pg", "--no-report"), "out", of_run),
    }


@pytest.fixture(scope="module")
def expected(commands, tmp_path_factory):
    """The results of the commands on the CPU."""
    folder, made = tmp_path_factory.mktemp("cpu"), {}
    for name, command in commands.items():
        given = command.arguments, "-o", folder / command.out, "-q", "--device", "cpu"
        subprocess.run([sys.executable, "-m", "readwarp", *map(str, (*given[0], *given[1:]))], check=True)
        made[name] = command.content(folder / command.out)
    assert len(made["call"]) > DONOR_VARIANTS // 2 and made["run"][1] == made["call"]
    return made


class Started:
    """A command on emulated cards."""

    def __init__(self, command, options, environment, folder):
        self.command, self.out = command, folder / command.out
        (folder / "tmp").mkdir(exist_ok=True)  # of its own: cards that other tests have taken are not these
        given = [*command.arguments, "-o", self.out, "-q", *options]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "readwarp", *map(str, given)],
            env=environment | {"TMPDIR": str(folder / "tmp")}, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def wait_for_cards(self):
        """Wait until the driver is loaded: from then on the command does its own work."""
        mapped = Path(f"/proc/{self.process.pid}/maps")
        while self.process.poll() is None and "libcuda" not in mapped.read_text():
            time.sleep(0.02)

    def end(self):
        """(exit code, standard error's lines, output or None); nothing else is left behind."""
        said = self.process.communicate(timeout=300)[1].splitlines()
        assert not [line for line in said if line.startswith(("emulated card:", "Traceback"))], said
        left = {path.name for path in self.out.parent.iterdir()} - {"tmp", f"{self.out.name}.lock"}
        assert left == ({self.out.name} if self.out.exists() else set())
        return self.process.returncode, said, self.command.content(self.out) if self.out.exists() else None


@pytest.fixture
def start(commands, tmp_path, capability):
    def started(name, *options, cards=f"{capability}:8G", **behaviour):
        environment = emulated_card.environment(cards, **{"checks": "", **behaviour})
        return Started(commands[name], options, environment, tmp_path)

    return started


@pytest.mark.parametrize(
    ("command", "options", "behaviour"),
    [
        ("align", ("--device", "cuda:0,1", "-t", "8"), {"seed": 3, **SLOW}),
        ("align", ("--device", "cuda:0,1", "-t", "8", *MANY_BATCHES), {"load_us": 20000}),
        ("align", ("--device", "cuda:1"), {"seed": 4}),
        ("align", ("--device", "cuda:0", "-t", "16", "--batch-bases", "20000"), {"seed": 5, **SLOW}),
        ("call", ("--device", "cuda:0,1", "-t", "8", *MANY_BATCHES), {"seed": 6, **SLOW}),
        ("call", ("--device", "cuda:0", "-t", "4", "--vram", "64M"), {"seed": 7}),
        ("run", ("--device", "cuda:0,1", "-t", "4", "--vram", "400M"), {"seed": 8, "load_us": 3000}),
    ],
    ids=[
        *("align, two cards", "align, many first launches", "align, the second card", "align, many threads"),
        *("call, two cards", "call, little VRAM", "run, two cards with little VRAM"),
    ],
)
def test_the_output_of_the_cpu(command, options, behaviour, start, expected, capability):
    other = next(one for one in CAPABILITIES if one != capability)
    found = start(command, *options, cards=f"{capability}:8G,{other}:8G", **behaviour).end()
    assert found == (0, [], expected[command])


def test_processes_share_a_card(start, expected, tmp_path):
    metrics = tmp_path / "tmp" / "metrics.json"
    options = "--device", "cuda", "-t", "4", *MANY_BATCHES, "--metrics", str(metrics)
    assert start("call", *options, **SLOW).end() == (0, [], expected["call"])
    found = json.loads(metrics.read_text())
    assert found["worker_processes"] == 4 and found["gpu"][0]["workspaces"] == 1
    assert found["gpu"][0]["batches"] == found["pairhmm_batches"] <= found["pairhmm_questions"]
    assert found["counts"]["pairhmm_pairs"] > found["counts"]["pairhmm_pairs_off_card"] == 0


def test_bam_without_nvcomp(commands, start, tmp_path):
    """The CPU compresses, as it does without a card, and a line says so."""
    made = {}
    for name, options, behaviour in (("cpu", ("--device", "cpu"), {}), ("card", ("--device", "cuda"), {"nvcomp": 0})):
        folder = tmp_path / name
        folder.mkdir()
        metrics, command = folder / "tmp" / "m.json", replace(commands["align"], out="out.bam")
        given = *options, "--metrics", str(metrics)
        environment = emulated_card.environment("9.0:8G", checks="", **behaviour)
        made[name] = Started(command, given, environment, folder).end(), json.loads(metrics.read_text())["counts"]
    (code, said, expected), counts = made["cpu"]
    assert (code, said) == (0, []) and "outputs_compressed_on_host" not in counts
    (code, said, found), counts = made["card"]
    assert code == 0 and found == expected and counts["outputs_compressed_on_host"] == 1
    assert said == ["readwarp: BAM is compressed on the CPU: nvCOMP (libnvcomp.so.6) is not installed"]


def test_an_error_of_nvcomp(commands, tmp_path, capability):
    """With the second group of blocks: one line, and no output."""
    environment = emulated_card.environment(
        f"{capability}:8G", checks="", fail="nvcompBatchedDeflateCompressAsync:2:11"
    )
    command = replace(commands["align"], out="out.bam")
    code, said, out = Started(command, ("--device", "cuda"), environment, tmp_path).end()
    assert code == 1 and out is None
    assert said == ["readwarp: error: nvCOMP 6.0.0 failed: An emulated error (status 11); --bgzf cpu does without it"]


def test_a_second_run_takes_kernels_from_the_disk(start, expected):
    """Many threads launch for the first time what an earlier process compiled."""
    for _ in range(2):
        started = start("align", "--device", "cuda", "-t", "8", *MANY_BATCHES, "--force", load_us=20000)
        assert started.end() == (0, [], expected["align"])


@pytest.mark.parametrize("command", ["align", "run"])
def test_a_card_with_little_memory(command, start, expected, capability):
    assert start(command, "--device", "cuda", cards=f"{capability}:400M").end() == (0, [], expected[command])


@pytest.mark.parametrize(("command", "call"), [("align", 1), ("align", 3), ("align", 6), ("call", 1), ("run", 4)])
def test_a_card_that_is_full(command, call, start, expected):
    """At any two allocations: the work is done in smaller parts or on the host, or one line says what was missing."""
    full = ",".join(f"cuMemAlloc:{number}:{FULL}" for number in (call, call + 1))
    code, said, out = start(command, "--device", "cuda", fail=full).end()
    assert (code == 0 and out == expected[command]) or (code == 5 and out is None and len(said) == 1), (code, said)


OF_EACH = [*(("align", launch) for launch in LAUNCHES), ("call", 2), ("call", 150), ("run", 300), ("run", 600)]


@pytest.mark.parametrize(("command", "launch"), OF_EACH)
def test_a_card_that_is_lost(command, launch, start):
    code, said, out = start(command, "--device", "cuda", *MANY_BATCHES, lose=f"0:{launch}:{LOST}").end()
    assert code == 4 and out is None and len(said) == 1
    assert said[0].startswith("readwarp: error: cuda:0 (Emulated card")


@pytest.mark.parametrize(
    "fault", [{"lose": f"0:{TRIAL}:{LOST}"}, {"fail": f"launch:{TRIAL}:{FAILED}"}], ids=["lost", "fails"]
)
def test_a_card_that_does_not_work_from_the_beginning(fault, start):
    code, said, out = start("align", "--device", "cuda", **fault).end()
    assert code == 4 and out is None and len(said) == 1
    assert said[0].startswith("readwarp: error: --device cuda: cuda:0 (Emulated card")
    assert "cannot be used: CudaAPIError: " in said[0]


@pytest.mark.parametrize(("command", "launch"), OF_EACH)
def test_a_kernel_that_fails(command, launch, start):
    code, said, out = start(command, "--device", "cuda", *MANY_BATCHES, fail=f"launch:{launch}:{FAILED}").end()
    assert code == 1 and out is None and len(said) == 1
    assert said[0].startswith("readwarp: error: a kernel failed on cuda:0")


@pytest.mark.parametrize(
    ("command", "threads", "launch"), [("align", 2, 150), ("call", 2, 150), ("call", 4, 30)]
)  # from four on, processes share the cards
def test_one_of_two_cards_is_lost(command, threads, launch, start, capability):
    cards, options = f"{capability}:8G,{capability}:8G", ("--device", "cuda:0,1", "-t", str(threads), *MANY_BATCHES)
    code, said, out = start(command, *options, cards=cards, lose=f"1:{launch}:{LOST}").end()
    assert code == 4 and out is None and len(said) == 1 and "cuda:1" in said[0]


@pytest.mark.parametrize(
    ("command", "number"), [(command, number) for command in ("align", "call", "run") for number in range(3)]
)
def test_interrupted_at_any_moment(command, number, start, expected, capability):
    """Ctrl-C or TERM while cards work: the right exit code, no output, no crash, and no long wait."""
    rng = random.Random(f"{capability} {command} {number}")
    which, code = ((signal.SIGINT, 130), (signal.SIGTERM, 143))[number % 2]
    slow = {"launch_us": 3000, "copy_us": 3000, "seed": number}
    started = start(command, "--device", "cuda", "-t", "4", *MANY_BATCHES, **slow)
    started.wait_for_cards()
    time.sleep(rng.uniform(0.1, 4))
    sent = time.monotonic()
    started.process.send_signal(which)
    ended, _, out = started.end()
    assert time.monotonic() - sent < 60
    # A signal after the command's own work ends Python like any program.
    assert (ended == code and out is None) or (ended in (0, -which) and out == expected[command])
