"""Arrays that are freed leave their memory for the next ones."""

import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import numpy as np
from readwarp.cli import heap

if sys.argv[1] == "kept":
    heap.keep_freed()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    arrays = [np.ones(3 << 20, np.uint8) for _ in range(8)]
    del arrays
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    return int(subprocess.run([sys.executable, "-c", FAULTS, how], check=True, capture_output=True, text=True).stdout)


def test_a_page_is_touched_anew_once_only():
    pages = 8 * (3 << 20) // 4096
    assert faults("kept") < 3 * pages
    if faults("as ever") < 10 * pages:
        pytest.skip("the C library keeps such arrays by itself")
