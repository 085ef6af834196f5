"""What tests of the emulated card share."""

import pytest

import emulated_card
from emulated_card.options import CHECKS


@pytest.fixture
def checked():
    """checked(names of checks, seed) turns these on; a launch that they find something in goes on to the next."""

    def turn_on(*names: str, seed: int = 0) -> None:
        emulated_card.clear_findings()
        emulated_card.set_checks(sum(CHECKS[name] for name in names), seed, fails_on_finding=False)

    yield turn_on
    emulated_card.set_checks(0)
    emulated_card.clear_findings()
