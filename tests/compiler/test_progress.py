"""The kernels being compiled are reported, those for cards too. No card is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba_cuda")
pytestmark = pytest.mark.cards
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPT = """
import numpy as np
from readwarp.compiler import jit
from readwarp.compiler.levels import card_level
from readwarp.compiler.progress import watch
from compiled.compile import signature_of
from compiled.kernels import KERNELS

said = []
with watch(lambda name, number: said.append(f"{number}={name}")) as compiled:
    for kernel in KERNELS[:2]:
        made, signature, level = kernel.compiled_by(), signature_of(kernel), card_level((9, 0))
        jit.obtain(made.name, signature, level, lambda: made.make(signature, level))
    jit.kernel(lambda n: n + 1)(3)
print(*said, len(compiled))
"""


def test_kernels_of_both_sides_are_told(tmp_path):
    environment = os.environ | {"PYTHONPATH": f"{BENCHMARKS}:{os.environ.get('PYTHONPATH', '')}"}
    environment["READWARP_CACHE"] = str(tmp_path)
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["1=grid", "2=sketch_reads", "3=<lambda>", "3"], done.stderr
