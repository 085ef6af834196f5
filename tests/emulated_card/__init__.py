"""An emulated CUDA card: a stub of libcuda below numba-cuda's host code, on which kernels run as their PTX.

    activate("9.0:8G,8.0:4G")               # before numba.cuda is imported; in this process
    environment("9.0:8G", seed=1)           # of a child process, in which Python does so by itself

See README.md. options.py has what can be asked of the cards, control.py faults, findings and counts.
"""

import os
from pathlib import Path
from typing import Any

from emulated_card import hook
from emulated_card.control import (
    clear_findings,
    counts,
    fail,
    findings,
    heal,
    lose,
    set_checks,
    set_delays,
    set_replay,
    set_up,
)
from emulated_card.options import USUAL_CARDS, VARIABLE, Options

__all__ = [
    "HAS_GPU", "Options", "activate", "clear_findings", "counts", "environment", "fail", "findings", "heal",
    "is_active", "lose", "set_checks", "set_delays", "set_replay", "use",
]  # fmt: skip

HAS_GPU = Path("/dev/nvidiactl").exists()  # real ones, which nothing hides
SITE = Path(__file__).parent / "site"
_active: list[Options] = []


def activate(cards: str = USUAL_CARDS, **options: Any) -> None:
    """Give this process these cards from here on; once in a process. cards, options: see Options."""
    use(Options(cards, **options))


def use(options: Options) -> None:
    """Like activate. Raises RuntimeError if the process already has other cards."""
    if _active == [options]:
        return
    if _active:
        raise RuntimeError(f"the cards are {_active[0]} already")
    set_up(options)
    hook.install()
    _active.append(options)


def is_active() -> bool:
    """Whether this process has emulated cards."""
    return bool(_active)


def environment(cards: str = USUAL_CARDS, **options: Any) -> dict[str, str]:
    """The environment of this process, with the variables that give a Python child process these cards."""
    folders = [str(SITE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(folders), VARIABLE: str(Options(cards, **options))}
