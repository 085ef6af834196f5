"""Which cards the tests of this process run on: the machine's, or emulated ones."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

import emulated_card
from emulated_card import HAS_GPU

HAS_CARDS = find_spec("numba_cuda") is not None and (HAS_GPU or find_spec("ziglang") is not None)
IS_EMULATED = HAS_CARDS and not HAS_GPU  # without cards, tests marked `cards` and `gpu` are skipped
CAPABILITIES = ("9.0", "7.5", "8.0", "12.0")  # of the emulated cards by number; .ci/run takes the first
two_cards = pytest.mark.skipif(
    HAS_GPU and len(list(Path("/dev").glob("nvidia[0-9]*"))) < 2, reason="there is one GPU; this is about two cards"
)


def take_cards() -> None:
    """Choose the cards, before numba.cuda is imported."""
    if IS_EMULATED:
        emulated_card.activate(",".join(f"{capability}:8G" for capability in CAPABILITIES), checks="")


def without_cards() -> dict[str, str]:
    """The environment of a process that should find no emulated card."""
    return {name: value for name, value in os.environ.items() if name != "EMULATED_CARDS"}
