"""Fixtures shared by all tests. Without a GPU, CUDA kernels run on emulated cards (tests/emulated_card)."""

import secrets
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from helpers.cards import HAS_CARDS, IS_EMULATED, take_cards

pytest_plugins = ["emulated_card.pytest_plugin"]  # what its checks find fails a test
TESTS = Path(__file__).resolve().parent
TEST_DATA = TESTS.parent / "test_data"

# The first example compiles, and machines are busy.
settings.register_profile("readwarp", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("readwarp")
take_cards()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's script starts jobs so; tests send the signal
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the slow tests too")
    parser.addoption("--weekly", action="store_true", help="run the weekly tests too")
    parser.addoption(
        "--capabilities",
        default="9.0",
        help="compute capabilities of the emulated cards that the gpu tests run on, each in turn (without a GPU)",
    )
    parser.addoption("--fuzz-seed", type=int, help="of tests/fuzz, to repeat a run (default: a new one, printed)")
    parser.addoption("--fuzz-cases", type=int, default=300, help="cases of each campaign of tests/fuzz (default 300)")
    parser.addoption("--kills", type=int, default=32, help="commands that tests/fuzz/test_kills.py stops (default 32)")


def pytest_configure(config):
    if config.option.fuzz_seed is None:  # here and not in the workers of xdist, which get the options
        config.option.fuzz_seed = secrets.randbelow(1 << 32)


def pytest_report_header(config):
    return f"--fuzz-seed {config.option.fuzz_seed}"


def pytest_itemcollected(item):
    """Group tests of kernels for cards by what they need, so that no two workers compile the same at once."""
    if "cards" in item.keywords and not item.get_closest_marker("xdist_group"):
        folder = item.path.relative_to(TESTS).parts[0].replace("cli", "align")  # commands mostly align
        item.add_marker(pytest.mark.xdist_group(f"cards-{folder}"))


def pytest_collection_modifyitems(config, items):
    skips = {tier: pytest.mark.skip(reason=f"{tier}: needs --{tier}") for tier in ("slow", "weekly")}
    skip_cards = pytest.mark.skip(reason="needs a GPU, or emulated ones: pip install '.[test-gpu]'")
    for item in items:
        if not HAS_CARDS and {"cards", "gpu"} & item.keywords.keys():
            item.add_marker(skip_cards)
        if "zig" in item.keywords and find_spec("ziglang") is None:
            item.add_marker(pytest.mark.skip(reason="needs Zig's C compiler: pip install '.[test-gpu]'"))
        for tier, skip in skips.items():
            if tier in item.keywords and not config.getoption(f"--{tier}"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def test_data() -> Path:
    return TEST_DATA


@pytest.fixture(scope="session", autouse=True)
def auto_is_the_cpu():
    """With emulated cards, auto is the CPU, as for users without a GPU; tests of cards ask for cards."""
    if not IS_EMULATED:
        yield
        return
    from readwarp.device import backend

    backend._claims.setdefault(0, None)  # cuda is the first card, whichever other processes have taken
    auto = backend._auto
    backend._auto = lambda: backend.Backend("cpu")
    yield
    backend._auto = auto
