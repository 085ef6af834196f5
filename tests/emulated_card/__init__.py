"""A CUDA card that is not there: a stub of libcuda on which numba-cuda's host code runs, and kernels run as their PTX.

    activate("9.0:8G,8.0:4G")               # before numba.cuda is imported; in this process
    environment("9.0:8G", seed=1)           # of a child process, in which Python does so by itself

See options.py for what can be asked of the cards, control.py for faults, findings and counts.
"""

import os
from pathlib import Path
from typing import Any

from emulated_card import hook
from emulated_card.control import clear_findings, counts, fail, findings, heal, lose, set_checks, set_delays, set_up
from emulated_card.options import USUAL_CARDS, VARIABLE, Options

__all__ = [
    "Options", "activate", "clear_findings", "counts", "environment", "fail", "findings", "heal", "lose", "set_checks",
    "set_delays", "use",
]  # fmt: skip

SITE = Path(__file__).parent / "site"
_active: list[Options] = []


def activate(cards: str = USUAL_CARDS, **options: Any) -> None:
    """This process has these cards from here on. cards, options: see Options; once in a process."""
    use(Options(cards, **options))


def use(options: Options) -> None:
    """As activate. Raises RuntimeError where the process has other cards already."""
    if _active == [options]:
        return
    if _active:
        raise RuntimeError(f"the cards are {_active[0]} already")
    set_up(options)
    hook.install()
    _active.append(options)


def environment(cards: str = USUAL_CARDS, **options: Any) -> dict[str, str]:
    """The environment of this process, and in it what gives a child process of Python's these cards."""
    folders = [str(SITE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(folders), VARIABLE: str(Options(cards, **options))}
