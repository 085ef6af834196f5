"""The kernels that run are those whose machine code is examined: same types, and none missing from the list."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import emulated_card

pytestmark = pytest.mark.gpu

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPT = """
import json, pathlib, sys
sys.path.append(sys.argv[1])
import numpy as np
import readwarp
from compiled.compile import types_of
from compiled.kernels import KERNELS
from readwarp.somatic.fractions import cuda as fractions
from readwarp.cli import main
reference, *reads = sys.argv[3:]
assert main(["run", reference, *reads, "-o", sys.argv[2], "-q", "--device", "cuda"]) == 0
bam = next(pathlib.Path(sys.argv[2]).glob("*.bam"))
assert main(["call", reference, str(bam), "--mixture", "-o", sys.argv[2] + "/m.vcf", "-q", "--device", "cuda"]) == 0
codes = np.arange(150, dtype=np.uint8) % 4
readwarp.pairwise([codes] * 9, [codes] * 9, traceback=True, device="cuda")
assert fractions.multiply_block.dispatcher.overloads
strange = {}
for kernel in KERNELS:
    listed = types_of(kernel.arguments)
    for launched in kernel.compiled_by().overloads:
        if [str(t) for t in launched] != [str(t) for t in listed]:
            strange[kernel.name] = [[str(t) for t in types] for types in (launched, listed)]
print(json.dumps(strange))
"""


def test_launched_as_listed(made_reads, tmp_path, capability, is_emulated):
    arguments = [BENCHMARKS, tmp_path / "out", made_reads.reference, *made_reads.reads]
    environment = emulated_card.environment(f"{capability}:8G", checks="") if is_emulated else None
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {}
