"""What we tell Numba: options, and the types of batches."""

import os
import subprocess
import sys
from importlib.util import find_spec
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import njit

import readwarp.device.jit


@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="needs numba-cuda")
def test_small_grids_are_not_warned_of():
    """Numba warns of grids below 128 blocks, such as scans and last batches; a user could do nothing about it."""
    code = (
        "from readwarp.device.jit import cuda; from numba.cuda.core import config;"
        "print(int(config.CUDA_LOW_OCCUPANCY_WARNINGS), cuda.__name__)"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("0 numba.cuda\n", 0), done.stderr


class Batch(NamedTuple):
    values: np.ndarray
    more: np.ndarray


@njit
def first(batch, plain):
    return batch.values[0] + batch.more[0] + plain[0]


def test_a_batch_of_read_only_arrays_compiles_nothing_anew():
    """Batches from files and mapped memory are read-only, others are not. One compilation serves both."""
    assert readwarp.device.jit.numba is numba  # the rule is in force
    values, fixed = np.array([1, 2]), np.array([3, 4])
    fixed.setflags(write=False)
    found = [first(Batch(a, b), values) for a in (values, fixed) for b in (values, fixed)]
    assert found == [3, 5, 5, 7] and len(first.signatures) == 1
    first(Batch(values, values), fixed)
    assert len(first.signatures) == 2, "an array by itself has a type of its own"
