"""Cores and memory that control groups (cgroups(7), versions 1 and 2) leave to this process.

The limits of every group that the process is in count, and of every group around it: containers, batch systems and
services set them at different levels. Unreadable files set no limit.
"""

from collections.abc import Iterator
from pathlib import Path

PROCESS = Path("/proc/self")
UNLIMITED = 1 << 60  # bytes; version 1 writes about 2^63 for no limit


def cpu_limits() -> Iterator[float]:
    """Yield the cores that quotas allow."""
    for folder in _folders("cpu"):
        quota, period = (*_words(folder / "cpu.max"), "", "")[:2]
        if not quota:
            quota, period = (_word(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        if quota.isdigit() and period.isdigit() and int(period):
            yield int(quota) / int(period)


def memory_limits() -> Iterator[int]:
    """Yield the bytes left below limits. File pages count as left, as in MemAvailable, because they can be evicted."""
    for folder in _folders("memory"):
        limits = [_word(folder / name) for name in ("memory.max", "memory.high", "memory.limit_in_bytes")]
        known = [int(limit) for limit in limits if limit.isdigit() and int(limit) < UNLIMITED]
        used = _word(folder / "memory.current") or _word(folder / "memory.usage_in_bytes")
        if known and used.isdigit():
            words = _words(folder / "memory.stat")
            pages = dict(zip(words[::2], words[1::2], strict=False))
            kinds = ("inactive_file", "active_file")  # an index read twice is active
            files = sum(int(pages.get(f"total_{kind}") or pages.get(kind) or 0) for kind in kinds)
            yield max(0, min(known) - max(0, int(used) - files))


def _folders(controller: str) -> Iterator[Path]:
    """Yield the folders of the groups that this process is in, and of all groups around them."""
    for line in read_text(PROCESS / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")  # [""]: version 2, for all controllers
        if controller not in names and names != [""]:
            continue
        for root, point in _mounts(names):
            folder = point / (Path(path).relative_to(root) if Path(path).is_relative_to(root) else "")
            yield from (each for each in (folder, *folder.parents) if each.is_relative_to(point))


def _mounts(names: list[str]) -> Iterator[tuple[Path, Path]]:
    """Yield root within the hierarchy of these controllers, and mount point (proc_pid_mountinfo(5))."""
    for line in read_text(PROCESS / "mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = (*after.split(), "", "", "")[:3]
        if (kind == "cgroup2") if names == [""] else (kind == "cgroup" and set(names) <= set(options.split(","))):
            root, point = before.split()[3:5]
            yield Path(root), Path(point)


def _word(path: Path) -> str:
    return (*_words(path), "")[0]


def _words(path: Path) -> list[str]:
    return read_text(path).split()


def read_text(path: Path) -> str:
    """Return the text of a file, empty if it cannot be read."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
