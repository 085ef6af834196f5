"""Servers that run cases, one for all campaigns of a worker, and one whose kernels check every index."""

import pytest

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
