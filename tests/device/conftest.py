"""What tests of `readwarp.device` share."""

import pytest

from helpers.cards import IS_EMULATED


@pytest.fixture(scope="session", autouse=True)
def _frees_in_context():
    """Numba arrays that tests make are freed in the context of their card, whichever context is current."""
    if not IS_EMULATED:
        return
    from readwarp.device import freeing
    from readwarp.device.cuda_jit import cuda

    for device in range(len(cuda.gpus)):
        with cuda.gpus[device]:
            freeing.prepare(device)
