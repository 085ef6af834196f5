"""doctor: works anywhere, and names the install line that fits the driver."""

import argparse
from pathlib import Path

import pytest

from readwarp.cli import doctor, main
from readwarp.device.driver import Device, Driver
from readwarp.errors import InputError

CARD = Device("NVIDIA H200", (9, 0), 141 << 30, 140 << 30)


def test_doctor_runs_here(capsys):
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert all(line == line.rstrip() for line in text.splitlines())
    for word in ("processor", "SIMD", "memory", "libraries", "numba", "kernel cache"):
        assert word in text


@pytest.fixture
def numba_cuda(monkeypatch):
    """Whether numba-cuda is installed, as the test says."""
    return lambda is_there: monkeypatch.setattr(doctor, "find_spec", lambda name: is_there or None)


@pytest.mark.parametrize(("cuda", "extra"), [((12, 4), "cuda12"), ((13, 0), "cuda13"), ((14, 1), "cuda13")])
def test_install_line_fits_the_driver(cuda, extra, numba_cuda):
    numba_cuda(False)
    lines = doctor.advise(Driver(cuda, "580.1", (CARD, CARD)), ["numba-cuda is not installed"] * 2)
    assert lines == [
        "readwarp runs on the CPU.",
        "cuda:0, cuda:1 cannot be used: numba-cuda is not installed.",
        "To use the GPU, run in a clone of readwarp:",
        f"  python -m pip install '.[{extra}]'",
    ]


def test_what_is_installed_does_not_work(numba_cuda):
    numba_cuda(True)
    problem = "AttributeError: module 'numpy' has no attribute 'row_stack'"
    lines = doctor.advise(Driver((13, 0), "580.1", (CARD,)), [problem])
    assert lines[:2] == ["readwarp runs on the CPU.", f"cuda:0 cannot be used: {problem}."]
    assert lines[3] == "  python -m pip install --upgrade --upgrade-strategy eager '.[cuda13]'"
    assert "nvidia-smi" in lines[4]


def test_old_driver():
    lines = doctor.advise(Driver((11, 8), None, (CARD,)), ["too old"])
    assert lines[1:] == ["cuda:0 cannot be used: too old.", "Update the driver to one for CUDA 12 or 13."]


def test_no_driver(monkeypatch):
    monkeypatch.setattr(doctor, "has_card", lambda: False)
    assert doctor.advise("no NVIDIA driver (libcuda.so.1)", []) == [
        "readwarp runs on the CPU: no NVIDIA driver (libcuda.so.1).",
        "Nothing is missing.",
    ]
    monkeypatch.setattr(doctor, "has_card", lambda: True)
    assert "Install NVIDIA's driver" in doctor.advise("an NVIDIA card without a driver", [])[1]


def test_usable_gpu():
    assert doctor.advise(Driver((13, 0), None, (CARD,)), [None]) == ["readwarp runs on the GPU."]
    old = Device("Tesla V100", (7, 0), 16 << 30, None)
    lines = doctor.advise(Driver((12, 8), None, (CARD, old)), [None, "it is old"])
    assert lines == ["readwarp runs on the GPU.", "cuda:1 cannot be used: it is old."]


def test_gpu_rows():
    rows = doctor.describe_gpus(Driver((13, 0), "580.65", (CARD,)))
    assert rows == [
        ("CUDA driver", "580.65, up to CUDA 13.0"),
        ("cuda:0", "NVIDIA H200, compute capability 9.0, s16x2 kernels, 141G, 140G of it free"),
    ]
    assert doctor.describe_gpus("no NVIDIA driver") == [("GPU", "no NVIDIA driver")]


def planned(capsys, *options: str) -> str:
    assert main(["doctor", *options]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.cards
def test_plan_of_a_card_that_is_not_here(capsys):
    text = planned(capsys, "--vram", "80G", "--threads", "16")
    assert "an index of 3,100,000,000 bases: 1.5G for bases, 4G for seeds" in text
    assert "16 batches in flight of 33,554,432 bases" in text and "looked up on the card" in text
    assert "at least --vram 1.5G" in text


@pytest.mark.cards
def test_plan_of_a_small_card_seeds_on_the_host(capsys):
    text = planned(capsys, "--vram", "4G", "-t", "4")
    assert "seeds are looked up on the CPU" in text and "batches in flight" in text


@pytest.mark.cards
def test_plan_for_an_index(capsys, reference):
    text = planned(capsys, "--vram", "256M", "--index", f"{reference}.rwx")
    assert "ref.fa.rwx:" in text and "a card with --vram 256M: 3 batches" in text and "on the card" in text


def test_a_plan_without_numba_cuda(capsys, monkeypatch):
    """As most have it, on their own computer."""
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    assert main(["doctor", "--vram", "8G"]) == 4
    assert capsys.readouterr().err.startswith("readwarp: error: a GPU memory plan needs numba-cuda: `pip install")


@pytest.mark.cards
def test_too_little_memory_states_the_minimum(capsys):
    assert main(["doctor", "--vram", "1G"]) == 5
    assert "one batch needs 1.5G" in capsys.readouterr().err


@pytest.mark.cards
def test_plan_of_each_card_that_is_there(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "read_driver", lambda: Driver((13, 0), "580.65", (CARD,)))
    monkeypatch.setattr(doctor, "HUMAN", 10**9)
    options = argparse.Namespace(vram=None, index=Path("missing"), threads=4)
    with pytest.raises(InputError):
        doctor.describe_plan(options, doctor.read_driver())
    options.index = None
    assert doctor.describe_plan(options, doctor.read_driver())[2].startswith("cuda:0 with --vram 112G: 4 batches")
