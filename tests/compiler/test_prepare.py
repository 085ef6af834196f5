"""Kernels that are compiled before a command begins: which, where, by whom, and what the user is told meanwhile."""

import os
import signal
import subprocess
import sys

import pytest

from helpers.caches import forget_folders
from readwarp.compiler import levels, manifest, prepare, workers
from readwarp.compiler import progress as compile_progress
from readwarp.compiler.manifest import ManifestEntry
from readwarp.compiler.prepare import missing
from readwarp.compiler.progress import Compiling, ProgressLines
from readwarp.compiler.workers import fill, in_order
from readwarp.errors import ReadwarpError

SMALL = ("readwarp.call.likelihoods.pairhmm.penalties:penalize", "u1[:],i8[:],i8[:],i8,(u1[:,:],u1[:]),(u1[:],u1[:])")
ANY = frozenset({"any"})
ALL = manifest.entries()
ENTRIES = [ManifestEntry(*SMALL, 2.0, ANY)]


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """An empty cache, and a command `any` that needs a single small kernel."""
    monkeypatch.setenv("READWARP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(manifest, "entries", lambda: tuple(ENTRIES))
    forget_folders()
    yield tmp_path / "cache"
    forget_folders()


def test_what_is_missing_is_compiled_once(fresh):
    states = []
    assert prepare.prepare("any", 2, states.append) == 1
    assert states[0][:3] == (0, 1, 0.0) and states[-1][:3] == (1, 1, 1.0)
    assert prepare.prepare("any", 2, states.append) == 0 and missing(ENTRIES) == []
    (made,) = fresh.rglob("*.kernel")
    assert made.stat().st_mode & 0o777 == 0o644
    assert prepare.prepare("unknown", 2) == 0


def test_in_python_it_is_said_once_how_long_it_takes_and_took(fresh, capsys):
    prepare.prepare_once.cache_clear()
    prepare.prepare_once("any")
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first == "readwarp: compiling 1 kernel, one time only (about 2 s)"
    assert last.startswith("readwarp: compiled 1 kernel in ") and last.endswith(" s; later runs reuse them")
    prepare.prepare_once("any")
    assert capsys.readouterr().err == ""
    prepare.prepare_once.cache_clear()


def test_a_worker_that_dies_is_no_error(fresh, monkeypatch):
    """The kernel is compiled where it is called."""
    start = workers.Workers.start

    def start_and_kill(*arguments):
        made = start(*arguments)
        made.process.send_signal(signal.SIGKILL)
        return made

    monkeypatch.setattr(workers.Workers, "start", start_and_kill)
    assert prepare.prepare("any", 2, print) == 0
    monkeypatch.setattr(workers.Workers, "start", lambda *_: None)  # no process can be started
    assert prepare.prepare("any", 2, print) == 0


def test_several_processes_compile_each_kernel_once(fresh, monkeypatch):
    """And where one ends, the others go on with the modules that are left."""
    cheap = (entry for entry in ALL if entry.seconds < 0.2)
    good = [entry for entry in cheap if entry.kernel.startswith("readwarp.formats.reads.fastx_chunks:")]
    good += [
        ManifestEntry(*SMALL, 3.0, ANY),
        *(entry for entry in ALL if entry.kernel.startswith("readwarp.rules.bases:")),
    ]
    rows = [entry._replace(seconds=2.0, commands=ANY) for entry in good]
    assert len({entry.kernel.partition(":")[0] for entry in rows}) == 3 and len(rows) >= 5
    bad = ManifestEntry("readwarp.rules.bases:absent", "a\ttab ends the process that reads it", 9.0, ANY)
    monkeypatch.setattr(manifest, "entries", lambda: (bad, *rows))
    states = []
    made = prepare.prepare("any", 3, states.append)
    assert [state.done for state in states] == sorted(state.done for state in states)
    with_bad = [entry for entry in rows if entry.kernel.startswith("readwarp.rules.bases:")]
    assert made == len(rows) - len(with_bad) == len(list(fresh.rglob("*.kernel")))
    monkeypatch.setattr(manifest, "entries", lambda: tuple(rows))
    assert prepare.prepare("any", 3, states.append) == len(with_bad) and missing(rows) == []


def test_a_kernel_that_cannot_be_compiled_is_told_and_the_others_are(fresh, monkeypatch, caplog):
    """Even in its own module, by the same process."""
    good = [entry._replace(commands=ANY) for entry in ALL if entry.kernel.startswith("readwarp.rules.bases:")]
    typed = good[0]._replace(signature="c16", seconds=9.0)  # which no kernel of letters takes
    absent = ManifestEntry("readwarp.rules.bases:absent", "i8", 9.0, ANY)
    monkeypatch.setattr(manifest, "entries", lambda: (absent, typed, *good))
    monkeypatch.setattr(workers.logger, "propagate", True)
    assert prepare.prepare("any", 1, print) == len(good) and missing(good) == []
    told = [record.getMessage() for record in caplog.records]
    assert [line.partition(" cannot be compiled: ")[0] for line in sorted({*told})] == sorted(
        [f"kernel {absent.kernel}", f"kernel {typed.kernel}"]
    )
    assert any("AttributeError: " in line and "'absent'" in line for line in told)
    assert any("Error: " in line and line.count("\n") == 0 for line in told)
    folder = fresh.parent / "all"
    with pytest.raises(ReadwarpError, match=r"^2 of 2 kernels could not be compiled for "):
        fill(folder, manifest.needed_by("any"), levels.host_level(), 1, print)


def test_without_a_folder_to_write_to(fresh, monkeypatch, caplog):
    def refuse():
        raise OSError("no folder for compiled kernels can be written: /a, /b")

    monkeypatch.setattr(prepare.cache_folders, "own_folder", refuse)
    monkeypatch.setattr(prepare.logger, "propagate", True)
    assert prepare.prepare("any", 2) == 0
    assert "no folder for compiled kernels can be written: /a, /b: each run compiles its kernels again" in caplog.text


TOGETHER = """
import sys
from readwarp.compiler import manifest, prepare
from readwarp.compiler.manifest import ManifestEntry
manifest.entries = lambda: (ManifestEntry(*sys.argv[1:3], 2.0, frozenset({"any"})),)
print(prepare.prepare("any", 2))
"""


def test_of_two_cold_starts_one_compiles(tmp_path):
    environment = os.environ | {"READWARP_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", TOGETHER, *SMALL]
    pipe = subprocess.PIPE
    both = [subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) for _ in range(2)]
    (first, told_first), (second, told_second) = (process.communicate(timeout=300) for process in both)
    assert sorted((first, second)) == ["0\n", "1\n"]
    told, holder = (told_first, both[1]) if first == "0\n" else (told_second, both[0])
    assert f"readwarp: waiting for another readwarp (PID {holder.pid} on " in told


