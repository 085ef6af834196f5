"""What tests of the emulated card share."""

import pytest

import emulated_card
from cards import HAS_GPU
from emulated_card.options import CHECKS


@pytest.fixture(scope="session", autouse=True)
def frees_in_context():
    """Arrays that tests make of Numba's are freed in the context of their card, whichever is current then."""
    if HAS_GPU:
        return
    from readwarp.device import freeing
    from readwarp.device.jit import cuda

    for device in range(len(cuda.gpus)):
        with cuda.gpus[device]:
            freeing.prepare(device)


@pytest.fixture
def checked():
    """checked(names of checks, seed) turns these on; a launch that they find something in goes on to the next."""

    def turn_on(*names: str, seed: int = 0) -> None:
        emulated_card.clear_findings()
        emulated_card.set_checks(sum(CHECKS[name] for name in names), seed, fails_on_finding=False)

    yield turn_on
    emulated_card.set_checks(0)
    emulated_card.clear_findings()
