"""The CUDA kernels: the bytes of the CPU lanes under the simulator, and registers and spills without a device."""

import os
import subprocess
import sys

import numpy as np
import pytest
from alignment_oracle import packed, random_costs, random_pairs

from readwarp.pairwise import cpu, cuda, pairwise
from readwarp.pairwise.pairs import arrays
from readwarp.pairwise.scalar import GLOBAL, LOCAL, SEMIGLOBAL


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL])
@pytest.mark.parametrize("seed", range(3))
def test_same_bytes_as_the_lanes(mode, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    if seed == 2:
        monkeypatch.setattr(cuda, "ROOM", 500)  # several launches
    pairs, costs = packed(*random_pairs(rng, 20, 20, 3)), random_costs(rng, mode)
    ends = cpu.score_pairs(pairs, costs, mode)
    there = cuda.score_pairs(pairs, costs, mode)
    assert [a.tobytes() for a in arrays(there)] == [a.tobytes() for a in arrays(ends)]
    expected, found = cpu.trace_pairs(pairs, costs, mode, ends), cuda.trace_pairs(pairs, costs, mode, ends)
    assert [a.tobytes() for a in arrays(found)] == [a.tobytes() for a in arrays(expected)]


def test_the_python_interface():
    queries, targets = ["ACGTTGCA", "", "AAAA"], ["ACGTGCA", "ACG", "CCAAAACC"]
    for mode in ("local", "global", "semiglobal"):
        host, device = (pairwise(queries, targets, mode=mode, traceback=True, device=d) for d in ("cpu", "cuda"))
        assert host.score.tolist() == device.score.tolist()
        assert [host.cigar_string(k) for k in range(3)] == [device.cigar_string(k) for k in range(3)]


COMPILE = """
import glob, os, re, subprocess, sys, tempfile
from importlib.util import find_spec
from types import SimpleNamespace
from numba import cuda, types
from numba.cuda import dispatcher
from readwarp.pairwise import cuda as engine
cc = tuple(int(n) for n in sys.argv[1:])
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)  # of the rules that kernels call
u8, i32, i64, u32 = types.uint8, types.int32, types.int64, types.uint32
array = lambda dtype, axes=1: types.Array(dtype, axes, "C")
sequences = [array(u8), array(i64), array(i64)] * 2 + [array(i64)]
costs = [i64] * 5 + [array(i32), types.boolean, i64, array(i32, 2), array(i32, 2)]
kernels = {
    engine.score_threads: [*sequences, *costs, *[array(i32)] * 3],
    engine.trace_threads: [
        *sequences, *[array(i32)] * 3, array(i64, 2), *costs, array(u8, 2), array(i64, 2), array(u32)
    ],
}
for kernel, arguments in kernels.items():
    ptx, _ = cuda.compile_ptx(kernel.py_func, types.void(*arguments), cc=cc)
    assert f".target sm_{cc[0]}{cc[1]}" in ptx and ".entry" in ptx
    roots = find_spec("nvidia").submodule_search_locations if find_spec("nvidia") else []
    tools = [path for root in roots for path in glob.glob(root + "/*/bin/ptxas")]
    if tools:
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "kernel.ptx")
            open(source, "w").write(ptx)
            command = [tools[0], f"-arch=sm_{cc[0]}{cc[1]}", "-v", source, "-o", os.path.join(folder, "kernel.cubin")]
            report = subprocess.run(command, capture_output=True, text=True)
            assert report.returncode == 0, report.stderr
            registers, = re.findall(r"Used (\\d+) registers", report.stderr)
            print(kernel.py_func.__name__, registers, re.findall(r"(\\d+) bytes spill", report.stderr))
            assert int(registers) <= 96 and set(re.findall(r"(\\d+) bytes spill", report.stderr)) == {"0"}
"""


@pytest.mark.parametrize("capability", [("7", "5"), ("8", "0"), ("9", "0")], ids="".join)
def test_compiles_without_a_device_and_without_spills(capability):
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run([sys.executable, "-c", COMPILE, *capability], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
