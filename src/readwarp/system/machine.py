"""Resources of this machine for the process: cores, memory, SIMD, libraries. For the planner and `doctor`."""

import os
import re
from contextlib import suppress
from math import ceil
from pathlib import Path

from readwarp.system.cgroups import cpu_limits, memory_limits, read_text

LIBRARIES = ("numba", "llvmlite", "numpy", "numba-cuda", "pysam", "dnaio", "isal", "biopython", "rich")
SIMD = {  # by LLVM's names, widest first
    "avx512bw": "AVX-512 (64 lanes of 8 bits)",
    "avx2": "AVX2 (32 lanes of 8 bits)",
    "neon": "NEON (16 lanes of 8 bits)",
    "sse4.2": "SSE4.2 (16 lanes of 8 bits)",
}


def usable_threads() -> int:
    """Return the cores in the affinity mask, or fewer if SLURM or a CPU quota allows fewer; at least 1."""
    limits = [len(os.sched_getaffinity(0)), *map(ceil, cpu_limits())]
    return max(1, min([*limits, _granted("SLURM_CPUS_PER_TASK") or limits[0]]))


def free_memory() -> int:
    """Return the bytes that this process may still take: the system's free memory, or less within SLURM or a group."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", read_text(Path("/proc/meminfo")), re.MULTILINE)
    available = int(match[1]) * 1024 if match else os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(available, *memory_limits(), _granted_memory() or available)


def _granted_memory() -> int:
    """Return the bytes of this SLURM job on this node, or 0 if unset. Without groups, SLURM ends larger jobs."""
    by_cpu = _granted("SLURM_MEM_PER_CPU") * (_granted("SLURM_CPUS_ON_NODE") or _granted("SLURM_CPUS_PER_TASK"))
    return (_granted("SLURM_MEM_PER_NODE") or by_cpu) << 20


def _granted(name: str) -> int:
    """Return an integer environment variable, else 0."""
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else 0


def total_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def peak_memory() -> int:
    """Return the peak resident bytes of this process."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def private_memory(pid: int) -> int:
    """Return the peak of another process's private bytes: the present ones plus the shrinkage of its memory."""
    lines = read_text(Path(f"/proc/{pid}/smaps_rollup")) + read_text(Path(f"/proc/{pid}/status"))
    kilobytes = {name: int(number) for name, number in re.findall(r"^(\w+):\s+(\d+) kB", lines, re.MULTILINE)}
    own, peak, now = (kilobytes.get(name, 0) for name in ("Private_Dirty", "VmHWM", "VmRSS"))
    return 1024 * (own + max(0, peak - now))


def processor() -> str:
    match = re.search(r"^model name\s*:\s*(.+)$", read_text(Path("/proc/cpuinfo")), re.MULTILINE)
    return match[1].strip() if match else os.uname().machine


def simd() -> str:
    """Name the widest vector instructions the compiler may use here."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    return next((name for feature, name in SIMD.items() if features.get(feature)), "none known")


def library_versions() -> dict[str, str | None]:
    """Return the version of each library, None if not installed."""
    from importlib import metadata  # loads the mail parser

    versions: dict[str, str | None] = dict.fromkeys(LIBRARIES)
    for name in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions
