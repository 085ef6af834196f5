"""Set-up shared by the tests of the emulated card."""

from importlib.util import find_spec

import pytest

from emulated_card import HAS_GPU, is_active


@pytest.fixture(scope="session", autouse=True)
def _frees_in_context():
    """Arrays that tests make are freed in the context of their card: the stub reports all others."""
    if find_spec("numba_cuda") is None or not (is_active() or HAS_GPU):
        return
    from emulated_card.tests.cuda import cuda, free_in_context

    for card in cuda.gpus:
        free_in_context(card)
