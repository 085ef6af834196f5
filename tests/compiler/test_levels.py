"""Levels of processors: which one a machine has, and what it means to the compiler."""

import os

import pytest
from llvmlite import binding

from readwarp.compiler import levels
from readwarp.errors import UsageError

HASWELL = (  # /proc/cpuinfo of a Xeon E5-2680 v3, shortened
    "fpu sse sse2 pni ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt xsave avx f16c lahf_lm abm bmi1 avx2 bmi2"
)
NEHALEM = "fpu sse sse2 pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm"
LLVM_NAMES = {"pni": "sse3", "sse4_1": "sse4.1", "sse4_2": "sse4.2", "lahf_lm": "sahf", "abm": "lzcnt", "bmi1": "bmi"}


@pytest.mark.parametrize(
    ("machine", "flags", "level"),
    [
        ("x86_64", "fpu sse sse2", "x86-64"),  # kvm64
        ("x86_64", NEHALEM, "x86-64-v2"),
        ("x86_64", HASWELL, "x86-64-v3"),
        ("x86_64", f"{HASWELL} avx512f avx512cd avx512er avx512pf", "x86-64-v3"),  # Xeon Phi
        ("x86_64", f"{HASWELL} avx512f avx512bw avx512cd avx512dq avx512vl avx512_vnni", "x86-64-v4"),
        ("x86_64", HASWELL.replace("movbe", ""), "x86-64-v2"),
        ("aarch64", "fp asimd evtstrm aes crc32 atomics sve", "aarch64"),
        ("riscv64", "", None),
    ],
)
def test_level_of_a_machine(machine, flags, level):
    found = levels.highest(machine, flags.split())
    assert (found.name if found else None) == level


def test_other_machines_have_a_level_of_their_own(monkeypatch):
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "host", "6", "1", "riscv64")))
    found = levels.host_level.__wrapped__()
    assert (found.name, found.cpu, found.vector_bytes) == ("riscv64", "generic", 16)


@pytest.mark.parametrize("level", levels.LEVELS, ids=lambda level: level.name)
def test_flags_are_those_that_llvm_sees(level):
    """Another program's reading of the same processor."""
    if level.machine != os.uname().machine or level.machine == "aarch64":
        pytest.skip("of another machine")
    features = binding.get_host_cpu_features()
    assert levels.runs_here(level) == all(features.get(LLVM_NAMES.get(flag, flag)) for flag in level.needs)


def test_levels_are_known_to_llvm(capfd):
    """LLVM only warns of a processor or feature that it does not know."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    for level in levels.LEVELS:
        target = binding.Target.from_triple(f"{level.machine}-unknown-linux-gnu")
        target.create_target_machine(cpu=level.cpu, features=level.features)
    assert capfd.readouterr().err == ""


def test_a_level_is_asked_for(monkeypatch):
    monkeypatch.setenv("READWARP_LEVEL", "x86-64-v2")
    assert levels.current_level().name == "x86-64-v2"
    monkeypatch.setenv("READWARP_LEVEL", "x86-64-v9")
    with pytest.raises(UsageError, match="x86-64-v9: unknown processor level; known are x86-64, x86-64-v2"):
        levels.current_level()
    monkeypatch.delenv("READWARP_LEVEL")
    assert levels.current_level() == levels.host_level()


def test_a_level_above_the_machine_is_refused(monkeypatch):
    monkeypatch.setattr(levels, "host_level", lambda: levels.named("x86-64-v2"))
    monkeypatch.setattr(levels, "cpu_flags", lambda: levels.V2)
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "host", "6", "1", "x86_64")))
    levels.check_runs_here(levels.named("x86-64"))
    with pytest.raises(UsageError, match="cannot run code for x86-64-v4, only up to x86-64-v2"):
        levels.check_runs_here(levels.named("x86-64-v4"))
    assert levels.can_compile(levels.named("x86-64-v4"))
    assert not levels.can_compile(levels.named("aarch64"))
