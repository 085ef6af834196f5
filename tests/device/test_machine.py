"""What the process may use: affinity, SLURM, container limits."""

import os

import pytest

from readwarp.device import machine


@pytest.fixture
def cgroup(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    return tmp_path


def test_threads_by_affinity(cgroup):
    assert machine.usable_threads() == len(os.sched_getaffinity(0))


def test_slurm_grants_fewer(cgroup, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "4")
    assert machine.usable_threads() == 4
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "64")
    assert machine.usable_threads() == 16


@pytest.mark.parametrize(
    ("quota", "threads"), [("max 100000", 16), ("250000 100000", 3), ("50000 100000", 1), ("", 16)]
)
def test_cpu_quota_of_a_container(cgroup, monkeypatch, quota, threads):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))
    (cgroup / "cpu.max").write_text(quota)
    assert machine.usable_threads() == threads


def test_memory_limit_of_a_container(cgroup):
    free = machine.free_memory()
    assert 0 < free <= machine.total_memory()
    (cgroup / "memory.max").write_text("1000000\n")
    (cgroup / "memory.current").write_text("400000\n")
    assert machine.free_memory() == 600000
    (cgroup / "memory.max").write_text("max\n")
    assert machine.free_memory() > 600000


def test_peak_memory_grows():
    before = machine.peak_memory()
    held = bytearray(before + (50 << 20))
    held[::4096] = b"x" * len(held[::4096])
    assert machine.peak_memory() >= before + (50 << 20)


def test_versions_of_libraries():
    versions = machine.library_versions()
    assert versions["numpy"] and versions["numba"]
    assert set(versions) == set(machine.LIBRARIES)