def test_modules_stay_together_and_the_longest_come_first():
    entries = [
        ManifestEntry(f"{module}:{k}", "i8", seconds, ANY)
        for k in (1, 2)
        for module, seconds in (("a", 3), ("b", 2), ("c", 4))
    ]
    assert [entry.kernel for entry in in_order(entries)] == ["c:1", "c:2", "a:1", "a:2", "b:1", "b:2"]


def test_lines_are_said_every_ten_seconds(monkeypatch):
    clock, said = [1000.0], []
    monkeypatch.setattr(compile_progress.time, "monotonic", lambda: clock[0])
    lines = ProgressLines(said.append)
    for seconds, state in (
        (0, Compiling(0, 9, 0.0, 22.4)),
        (3, Compiling(1, 9, 0.1, 20.0)),
        (7, Compiling(4, 9, 0.5, 9.8)),
        (1, Compiling(4, 9, 0.5, 9.8, "PID 7 on node3")),
        (1, Compiling(4, 9, 0.5, 9.8, "PID 7 on node3")),
    ):
        clock[0] += seconds
        lines(state)
    assert said == [
        "compiling 9 kernels, one time only (about 22 s)",
        "compiling kernels: 4 of 9, about 10 s left",
        "waiting for another readwarp (PID 7 on node3) to compile kernels",
    ]


def test_a_folder_is_filled_for_a_level(fresh, tmp_path):
    """Which need not be this machine's; what another folder has is copied."""
    other = levels.LEVELS[0] if levels.host_level() != levels.LEVELS[0] else levels.LEVELS[1]
    folder = tmp_path / "kernels"
    assert fill(folder, manifest.needed_by("any"), other, 1, print) == (0, 1, 0)
    assert fill(folder, manifest.needed_by("any"), other, 1, print) == (0, 0, 1)
    assert not fresh.exists() or not list(fresh.rglob("*.kernel"))
    assert fill(folder, manifest.needed_by("any"), levels.host_level(), 1, print) == (0, 1, 0)
    assert [path.relative_to(folder).parts[1] for path in sorted(folder.rglob("*.kernel"))] == sorted(
        [other.name, levels.host_level().name]
    )
    prepare.prepare("any", 1, print)
    assert fill(tmp_path / "more", manifest.needed_by("any"), levels.host_level(), 1, print) == (1, 0, 0)


def test_kernels_are_loaded_for_processes_to_come(fresh):
    """In a process of its own, whose kernels are not loaded yet."""
    program = """
import os
from readwarp.compiler import manifest, prepare
from readwarp.compiler.jit import kernel_of
from readwarp.compiler.manifest import ManifestEntry
manifest.entries = lambda: (ManifestEntry(*{small!r}, 2.0, frozenset({{"any"}})),)
kernel = kernel_of({small!r}[0])
before = dict(kernel._by_signature)
prepare.load_kernels("other")
assert before == kernel._by_signature == {{}}
prepare.load_kernels("any")
loaded = kernel._by_signature[{small!r}[1]]
prepare.load_kernels("any")
print(callable(loaded), kernel._by_signature[{small!r}[1]] is loaded)
"""
    command = [sys.executable, "-c", program.format(small=SMALL)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["True", "True"]
