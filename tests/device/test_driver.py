"""What the driver says of a card, compared with what numba-cuda reads."""

import pytest

pytest.importorskip("numba_cuda")
from readwarp.device.cuda_jit import cuda
from readwarp.device.driver import read_driver

pytestmark = pytest.mark.cards


def test_speed_of_each_card():
    for ordinal, device in enumerate(read_driver().devices):
        known = cuda.gpus[ordinal]
        assert device.compute_capability == tuple(known.compute_capability)
        assert device.speed == 1000.0 * known.MULTIPROCESSOR_COUNT * known.CLOCK_RATE > 1e9
