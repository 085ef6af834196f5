"""The folder stands alone: it imports nothing of what surrounds it, and works where nothing does."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulated_card import HAS_GPU

FOLDER = Path(__file__).resolve().parents[1]
SOURCES = sorted(FOLDER.rglob("*.py"))
NEEDED = {"cuda", "llvmlite", "numba", "numpy"}  # and for tests:
FOR_TESTS = {"hypothesis", "pytest"}


def imports(path: Path) -> Iterator[str]:
    """First parts of the names of what a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0] if node.level == 0 else "relative"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_imports_are_of_this_folder_and_of_what_it_needs(path):
    is_test = FOLDER / "tests" in path.parents or path.name == "pytest_plugin.py"
    known = sys.stdlib_module_names | {FOLDER.name} | NEEDED | (FOR_TESTS if is_test else set())
    assert set(imports(path)) <= known


def test_nothing_here_names_the_program_around_it():
    texts = {path: path.read_text().lower() for path in [*SOURCES, *FOLDER.glob("*.[ch]"), FOLDER / "README.md"]}
    del texts[Path(__file__).resolve()]
    assert not [path for path, text in texts.items() if "readwarp" in text]


@pytest.mark.gpu
@pytest.mark.skipif(HAS_GPU, reason="about the emulated card")
def test_a_copy_works_by_itself(tmp_path):
    """Copied elsewhere, with pytest's own defaults, and with nothing of this repository on Python's path."""
    shutil.copytree(FOLDER, tmp_path / FOLDER.name, ignore=shutil.ignore_patterns("__pycache__"))
    tests = [f"{FOLDER.name}/tests/{name}" for name in ("test_driver_setup.py", "test_races.py")]
    given = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH"))}
    options = f"-q -p no:cacheprovider -p {FOLDER.name}.pytest_plugin --emulated-cards 9.0:1G,8.0:1G".split()
    command = [sys.executable, "-P", "-W", "error", "-m", "pytest", *options, "-k", "travel or shared_memory", *tests]
    given["PYTHONPATH"] = str(tmp_path)
    done = subprocess.run(command, env=given, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "skipped" not in done.stdout
