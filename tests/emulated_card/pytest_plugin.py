"""Plugin of pytest: tests run on emulated cards, and a test in which a check finds something fails.

python -m pytest -p emulated_card.pytest_plugin --emulated-cards '9.0:8G,8.0:8G'

A conftest.py that calls emulated_card.activate, and names this module in `pytest_plugins`, needs no option.
"""

import pytest

import emulated_card
from emulated_card import HAS_GPU
from emulated_card.options import CHECKS, Options


def pytest_addoption(parser):
    parser.addoption("--emulated-cards", metavar="CARDS", help="as in EMULATED_CARDS; ignored where there is a GPU")


def pytest_configure(config):
    config.addinivalue_line("markers", "cards: kernels and decisions that need a card, emulated or not")
    config.addinivalue_line("markers", "gpu: slower ones of these")
    asked = config.getoption("--emulated-cards")
    if asked and not HAS_GPU:
        emulated_card.use(Options.parsed(asked))


@pytest.fixture(autouse=True)
def nothing_found():
    """A test whose kernels do what a card does not forgive has failed, whatever their results."""
    if not emulated_card.is_active():
        yield
        return
    emulated_card.clear_findings()
    yield
    assert emulated_card.findings() == []


@pytest.fixture
def checked():
    """checked(names of checks, seed) turns checks on; a launch in which they find something does not end the test."""

    def turn_on(*names: str, seed: int = 0) -> None:
        emulated_card.clear_findings()
        emulated_card.set_checks(sum(CHECKS[name] for name in names), seed, fails_on_finding=False)

    yield turn_on
    emulated_card.set_checks(0)
    emulated_card.clear_findings()
