"""Processor levels that kernels are compiled for: a few, each with instructions shared by very many machines.

Machine code of a level is the same wherever it was compiled, and runs on every machine of that level or a higher one.
So it can be shipped, and a home folder may serve nodes of several kinds. Only the level determines which instructions
the compiler may use and how wide vectors are. The levels of x86-64 are those of its psABI (table 3.1), which NumPy,
Linux distributions and glibc use. Results do not depend on the level.

`READWARP_LEVEL` selects a level below the machine's: for tests, and for nodes that must run the same code.

Kernels for cards have a level for each compute capability, such as sm_90, on any machine.
"""

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from readwarp.compiler.cache_folders import release_of, shared_levels
from readwarp.errors import DeviceError, UsageError
from readwarp.system.cgroups import read_text

VARIABLE = "READWARP_LEVEL"
CPUINFO = Path("/proc/cpuinfo")
V2 = frozenset({"cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"})
V3 = V2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
V4 = V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


class Level(NamedTuple):
    """A processor level: what the compiler may assume."""

    name: str
    machine: str  # machine name from uname
    needs: frozenset[str]  # flags of /proc/cpuinfo, which omits what Linux does not enable
    cpu: str  # LLVM's CPU name
    features: str  # LLVM's feature changes to `cpu`
    vector_bytes: int


# By default LLVM splits vectors of 64 bytes for x86-64-v4, because the first machines with AVX-512 lowered their clock
# for them. On later ones, PairHMM in float64 would take 1.6 times as long.
LEVELS = (
    Level("x86-64", "x86_64", frozenset(), "x86-64", "", 16),
    Level("x86-64-v2", "x86_64", V2, "x86-64-v2", "", 16),
    Level("x86-64-v3", "x86_64", V3, "x86-64-v3", "", 32),
    Level("x86-64-v4", "x86_64", V4, "x86-64-v4", "-prefer-256-bit", 64),
    # ARMv8-A: its NEON has all that kernels use (saturating sums, fused multiplication); SVE would be no wider.
    Level("aarch64", "aarch64", frozenset({"asimd"}), "generic", "+neon", 16),
)
BY_NAME = {level.name: level for level in LEVELS}
CARDS = "cuda"  # the machine of their levels


def current_level() -> Level:
    """Return the level for which kernels are loaded, and compiled if missing. Raises UsageError.

    That is READWARP_LEVEL; else the highest that this machine runs and the package or the site has kernels for, so that
    nothing has to be compiled; else the machine's.
    """
    asked = os.environ.get(VARIABLE)
    return named(asked) if asked else _usual_level()


@cache
def _usual_level() -> Level:
    made = shared_levels()
    return next((level for level in reversed(LEVELS) if level.name in made and runs_here(level)), host_level())


@cache
def card_level(capability: tuple[int, int]) -> Level:
    """Return the level of cards of a compute capability, for the CUDA compiler installed here.

    Raises DeviceError if that does not know the capability, and ImportError or RuntimeError if there is none.
    """
    from cuda.bindings import nvrtc

    _, *release = nvrtc.nvrtcVersion()
    known = [divmod(number, 10) for number in nvrtc.nvrtcGetSupportedArchs()[1]]
    if capability not in known:
        compiler, newest, asked = ("{}.{}".format(*each) for each in (release, max(known), capability))
        reason = f"the CUDA compiler installed here ({compiler}) knows compute capabilities up to {newest}, not {asked}"
        raise DeviceError(f"{reason}: update numba-cuda and its CUDA packages")
    name = "sm_{}{}".format(*capability)
    exact = name + "a" * (capability >= (9, 0))  # with the instructions of this capability alone
    made_by = f"numba-cuda-{release_of('numba_cuda')} {release}"
    return Level(name, CARDS, frozenset(), exact, made_by, 16)


def named(name: str) -> Level:
    """Return the level of this name. Raises UsageError; see `card_level`."""
    if re.fullmatch(r"sm_\d{2,}", name):
        return card_level(divmod(int(name[3:]), 10))
    if name not in BY_NAME:
        raise UsageError(f"{name}: unknown processor level; known are {', '.join(BY_NAME)}")
    return BY_NAME[name]


@cache
def host_level() -> Level:
    """Return the highest level of this machine."""
    machine = os.uname().machine
    return highest(machine, cpu_flags()) or Level(machine, machine, frozenset(), "generic", "", 16)


def highest(machine: str, flags: Iterable[str]) -> Level | None:
    """Return the highest level of a machine with these flags; None if no level is known for it."""
    known = frozenset(flags)
    return next((level for level in reversed(LEVELS) if level.machine == machine and level.needs <= known), None)


def runs_here(level: Level) -> bool:
    """Return whether this machine has the instructions of a level; without them, SIGILL would kill the process."""
    return level == host_level() or (level.machine == os.uname().machine and level.needs <= cpu_flags())


def check_runs_here(level: Level) -> None:
    """Raise UsageError unless the level runs here."""
    if not runs_here(level):
        raise UsageError(f"{VARIABLE}: this machine cannot run code for {level.name}, only up to {host_level().name}")


def of_this_kind() -> list[Level]:
    """List all levels of machines such as this one."""
    return [level for level in LEVELS if can_compile(level)] or [host_level()]


def can_compile(level: Level) -> bool:
    """Return whether this machine can compile for a level: it may not run it, but must be of the same architecture."""
    return level.machine == os.uname().machine


@cache
def cpu_flags() -> frozenset[str]:
    """Return the flags of the first processor; none if /proc cannot be read."""
    line = re.search(r"^(?:flags|Features)\s*:(.*)$", read_text(CPUINFO), re.MULTILINE)
    return frozenset(line[1].split() if line else ())
