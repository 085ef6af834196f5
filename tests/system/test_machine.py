"""What the process may use: affinity, SLURM, container limits."""

import os

import pytest

from readwarp.system import cgroups, machine


@pytest.fixture(autouse=True)
def no_limits(monkeypatch, tmp_path):
    monkeypatch.setattr(cgroups, "PROCESS", tmp_path)
    for name in ("CPUS_PER_TASK", "CPUS_ON_NODE", "MEM_PER_NODE", "MEM_PER_CPU"):
        monkeypatch.delenv(f"SLURM_{name}", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))
    return tmp_path


def test_threads_by_affinity():
    assert machine.usable_threads() == 16


def test_slurm_grants_fewer(monkeypatch):
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "4")
    assert machine.usable_threads() == 4
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "64")
    assert machine.usable_threads() == 16


@pytest.mark.parametrize("limits", [(), (0.5,), (2.5, 8.0), (40.0,)])
def test_quotas_grant_fewer(monkeypatch, limits):
    monkeypatch.setattr(machine, "cpu_limits", lambda: iter(limits))
    assert machine.usable_threads() == {(): 16, (0.5,): 1, (2.5, 8.0): 3, (40.0,): 16}[limits]


def test_memory_by_groups_and_slurm(monkeypatch):
    free = machine.free_memory()
    assert 0 < free <= machine.total_memory()
    monkeypatch.setattr(machine, "memory_limits", lambda: iter([900 << 20, 600 << 20]))
    assert machine.free_memory() == 600 << 20
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "500")
    assert machine.free_memory() == 500 << 20
    monkeypatch.delenv("SLURM_MEM_PER_NODE")
    monkeypatch.setenv("SLURM_MEM_PER_CPU", "100")
    assert machine.free_memory() == 600 << 20  # of how many cores is not known
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", "2")
    assert machine.free_memory() == 200 << 20


def test_peak_memory_grows():
    before = machine.peak_memory()
    held = bytearray(before + (50 << 20))
    held[::4096] = b"x" * len(held[::4096])
    assert machine.peak_memory() >= before + (50 << 20)


def test_versions_of_libraries():
    versions = machine.library_versions()
    assert versions["numpy"] and versions["numba"]
    assert set(versions) == set(machine.LIBRARIES)
