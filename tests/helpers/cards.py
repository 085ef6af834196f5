"""Which cards the tests of this process run on: the machine's, or emulated ones."""

import os
from pathlib import Path

import pytest

import emulated_card

HAS_GPU = Path("/dev/nvidiactl").exists()
CAPABILITIES = ("9.0", "8.0", "7.5", "12.0")  # of the emulated cards, in the order of their numbers
two_cards = pytest.mark.skipif(
    HAS_GPU and len(list(Path("/dev").glob("nvidia[0-9]*"))) < 2, reason="there is one GPU; this is about two cards"
)


def take_cards() -> None:
    """Choose the cards, before numba.cuda is imported."""
    if not HAS_GPU:
        emulated_card.activate(",".join(f"{capability}:8G" for capability in CAPABILITIES), checks="")


def without_cards() -> dict[str, str]:
    """The environment of a process that should find no emulated card."""
    return {name: value for name, value in os.environ.items() if name != "EMULATED_CARDS"}
