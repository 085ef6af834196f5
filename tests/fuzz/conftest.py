"""Servers that run cases, one for all campaigns of a worker, and one whose kernels check every index."""

import pytest

import emulated_card
from helpers.cards import HAS_GPU
from helpers.command_samples import CONTIGS, fasta, pairs, record
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
    """Its commands find a card; the first one, in a process of its own like all, compiles the kernels."""
    folder = tmp_path_factory.mktemp("cards")
    server = Server(folder, **({} if HAS_GPU else emulated_card.environment("9.0:8G", checks="")))
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    for mate in (1, 2):
        (folder / f"r_{mate}.fq").write_text("".join(record(pair[0], pair[mate]) for pair in pairs(40)))
    server.prepare(folder, ["align", "ref.fa", "r_1.fq", "r_2.fq", "-o", "o.bam", "-q", "--device", "cuda"])
    yield server
    server.close()
