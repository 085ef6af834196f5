"""Fixtures shared by all tests. Without a GPU, CUDA kernels run under Numba's simulator."""

import os
from pathlib import Path

import pytest

HAS_GPU = Path("/dev/nvidiactl").exists()
if not HAS_GPU:
    os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

TEST_DATA = Path(__file__).resolve().parent.parent / "test_data"


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the slow tests too")
    parser.addoption("--simulated", action="store_true", help="run the gpu tests in the CUDA simulator, at tiny sizes")


def pytest_collection_modifyitems(config, items):
    skip_slow = pytest.mark.skip(reason="slow: needs --slow")
    skip_gpu = pytest.mark.skip(reason="needs a CUDA device")
    for item in items:
        if "slow" in item.keywords and not config.getoption("--slow"):
            item.add_marker(skip_slow)
        if "gpu" in item.keywords and not HAS_GPU and not config.getoption("--simulated"):
            item.add_marker(skip_gpu)


@pytest.fixture(scope="session")
def test_data() -> Path:
    return TEST_DATA


@pytest.fixture(scope="session", autouse=True)
def grids_of_plain_integers():
    """A card's launches refuse grids of NumPy's integers, which the simulator takes."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM") != "1":
        yield
        return
    from numba.cuda.simulator.kernel import FakeCUDAKernel

    configured = FakeCUDAKernel.__getitem__

    def checked(kernel, configuration):
        assert all(type(size) is int for size in configuration[:2]), f"{kernel.fn.__name__}: {configuration[:2]}"
        return configured(kernel, configuration)

    FakeCUDAKernel.__getitem__ = checked
    yield
    FakeCUDAKernel.__getitem__ = configured
