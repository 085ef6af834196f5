"""Limits of control groups: trees of files as systems have them, and a real group where this process may make one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from readwarp.system import cgroups

V2 = "30 23 0:26 {root} {point} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "31 23 0:27 {root} {point} rw shared:9 - cgroup cgroup rw,{names}\n"
NONE = "9223372036854771712"


@pytest.fixture
def process(tmp_path, monkeypatch):
    """The folder that stands for /proc/self."""
    folder = tmp_path / "self"
    folder.mkdir()
    monkeypatch.setattr(cgroups, "PROCESS", folder)
    return folder


def fill(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def found() -> tuple[list[float], list[int]]:
    return list(cgroups.cpu_limits()), list(cgroups.memory_limits())


def test_version_2_with_limits_at_several_levels(process, tmp_path):
    """A service has a limit of memory, the slice around it one of cores; the root has no such files."""
    mount = fill(tmp_path / "fs")
    fill(mount / "a.slice", cpu__max="250000 100000\n", memory__max="max\n", memory__current="5\n")
    stat = "anon 100\nfile 900\ninactive_file 300\nactive_file 500\n"
    service = mount / "a.slice" / "b.service"
    fill(service, cpu__max="max 100000\n", memory__max="10000\n", memory__high="8000\n")
    fill(service, memory__current="1000\n", memory__stat=stat)
    fill(process, cgroup="0::/a.slice/b.service\n", mountinfo=V2.format(root="/", point=mount))
    assert found() == ([2.5], [8000 - 200])


def test_version_2_in_a_container(process, tmp_path):
    """With a namespace of its own, the container's group is the root of what it sees."""
    mount = fill(tmp_path / "fs", cpu__max="50000 100000", memory__max="4096", memory__current="5000")
    fill(process, cgroup="0::/\n", mountinfo=V2.format(root="/", point=mount))
    assert found() == ([0.5], [0])


def test_version_1(process, tmp_path):
    cpu, memory = tmp_path / "cpu,cpuacct", tmp_path / "memory"
    fill(cpu / "job", **{"cpu__cfs_quota_us": "150000\n", "cpu__cfs_period_us": "100000\n"})
    fill(cpu, **{"cpu__cfs_quota_us": "-1\n", "cpu__cfs_period_us": "100000\n"})
    fill(memory, **{"memory__limit_in_bytes": NONE, "memory__usage_in_bytes": "7"})
    fill(memory / "job", **{"memory__limit_in_bytes": "5000", "memory__usage_in_bytes": "1500"})
    fill(
        memory / "job" / "step",
        **{
            "memory__limit_in_bytes": NONE,
            "memory__usage_in_bytes": "1400",
            "memory__stat": "total_inactive_file 9\nactive_file 7\n",
        },
    )
    lines = V1.format(root="/", point=cpu, names="cpu,cpuacct") + V1.format(root="/", point=memory, names="memory")
    text = "7:pids:/elsewhere\n4:memory:/job/step\n2:cpu,cpuacct:/job\n0::/\n"
    fill(process, cgroup=text, mountinfo=lines)
    assert found() == ([1.5], [3500])


def test_version_1_in_a_container(process, tmp_path):
    """Without a namespace: the path is that of the host, of which the container sees its own part."""
    memory = fill(tmp_path / "memory", **{"memory__limit_in_bytes": "5000", "memory__usage_in_bytes": "1500"})
    line = V1.format(root="/docker/0123", point=memory, names="memory")
    fill(process, cgroup="4:memory:/docker/0123\n", mountinfo=line)
    assert found() == ([], [3500])


def test_nothing_is_known(process):
    assert found() == ([], [])
    fill(process, cgroup="0::/a\n", mountinfo=V2.format(root="/", point="/nowhere"))
    assert found() == ([], [])


def test_a_real_group():
    """A process in a group of 300 MB and half a core knows of both."""
    mounts = {names: point for names in (("memory",), ("cpu",)) for _, point in cgroups._mounts(list(names))}
    if len(mounts) < 2 or os.getuid() != 0:
        pytest.skip("needs root and cgroups of version 1")
    files = {
        ("memory",): {"memory.limit_in_bytes": str(300 << 20)},
        ("cpu",): {"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"},
    }
    made = []
    try:
        for names, point in mounts.items():
            folder = point / f"readwarp-test-{os.getpid()}"
            try:
                folder.mkdir()
            except OSError as error:
                pytest.skip(f"no group can be made here ({error.strerror})")
            made.append(folder)
            for name, text in files[names].items():
                (folder / name).write_text(text)
        code = "from readwarp.system import machine; print(machine.usable_threads(), machine.free_memory())"
        entries = " && ".join(f"echo $$ >{folder}/cgroup.procs" for folder in made)
        command = ["sh", "-c", f"{entries} && exec {sys.executable} -c '{code}'"]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert answer[0] == "1" and 200 << 20 < int(answer[1]) <= 300 << 20
    finally:
        for folder in made:
            folder.rmdir()
