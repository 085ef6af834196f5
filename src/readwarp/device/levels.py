"""For which processors kernels are compiled: a few levels, each the instructions that very many machines share.

Machine code of a level is the same wherever it was compiled, and runs on every machine of that level or a higher one.
So it can be shipped, and a home folder may serve nodes of several kinds. Nothing but the level says which instructions
the compiler may use and how wide vectors are. Levels of x86-64 are those of its psABI (table 3.1), with which NumPy,
Linux distributions and glibc build. Results do not depend on the level.

`READWARP_LEVEL` asks for a lower level than the machine's: for tests, and for nodes that must run the same code.
"""

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from readwarp.device.cache_folders import shared_levels
from readwarp.errors import UsageError

VARIABLE = "READWARP_LEVEL"
CPUINFO = Path("/proc/cpuinfo")
V2 = frozenset({"cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"})
V3 = V2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
V4 = V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


class Level(NamedTuple):
    """What the compiler may take for granted."""

    name: str
    machine: str  # as uname names it
    needs: frozenset[str]  # flags of /proc/cpuinfo, where Linux leaves out what it does not enable
    cpu: str  # of LLVM
    features: str  # of LLVM, changes to those of `cpu`
    vector_bytes: int


# LLVM takes vectors of 64 bytes apart for x86-64-v4 unless it is told otherwise, because the first machines with
# AVX-512 lowered their clock for them. On later ones, PairHMM in float64 would take 1.6 times as long.
LEVELS = (
    Level("x86-64", "x86_64", frozenset(), "x86-64", "", 16),
    Level("x86-64-v2", "x86_64", V2, "x86-64-v2", "", 16),
    Level("x86-64-v3", "x86_64", V3, "x86-64-v3", "", 32),
    Level("x86-64-v4", "x86_64", V4, "x86-64-v4", "-prefer-256-bit", 64),
    # ARMv8-A: its NEON has all that kernels use (saturating sums, fused multiplication); SVE would not be wider.
    Level("aarch64", "aarch64", frozenset({"asimd"}), "generic", "+neon", 16),
)
BY_NAME = {level.name: level for level in LEVELS}


def current_level() -> Level:
    """For which kernels are loaded, and compiled if they are missing. Raises UsageError.

    That of READWARP_LEVEL; else the highest that this machine runs of those that the package or the site has kernels
    for, so that nothing has to be compiled; else the machine's.
    """
    asked = os.environ.get(VARIABLE)
    return named(asked) if asked else _usual_level()


@cache
def _usual_level() -> Level:
    made = shared_levels()
    return next((level for level in reversed(LEVELS) if level.name in made and runs_here(level)), host_level())


def named(name: str) -> Level:
    """Raises UsageError."""
    if name not in BY_NAME:
        raise UsageError(f"{name}: unknown processor level; known are {', '.join(BY_NAME)}")
    return BY_NAME[name]


@cache
def host_level() -> Level:
    """The highest level of this machine."""
    machine = os.uname().machine
    return highest(machine, cpu_flags()) or Level(machine, machine, frozenset(), "generic", "", 16)


def highest(machine: str, flags: Iterable[str]) -> Level | None:
    """Of a machine with these flags; None where no level is known for it."""
    known = frozenset(flags)
    return next((level for level in reversed(LEVELS) if level.machine == machine and level.needs <= known), None)


def runs_here(level: Level) -> bool:
    """Whether this machine has the instructions of a level. To run it elsewhere is to be killed by SIGILL."""
    return level == host_level() or (level.machine == os.uname().machine and level.needs <= cpu_flags())


def check_runs_here(level: Level) -> None:
    """Raises UsageError."""
    if not runs_here(level):
        raise UsageError(f"{VARIABLE}: this machine cannot run code for {level.name}, only up to {host_level().name}")


def of_this_kind() -> list[Level]:
    """All levels of machines such as this one."""
    return [level for level in LEVELS if can_compile(level)] or [host_level()]


def can_compile(level: Level) -> bool:
    """Whether this machine can compile for a level: it need not be able to run it, but kernels are of its own kind."""
    return level.machine == os.uname().machine


@cache
def cpu_flags() -> frozenset[str]:
    """Of the first processor; none where /proc cannot be read."""
    try:
        text = CPUINFO.read_text()
    except OSError:
        return frozenset()
    line = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return frozenset(line[1].split() if line else ())


def environment(level: Level) -> Mapping[str, str]:
    """Variables of a process that compiles for a level; they must be set before it imports Numba."""
    return {VARIABLE: level.name, "NUMBA_CPU_NAME": level.cpu, "NUMBA_CPU_FEATURES": level.features}
