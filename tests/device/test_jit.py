"""What Numba is told before its CUDA target is loaded."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest


@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="needs numba-cuda")
def test_small_grids_are_not_warned_of():
    """Numba warns of grids below 128 blocks, as scans and last batches are; a user could do nothing about it."""
    code = (
        "from readwarp.device.jit import cuda; from numba.cuda.core import config;"
        "print(int(config.CUDA_LOW_OCCUPANCY_WARNINGS), cuda.__name__)"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("0 numba.cuda\n", 0), done.stderr
