"""PairHMM on CUDA: the bits of the CPU in the simulator, and what the compiler makes of it for real cards."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hmm_oracle import all_pairs, random_read

import readwarp
from readwarp.call.pairhmm import cpu


def test_the_bits_of_the_cpu():
    from readwarp.call.pairhmm import cuda

    rng = np.random.default_rng(3)
    haplotypes = [rng.integers(0, 4, size) for size in (1, 9, 17)]
    haplotypes[1][4] = 4
    reads = [random_read(rng, length, haplotypes[2], unknown=0.1) for length in (0, 1, 7, 21)]
    expected = all_pairs(reads, haplotypes, cpu.log_likelihoods)
    found = all_pairs(reads, haplotypes, cuda.log_likelihoods)
    assert np.abs(found - expected).max() < 1e-5  # the simulator's fma may differ in the last bit


def test_the_python_interface():
    on_cpu, on_cuda = (readwarp.pair_hmm(["ACGT", ""], 30, ["ACGTT"], device=device) for device in ("cpu", "cuda"))
    assert np.abs(on_cuda - on_cpu).max() < 1e-5 and on_cuda[1, 0] == 0


def test_small_sums_again_and_long_reads_on_the_host(monkeypatch):
    from readwarp.call.pairhmm import cuda

    asked = []
    monkeypatch.setattr(cuda, "launch", lambda group, rows, dtype, *rest: asked.append((group, rows, dtype)) or 0.0)
    haplotype = np.full(20, 1)
    reads = [(np.zeros(n, int), np.full(n, 40), np.full(n, 45), np.full(n, 10)) for n in (5, 100, 300, 513)]
    expected, found = (all_pairs(reads, [haplotype], side.log_likelihoods) for side in (cpu, cuda))
    on_card = [(4, 6, np.float32), (8, 14, np.float32), (32, 10, np.float32), (4, 4, np.float64), (16, 8, np.float64)]
    assert asked == on_card
    assert found[2:].tolist() == expected[2:].tolist()


@pytest.mark.parametrize("length", [1, 24, 25, 101, 148, 151, 250, 512])
def test_shapes_hold_their_reads(length):
    from readwarp.call.pairhmm import cuda

    shape = int(cuda.shape_table(4)[length])
    group, rows = divmod(shape, 100)
    assert group in cuda.GROUPS and rows in cuda.ROWS[4] and length <= group * rows <= max(24, 1.35 * length)


COMPILE = """
import json, sys
from types import SimpleNamespace
from numba import cuda, types as t
from numba.cuda import dispatcher
from readwarp.call.pairhmm import cuda as step
cc, folder = tuple(map(int, sys.argv[1:3])), sys.argv[3]
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)  # of the rules that kernels call
array = lambda dtype, axes=1: t.Array(dtype, axes, "C")
u1, i4, i8, f8 = array(t.uint8), array(t.int32), array(t.int64), array(t.float64)
kernels = {}
for width, real in ((4, t.float32), (8, t.float64)):
    for rows in json.loads(sys.argv[4])[str(width)]:
        numbers = (t.int32, t.int32, t.float64, array(real))
        arrays = (u1, array(real, 2), i8, i4, u1, i8, i4, i4)
        kernels[f"{width} {rows}"] = step.sum_kernel(rows, width), (*arrays, *numbers)
    kernels[f"{width} 0"] = step.fill_tables, (u1, u1, u1, u1, i8, f8, t.float64, array(real, 2))
for name, (kernel, signature) in kernels.items():
    ptx, _ = cuda.compile_ptx(kernel.py_func, signature, cc=cc)
    assert f".target sm_{cc[0]}{cc[1]}" in ptx and ".entry" in ptx
    open(f"{folder}/{name}.ptx", "w").write(ptx)
"""


def tool(name: str) -> str | None:
    roots = find_spec("nvidia").submodule_search_locations if find_spec("nvidia") else []
    return next((str(path) for root in roots for path in Path(root).glob(f"*/bin/{name}")), None)


def ptx_of(folder: Path, capability: str, rows: dict[int, tuple[int, ...]]) -> list[Path]:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    command = [sys.executable, "-c", COMPILE, *capability, str(folder), json.dumps(rows)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return sorted(folder.glob("*.ptx"))


def inner_loop(sass: str) -> tuple[int, int]:
    """(instructions, steps in it) of the loop over columns: the first loop with fma; it ends in a jump back."""
    instructions: list[str] = []
    labels: dict[str, int] = {}
    for line in sass.splitlines():
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label[1]] = len(instructions)
        elif code := re.match(r"\s+/\*[0-9a-f]+\*/\s+(.*?);", line):
            instructions.append(code[1])
            jump = re.search(r"BRA.*?(\.L_x_\d+)", code[1])
            body = instructions[labels.get(jump[1], len(instructions)) :] if jump else []
            if any("FMA" in each for each in body):
                return len(body), sum("SHFL" in each for each in body) // 2
    raise AssertionError("no loop")


LIMITS = {16: 9.0, 14: 9.2, 12: 9.6, 10: 10.0, 8: 10.5}  # instructions per cell on sm_90


@pytest.mark.skipif(tool("ptxas") is None, reason="needs nvidia-cuda-nvcc")
@pytest.mark.parametrize("capability", ["75", "80", "90"])
def test_no_spills_and_few_instructions(capability, tmp_path):
    from readwarp.call.pairhmm import cuda

    rows = cuda.ROWS if capability == "90" else {4: (16,), 8: (8,)}
    for path in ptx_of(tmp_path, capability, rows):
        cubin = path.with_suffix(".cubin")
        command = [tool("ptxas"), f"-arch=sm_{capability}", "-v", str(path), "-o", str(cubin)]
        report = subprocess.run(command, capture_output=True, text=True)
        assert report.returncode == 0, report.stderr
        (stack, stores, loads) = re.findall(r"(\d+) bytes", report.stderr.split("Function properties")[1])[:3]
        (registers,) = re.findall(r"Used (\d+) registers", report.stderr)
        assert (stack, stores, loads) == ("0", "0", "0"), path.stem
        width, per_thread = map(int, path.stem.split())
        assert int(registers) <= 255 and (width == 8 or int(registers) <= 210), path.stem
        if width == 4 and per_thread in LIMITS and capability == "90" and tool("nvdisasm"):
            sass = subprocess.run([tool("nvdisasm"), "-c", str(cubin)], capture_output=True, text=True, check=True)
            instructions, steps = inner_loop(sass.stdout)
            assert instructions / (steps * per_thread) <= LIMITS[per_thread], path.stem
