"""A card works if a small kernel runs there; if not, why, and who is told."""

import subprocess
import sys

import pytest

pytest.importorskip("numba_cuda")
import emulated_card
from helpers.cards import HAS_GPU
from readwarp.device import backend as backends
from readwarp.device import cuda_driver, trial
from readwarp.device.backend import Backend, choose
from readwarp.device.driver import Device, Driver
from readwarp.errors import DeviceError, PinnedMemoryError

pytestmark = pytest.mark.cards
emulated = pytest.mark.skipif(HAS_GPU, reason="a real card has no faults on demand")
NEWER, NEWER_PTX = 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"  # the compiler is newer than the driver


def test_a_card_that_works_and_has_all_its_memory_back():
    with Backend("cuda", (0,)).on():
        before = cuda_driver.memory_info()[0]
    assert backends.problem_of.__wrapped__(0) is None
    with Backend("cuda", (0,)).on():
        assert cuda_driver.memory_info()[0] == before


def raising(error):
    def run(device):
        raise error

    return run


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (lambda device: False, "a small test kernel gave a wrong result"),
        (raising(AttributeError("numpy has no\n attribute 'x'")), "AttributeError: numpy has no attribute 'x'"),
        (raising(ImportError("libnvvm.so")), "ImportError: libnvvm.so"),
        (raising(DeviceError("it is lost")), "it is lost"),
        (raising(PinnedMemoryError("the host is full")), None),
    ],
)  # fmt: skip
def test_what_is_wrong(run, reason, monkeypatch):
    monkeypatch.setattr(trial, "run", run)
    assert backends.problem_of.__wrapped__(0) == reason


def test_what_is_known_without_a_kernel(monkeypatch):
    card = Device("H200", (9, 0), 1 << 37, None)
    for driver, reason in (
        ("no NVIDIA driver", "no NVIDIA driver"),
        (Driver((13, 0), None, ()), "the driver shows no device to this process"),
        (Driver((11, 8), None, (card,)), "the driver supports CUDA 11.8 at most, but 12 is needed"),
        (Driver((13, 0), None, (card,)), None),
    ):
        monkeypatch.setattr(backends, "_driver", lambda driver=driver: driver)
        assert backends.unusable() == reason
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    assert backends.unusable() == "numba-cuda is not installed"


@pytest.fixture
def an_old_and_a_new_card(monkeypatch, tmp_path):
    shown = Device("V100", (7, 0), 1 << 34, None, "a"), Device("T4", (7, 5), 1 << 34, None, "b")
    monkeypatch.setattr(backends, "_driver", lambda: Driver((13, 0), None, shown))
    monkeypatch.setattr(backends, "_claims", {})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(trial, "run", lambda device: True)
    backends.problem_of.cache_clear()
    yield
    backends.release_devices(list(backends._claims))
    backends.problem_of.cache_clear()


def test_a_card_that_is_too_old_is_not_taken(an_old_and_a_new_card):
    assert choose("cuda") == Backend("cuda", (1,))
    with pytest.raises(
        DeviceError, match=r"^--device cuda:0: cuda:0 \(V100\) .* capability is 7.0, but 7.5 is needed$"
    ):
        choose("cuda:0")
    assert backends.problems()[1] is None


def test_a_card_that_cannot_be_used_is_left_to_others(an_old_and_a_new_card, monkeypatch):
    monkeypatch.setattr(trial, "run", raising(ImportError("libnvvm.so")))
    with pytest.raises(DeviceError, match=r"^--device cuda:1: .* cannot be used: ImportError: libnvvm.so$"):
        choose("cuda:1")
    assert backends._claims == {}


@emulated
def test_the_compiler_is_newer_than_the_driver(tmp_path):
    """auto says so and takes the CPU, cuda ends with 4, and doctor does not promise the GPU."""
    pairs = tmp_path / "pairs.fa"
    pairs.write_text(">q\nACGTACGTAC\n")
    environment = emulated_card.environment("9.0:1G", fail=f"cuLibraryLoadData:1:{NEWER}")

    def run(*arguments):
        command = [sys.executable, "-m", "readwarp", *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr.splitlines()[-1:]

    problem = (
        f"cuda:0 (Emulated card 9.0) cannot be used: CudaAPIError: Call to cuLibraryLoadData results in {NEWER_PTX}"
    )
    code, found, said = run("pairwise", pairs, pairs)
    assert (code, found.split("\t")[2:3]) == (0, ["10"])
    assert said == [f"readwarp: there is a GPU, but {problem}; continuing on the CPU"]
    assert run("pairwise", pairs, pairs, "--device", "cuda") == (4, "", [f"readwarp: error: --device cuda: {problem}"])
    code, found, _ = run("doctor")
    assert code == 0 and "readwarp runs on the CPU.\ncuda:0 cannot be used: CudaAPIError: " in found


WITHOUT_ROW_STACK = """
import numpy as np
vars(np).pop("row_stack", None)
from readwarp.device import backend
print(backend.problems(), hasattr(np, "row_stack"))
"""


@pytest.mark.skipif(HAS_GPU, reason="on a machine's card, whichever NumPy is installed")
def test_numpy_no_longer_has_what_numba_cuda_wants():
    """As NumPy 2.5, whose deprecations, which numba-cuda meets, are no errors. Nothing is left in NumPy."""
    environment = emulated_card.environment("9.0:1G")
    command = [sys.executable, "-W", "error", "-c", WITHOUT_ROW_STACK]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[None] False\n", 0), done.stdout + done.stderr


@emulated
def test_a_card_newer_than_the_compiler_is_a_message():
    environment = emulated_card.environment("15.0:1G")
    command = [sys.executable, "-m", "readwarp", "compile", "--command", "pair_hmm"]
    for capability in ([], ["--capability", "15.0"]):
        done = subprocess.run([*command, *capability], env=environment, capture_output=True, text=True)
        assert done.returncode == 4 and done.stderr.startswith("readwarp: error: the CUDA compiler installed here (")
        assert (
            " knows compute capabilities up to 12.1, not 15.0: update numba-cuda and its CUDA packages" in done.stderr
        )
    done = subprocess.run([*command[:3], "doctor"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "cuda:0 cannot be used: the CUDA compiler installed here (" in done.stdout
