"""The next process finds kernels for cards on disk, also those made by factories. No card is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba_cuda")
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
COMPILE = """
import sys
from types import SimpleNamespace
from numba.cuda import codegen, dispatcher
from numba.cuda.cudadrv import devices
from readwarp.device.jit import cuda_kernel

card = SimpleNamespace(compute_capability=(9, 0), id=0)
dispatcher.get_current_device = lambda: card
devices.get_context = lambda *_: SimpleNamespace(device=card)
dispatcher._Kernel.bind = lambda kernel: kernel._codelibrary.get_cubin(cc=(9, 0))

from compiled.compile import types_of
from compiled.kernels import KERNELS

for name in sys.argv[1:]:
    kernel = next(kernel for kernel in KERNELS if kernel.name == name)
    compiled = kernel.compiled_by()
    compiled.compile(tuple(types_of(kernel.arguments)))
    print(name, compiled.stats.cache_hits.total(), sep="=")
"""
NAMES = (
    "scan sum_tiles",
    "pairwise score s16x2 x 4",
    "pairwise score half2 x 10",
    "pairwise trace x 8",
    "pairhmm float32 x 8",
)


def test_the_next_process_compiles_nothing(tmp_path):
    path = f"{BENCHMARKS}:{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "READWARP_CACHE": str(tmp_path), "PYTHONPATH": path}
    for hits in (0, 1):
        command = [sys.executable, "-c", COMPILE, *NAMES]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [f"{name}={hits}" for name in NAMES]
