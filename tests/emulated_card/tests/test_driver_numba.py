"""numba-cuda's own host code on the stub driver, in processes of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

from emulated_card import environment

pytestmark = pytest.mark.cards

SCRIPT = """
import numpy as np
from emulated_card.tests.cuda import cuda
import emulated_card

@cuda.jit(cache=True)
def add(values, number, sums):
    place = cuda.grid(1)
    if place < sums.size:
        sums[place] = values[place] + number

for card in cuda.gpus:
    with card:
        stream, begin, end = cuda.stream(), cuda.event(), cuda.event()
        pinned = cuda.pinned_array(1000, np.int32)
        pinned[:] = np.arange(1000)
        begin.record(stream)
        values = cuda.to_device(pinned, stream=stream)
        sums = cuda.device_array(1000, np.int32, stream=stream)
        add[32, 32, stream](values, 5, sums)
        sums.copy_to_host(pinned, stream=stream)
        end.record(stream)
        stream.synchronize()
        print(card.compute_capability, (pinned == np.arange(1000) + 5).all(), begin.elapsed_time(end) > 0)
print(sum(add.stats.cache_hits.values()), emulated_card.counts()["launches"], emulated_card.findings())
del values, sums, pinned, stream, begin, end
"""


def run(script: Path) -> list[str]:
    given = environment("9.0:64M,8.0:64M") | {"NUMBA_CACHE_DIR": str(script.parent)}
    done = subprocess.run([sys.executable, script], env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_numba_works_on_two_cards_and_finds_kernels_in_its_cache(tmp_path):
    """A cached kernel is loaded from the PTX that is cached with it."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    cards = ["ComputeCapability(major=9, minor=0) True True", "ComputeCapability(major=8, minor=0) True True"]
    assert run(script) == [*cards, "0 2 []"]
    assert run(script) == [*cards, "1 2 []"]
