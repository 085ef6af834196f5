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
from types import SimpleNamespace
import numpy as np
from numba.cuda import compile_ptx, dispatcher
from readwarp.compiler import jit
from readwarp.compiler.progress import watch
from compiled.compile import types_of
from compiled.kernels import KERNELS

dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))
said = []
with watch(lambda name, number: said.append(f"{number}={name}")) as compilation:
    for kernel in KERNELS[:2]:
        compile_ptx(kernel.compiled_by().py_func, types_of(kernel.arguments), cc=(9, 0))
    jit.kernel(lambda n: n + 1)(3)
print(*said, compilation.kernels)
"""


def test_kernels_of_both_sides_are_told():
    environment = os.environ | {"PYTHONPATH": f"{BENCHMARKS}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["1=sum_tiles", "2=scan_tiles", "3=<lambda>", "3"], done.stderr
