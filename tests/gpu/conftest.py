"""Fixtures of tests on a card. Each test runs on the machine's GPU, or on emulated cards of each capability in turn."""

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import emulated_card
from helpers.cards import CAPABILITIES, HAS_GPU
from helpers.random_reads import letters, pair

Run = Callable[..., bytes]
WHOLE_COMMANDS = {"test_commands.py", "test_sanitizer.py", "test_signatures.py"}  # which need almost all kernels


@dataclass(frozen=True, slots=True)
class Inputs:
    reference: Path
    reads: tuple[Path, ...]
    records: int  # primary ones that these reads make


def pytest_generate_tests(metafunc):
    if "capability" in metafunc.fixturenames:
        asked = metafunc.config.getoption("--capabilities").split(",")
        if metafunc.definition.get_closest_marker("any_capability") and not metafunc.config.getoption("--weekly"):
            asked = asked[:1]
        each = ["real"] if HAS_GPU else asked
        if metafunc.definition.path.name in WHOLE_COMMANDS:  # no two processes compile the same at once
            each = [pytest.param(one, marks=pytest.mark.xdist_group(f"commands-{one}")) for one in each]
        metafunc.parametrize("capability", each, scope="session")


def pytest_collection_modifyitems(items):
    """Commands with faults run last: by then, the kernels that they need are on disk."""
    items.sort(key=lambda item: item.path.name == "test_faults.py")


@pytest.fixture(scope="session")
def is_emulated() -> bool:
    return not HAS_GPU


@pytest.fixture(scope="session")
def scale() -> int:
    """How much less work is done on an emulated card."""
    return 1 if HAS_GPU else 10


@pytest.fixture(scope="session")
def device(capability) -> str:
    """The card of that capability in this process, as --device takes it."""
    return "cuda" if HAS_GPU else f"cuda:{CAPABILITIES.index(capability)}"


@pytest.fixture(scope="session")
def readwarp(capability) -> Run:
    """Run the command line in a process of its own, as users do, and return its stdout. Fails with its stderr.

    cards, checks and so on are those of emulated_card.Options.
    """

    def run(*arguments: object, cards: str = f"{capability}:8G", **options: object) -> bytes:
        environment = None if HAS_GPU else emulated_card.environment(cards, **{"checks": "", **options})
        command = [sys.executable, "-m", "readwarp", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, env=environment)
        assert done.returncode == 0, done.stderr.decode()
        assert b"emulated card:" not in done.stderr, done.stderr.decode()
        return done.stdout

    return run


@pytest.fixture(scope="session")
def made_reads(tmp_path_factory, scale) -> Inputs:
    """Pairs from a random genome with repeats: errors, indels, N, short reads, and mates without seeds."""
    folder, rng = tmp_path_factory.mktemp("made"), random.Random(11)
    length, pairs = 2_000_000 // scale, 20_000 // scale
    unit = letters(rng, 400)
    genome = "".join(letters(rng, length // 10 - len(unit)) + unit for _ in range(10))
    reference = folder / "ref.fa"
    reference.write_text(f">one\n{genome}\n")
    files = [folder / f"reads_{mate}.fq" for mate in (1, 2)]
    with files[0].open("w") as first, files[1].open("w") as last:
        for number in range(pairs):
            for file, mate in zip((first, last), pair(rng, genome, number), strict=True):
                file.write(f"@r{number}\n{mate}\n+\n{'I' * len(mate)}\n")
    subprocess.run([sys.executable, "-m", "readwarp", "index", str(reference), "-q"], check=True)
    return Inputs(reference, tuple(files), 2 * pairs)
