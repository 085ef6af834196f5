"""A command starts fast: it loads what its work needs, and no more. benchmarks/start.py measures the time."""

import json
import subprocess
import sys

import pytest

from helpers.cards import HAS_GPU, without_cards
from helpers.layers import SOURCES, module_of

WITHOUT_NUMBA = """
import sys
from importlib import import_module

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "numba":
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
for name in sys.argv[1:]:
    import_module(name)
"""
COMPILING = {
    f"readwarp.compiler.{name}"
    for name in ("codegen", "entry", "internals", "lowering", "parts", "shortcuts", "vectors")
}
FOR_CARDS = {  # and cuda*.py
    *(f"readwarp.device.{name}" for name in ("instructions", "launch", "memory", "staging", "trial")),
    "readwarp.pairwise.trace_plan",
}


def test_only_what_compiles_imports_numba():
    """Numba takes longer to import than a small job takes."""
    modules = {module_of(path): path.stem for path in SOURCES}
    rest = [name for name in modules.keys() - COMPILING - FOR_CARDS if not modules[name].startswith(("cuda", "__main"))]
    done = subprocess.run([sys.executable, "-c", WITHOUT_NUMBA, *sorted(rest)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


LOADED = """
import json, sys
from readwarp.cli import main
code = main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
sys.exit(code)
"""
# What other commands, reports, terminals, cards and the compiler need
UNWANTED = {"Bio", "asyncio", "dnaio", "jinja2", "matplotlib", "multiprocessing", "numba", "rich", "shtab"}
MOST = 610  # modules, most of them NumPy's and those of Python, which has a few more in 3.14


def modules_of(*arguments: object) -> set[str]:
    """The modules that a process has loaded at the end of a command, on a machine without a card."""
    command = [sys.executable, "-c", LOADED, *map(str, arguments)]
    done = subprocess.run(command, env=without_cards(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.skipif(HAS_GPU, reason="here is a card")
def test_a_warm_command_loads_no_more_than_it_needs(reference, mates, tmp_path):
    """The first of two runs may compile."""
    alignments, variants = tmp_path / "out.bam", tmp_path / "out.vcf.gz"
    align = "align", reference, *mates, "-o", alignments, "--sort", "coordinate", "--write-index", "--force", "-q"
    call = "call", reference, alignments, "-o", variants, "--force", "-q"
    for command in (align, call):
        modules_of(*command)
        loaded = modules_of(*command)
        # Numba's small extension modules, which kernels call, are loaded without it.
        found = UNWANTED & loaded | {name for name in loaded if name.startswith(("numba.core.typing", "numba.cuda"))}
        assert not found and len(loaded) <= MOST, (command[0], sorted(found), len(loaded))


def test_a_process_for_samtools_loads_only_pysam():
    """`run` with a report needs eight of them."""
    code = "import sys, readwarp.formats.common.tool, pysam.samtools; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    written_by_build = {"readwarp._version"}
    ours = {name for name in loaded if name.startswith("readwarp.")} - written_by_build
    rooms = {"readwarp.formats", "readwarp.formats.common", "readwarp.system"}
    assert ours <= rooms | {"readwarp.formats.common.tool", "readwarp.system.stopping", "readwarp.version"}
    assert "numpy" not in loaded
