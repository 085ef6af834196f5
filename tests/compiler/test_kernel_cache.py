"""The cache of compiled kernels: what a key depends on, what is compiled again, what is removed."""

import ast
import os
import re
import shutil
import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec

import pytest

from readwarp.compiler import kernel_cache
from readwarp.compiler.jit import Kernel
from readwarp.compiler.kernel_cache import PACKAGE, dependencies, prune
from readwarp.compiler.levels import named

DECORATED = re.compile(r"^\s*@(kernel|scalar|cuda_kernel|cuda\.jit)\b", re.MULTILINE)
PATHS = [path for path in PACKAGE.rglob("*.py") if DECORATED.search(path.read_text())]
MODULES = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in PATHS]
OF_CARDS = re.compile(r"\bcuda\b|numba\.cuda")
KEYS = """
import sys
from readwarp.compiler.kernel_cache import key_of
from readwarp.compiler.levels import named
print(*(key_of(module, named("x86-64")) for module in sys.argv[1:]))
"""
PENALIZE = """
import numpy as np
from readwarp.call.likelihoods.pairhmm.penalties import gap_penalties
from readwarp.compiler.jit import listen
news = []
with listen(lambda *about: news.append(about)):
    gap_penalties(np.zeros(30, np.uint8), np.array([0, 30]))
print(0 if news else 1)
"""


def test_commands_and_reports_are_in_no_key():
    """But those of the report's own kernels."""
    assert len(MODULES) > 80
    for module in MODULES:
        others = ("readwarp.cli",) if module.startswith("readwarp.report.") else ("readwarp.cli", "readwarp.report")
        assert not [name for name in dependencies(module) if name.startswith(others)]


def names_imported(path):
    """The imports by Python's own parser; `from a import b` gives a and a.b."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_all_imports_are_seen(path):
    module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    names = {name for name in names_imported(path) if name.startswith("readwarp.")}
    assert {name for name in names if kernel_cache._path(name)} == kernel_cache._imports(module)


@pytest.mark.parametrize("module", MODULES)
def test_what_kernels_use_is_in_the_key(module):
    """Functions of the package that a kernel names, wherever they were defined."""
    is_of_cards = OF_CARDS.search((PACKAGE.parent / module.replace(".", "/")).with_suffix(".py").read_text())
    if is_of_cards and find_spec("numba_cuda") is None:
        pytest.skip("needs numba-cuda")
    known = dependencies(module)
    for made in vars(import_module(module)).values():
        if isinstance(made, Kernel) and made.py_func.__module__ == module:
            named = map(made.py_func.__globals__.get, made.py_func.__code__.co_names)
            origins = {getattr(getattr(each, "py_func", each), "__module__", None) or "" for each in named}
            assert {origin for origin in origins if origin.startswith("readwarp")} <= known


@pytest.fixture
def copied(tmp_path):
    """The package copied to a folder, and a function that runs Python on it with its own cache."""
    package = tmp_path / "src" / "readwarp"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"PYTHONPATH": str(package.parent), "READWARP_CACHE": str(tmp_path / "cache")}

    def run(code, *arguments):
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()

    return package, run


def add_a_line(path):
    path.write_text(path.read_text() + "\n# more\n")


def test_keys_change_with_what_is_imported_and_with_nothing_else(copied):
    package, run = copied
    names = [
        f"readwarp.{name}"
        for name in ("pairwise.lanes", "pairwise.groups", "call.likelihoods.pairhmm.scalar", "index.bases")
    ]
    before = run(KEYS, *names)
    add_a_line(package / "cli" / "doctor.py")
    assert run(KEYS, *names) == before
    add_a_line(package / "pairwise" / "scalar.py")  # which the first two import, one of them through the other
    after = run(KEYS, *names)
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, True, True]


def test_a_kernel_is_compiled_anew_where_it_must_be(copied):
    package, run = copied
    assert run(PENALIZE) == ["0"]
    add_a_line(package / "cli" / "doctor.py")
    assert run(PENALIZE) == ["1"]
    add_a_line(package / "call" / "likelihoods" / "pairhmm" / "scalar.py")
    assert run(PENALIZE) == ["0"]
    assert run(PENALIZE) == ["1"]


def test_sources_that_change_while_a_process_runs(copied):
    """Its kernels are not those of the new sources, and are not kept under their key."""
    package, run = copied
    path = package / "call" / "likelihoods" / "pairhmm" / "scalar.py"
    change = "import readwarp.call.likelihoods.pairhmm.penalties, pathlib\n"
    change += f"pathlib.Path({str(path)!r}).open('a').write('# more')\n"
    assert run(change + PENALIZE) == ["0"]  # compiled
    assert not list(package.parent.parent.glob("cache/**/*.kernel"))
    assert run(PENALIZE) == ["0"]
    assert run(PENALIZE) == ["1"]
    assert run(change + PENALIZE) == ["0"]


def test_levels_and_vectors_have_keys_of_their_own(monkeypatch):
    key_of = kernel_cache.key_of.__wrapped__
    keys = {key_of("readwarp.pairwise.lanes", named(name)) for name in ("x86-64", "x86-64-v2", "x86-64-v3", "aarch64")}
    monkeypatch.setenv("READWARP_VECTOR_BYTES", "64")
    assert len(keys | {key_of("readwarp.pairwise.lanes", named("x86-64"))}) == 5


def test_the_compiler_is_known_without_importing_it():
    code = """
import sys
from readwarp.compiler.cache_folders import compiler
name = compiler()
assert not {"numba", "llvmlite"} & set(sys.modules)
import llvmlite, numba
assert name == f"numba-{numba.__version__}-llvmlite-{llvmlite.__version__}-{sys.implementation.cache_tag}", name
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_versions_that_nothing_uses_are_removed(tmp_path):
    """All but the latest three, those in use, and those of a module whose name begins in the same way."""
    days = {"a.b-0": 99, "a.b-1": 80, "a.b-2": 70, "a.b-3": 60, "a.b-4": 40, "a.b-5": 1, "a.b-new": 0, "a.b-c-1": 99}
    for name, age in days.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "kernel.nbi").write_bytes(b"")
        os.utime(folder, (time.time() - age * 86400,) * 2)
    prune(tmp_path / "a.b-new")
    assert {path.name for path in tmp_path.iterdir()} == days.keys() - {"a.b-0", "a.b-1", "a.b-2"}
