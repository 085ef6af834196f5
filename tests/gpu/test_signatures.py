"""The kernels that run are those whose machine code is examined: same types, and none missing from the list."""

import json
import subprocess
import sys

import pytest

import emulated_card

pytestmark = pytest.mark.gpu

SCRIPT = """
import json, pathlib, sys
import numpy as np
import readwarp
from readwarp.compiler import jit, manifest
from readwarp.compiler.levels import CARDS
loaded, obtain = set(), jit.obtain
def noted(name, signature, level, *others):
    if level.machine == CARDS:
        loaded.add((name, signature))
    return obtain(name, signature, level, *others)
jit.obtain = noted
from readwarp.cli import main
out, reference, *reads = sys.argv[1:]
assert main(["run", reference, *reads, "-o", out, "-q", "--device", "cuda"]) == 0
bam = next(pathlib.Path(out).glob("*.bam"))
assert main(["call", reference, str(bam), "--mixture", "-o", out + "/m.vcf", "-q", "--device", "cuda"]) == 0
codes = np.arange(150, dtype=np.uint8) % 4
readwarp.pairwise([codes] * 9, [codes] * 9, traceback=True, device="cuda")
for name in ("sum_kernel", "put_record.apart.grid", "lay_blocks"):
    assert any(name in each for each, _ in loaded), name
print(json.dumps(sorted(loaded - {(entry.kernel, entry.signature) for entry in manifest.entries(manifest.CARD_TABLE)})))
"""


def test_launched_as_listed(made_reads, tmp_path, capability, is_emulated):
    arguments = [tmp_path / "out", made_reads.reference, *made_reads.reads]
    environment = emulated_card.environment(f"{capability}:8G", checks="") if is_emulated else None
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []
