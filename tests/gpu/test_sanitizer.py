"""compute-sanitizer finds nothing in a small run of each command: no access out of bounds, no race in shared memory."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("numba_cuda")
import emulated_card
from helpers.cards import HAS_GPU
from readwarp.device.memory import SEPARATE

pytestmark = pytest.mark.gpu

SCRIPT = """
import sys
import numpy as np
import readwarp
rng = np.random.default_rng(1)
targets = [rng.integers(0, 4, n).astype(np.uint8) for n in rng.integers(0, 300, 64)]
queries = [target[target.size // 3 :][:150].copy() for target in targets]
for mode in ("local", "global", "semiglobal"):
    readwarp.pairwise(queries, targets, mode=mode, traceback=True, device="cuda")
reads = [query for query in queries if query.size]
readwarp.pair_hmm(reads, 30, [target for target in targets if target.size][:4], device="cuda")
"""


def sanitizer() -> str | None:
    """compute-sanitizer from the path, a CUDA toolkit, or the wheel nvidia-cuda-sanitizer-api."""
    package = find_spec("nvidia")
    roots = [Path(root) for root in (package.submodule_search_locations or [])] if package else []
    places = [
        Path("/usr/local/cuda/bin/compute-sanitizer"),
        Path("/usr/local/cuda/compute-sanitizer/compute-sanitizer"),
    ]
    for root in roots:
        places += sorted(root.glob("*/bin/compute-sanitizer")) + sorted(
            root.glob("*/compute-sanitizer/compute-sanitizer")
        )
    return shutil.which("compute-sanitizer") or next((str(place) for place in places if place.exists()), None)


EMULATED = {"memcheck": {"checks": "written"}, "racecheck": {"checks": "written,races", "seed": 7}}
# On an emulated card the second finds what the first does.
TOOLS = [*EMULATED] if HAS_GPU else [pytest.param("memcheck", marks=pytest.mark.weekly), "racecheck"]


@pytest.fixture(params=TOOLS)
def checked(request, is_emulated, capability):
    """Run Python under the tool, or on an emulated card with the same checks; fails with what was found."""

    def run_on_card(*arguments):
        program = sanitizer()
        if program is None:
            pytest.skip("compute-sanitizer was not found")
        command = [program, "--tool", request.param, "--error-exitcode", "9", sys.executable, *map(str, arguments)]
        apart = {**os.environ, SEPARATE: "1"}  # else an array's neighbour hides what is written beyond it
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, env=apart)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        assert "ERROR SUMMARY: 0 errors" in done.stdout or "RACECHECK SUMMARY: 0 hazards" in done.stdout, done.stdout

    def run_on_emulated(*arguments):
        environment = emulated_card.environment(f"{capability}:8G", **EMULATED[request.param])
        done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment)
        assert done.returncode == 0 and "emulated card:" not in done.stderr, done.stderr[-4000:]

    return run_on_emulated if is_emulated else run_on_card


def test_engines(checked):
    checked("-c", SCRIPT)


def test_run(checked, made_reads, tmp_path):
    few = []
    for path in made_reads.reads:
        few.append(tmp_path / path.name)
        few[-1].write_text("".join(path.read_text().splitlines(keepends=True)[: 4 * 500]))
    checked("-m", "readwarp", "run", made_reads.reference, *few, "-o", tmp_path / "out", "-q", "--device", "cuda")
