"""The house keeps its shape: imports go down only, Numba has one door, `--help` is instant, files stay small."""

import ast
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from layers import LEVEL, ROOT, SOURCES, imports, room_of, room_of_file

LINES, FUNCTION_LINES = 400, 70
BESIDE = {  # imports between rooms of one layer
    ("formats", "device"),  # bulk codecs are compiled
    ("config", "errors"),
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "src").as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_imports_go_down_only(path):
    here = room_of_file(path)
    if here not in LEVEL:  # the package's own __init__ and __main__ may see all
        return
    for module in imports(path):
        there = room_of(module)
        if there == here or there not in LEVEL:
            continue
        down = LEVEL[there] > LEVEL[here]
        assert down or (here, there) in BESIDE, f"{name_of(path)} imports {module}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_numba_has_one_door(path):
    in_device = path.parent.name == "device"
    for module in imports(path):
        if module == "numba" or module.startswith("numba."):
            assert in_device, f"{name_of(path)} imports {module}: use readwarp.device.jit"
        if module == "readwarp.device.jit.cuda":
            assert in_device or path.stem.split("_")[0] == "cuda", f"{name_of(path)} imports CUDA outside */cuda*.py"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_kernels_for_cards_are_kept_on_disk(path):
    """Whatever is no function of the card alone is a `cuda_kernel`."""
    assert "@cuda.jit\n" not in path.read_text(), f"{name_of(path)}: use readwarp.device.jit.cuda_kernel"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert text.count("\n") <= LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            assert lines <= FUNCTION_LINES, f"{name_of(path)}: {node.name} has {lines} lines"


def test_every_source_is_known_to_a_layer():
    known = {"__init__", "__main__", *LEVEL}
    assert set(map(room_of_file, SOURCES)) <= known


HEAVY = ("numpy", "numba", "llvmlite", "pysam", "rich", "Bio", "isal", "dnaio", "matplotlib", "jinja2", "shtab")
COMMANDS = ["", "run", "index", "align", "merge", "call", "genotype", "report", "pairwise", "doctor", "completion"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_imports_nothing_heavy(command):
    code = (
        "import sys; from readwarp.cli import main;"
        f"assert main({[*command.split(), '--help']!r}) == 0;"
        f"heavy = {set(HEAVY)!r} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "usage: readwarp" in done.stdout


def test_help_is_instant():
    """Best of five, in processor time, so that a busy machine does not fail it; the bar is 0.2 s."""
    times = []
    for _ in range(5):
        before = processor_time_of_children()
        subprocess.run([sys.executable, "-m", "readwarp", "align", "--help"], check=True, capture_output=True)
        times.append(processor_time_of_children() - before)
    assert min(times) < 0.2, times


def processor_time_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
