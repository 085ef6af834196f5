"""Servers that run cases, one for all campaigns of a worker, and one whose kernels check every index."""

from pathlib import Path

import pytest

import emulated_card
import readwarp
from helpers.cards import HAS_GPU
from helpers.command_samples import write_pairs
from helpers.fuzzing import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def checking_server(tmp_path_factory):
    """Its kernels raise IndexError where they would read or write beyond an array."""
    folder = tmp_path_factory.mktemp("checking")
    variables = {"NUMBA_BOUNDSCHECK": "1", "READWARP_CACHE": str(folder / "kernels"), "READWARP_LEVEL": "x86-64"}
    server = Server(folder, **variables)
    yield server
    server.close()


@pytest.fixture(scope="session")
def card_server(tmp_path_factory):
    """Its commands find a card. One compiles the kernels; then it imports what all need, but starts no CUDA itself."""
    folder, source = tmp_path_factory.mktemp("cards"), Path(readwarp.__file__).parents[1]
    server = Server(folder, **({} if HAS_GPU else emulated_card.environment("9.0:8G", checks="")))
    write_pairs(folder, 40)
    server.prepare(folder, ["align", "ref.fa", "r_1.fq", "r_2.fq", "-o", "card.bam", "-q", "--device", "cuda"])
    modules = [".".join(path.relative_to(source).with_suffix("").parts) for path in source.glob("readwarp/**/cuda*.py")]
    for name, reads in (("sam", ["r_1.fq", "r_2.fq"]), ("bam", ["card.bam"])):
        arguments = ["align", "ref.fa", *reads, "-o", f"cpu.{name}", "-q", "--device", "cpu"]
        server.warm_up(folder, arguments, [*modules, "readwarp.device.trial"])
    yield server
    server.close()
