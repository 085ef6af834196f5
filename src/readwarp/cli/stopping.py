"""Signals that stop a command unwind as exceptions, so that half-written files are removed."""

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

PATIENCE = 10.0  # seconds in which a second SIGTERM or SIGUSR1 says no more than the first
AGAIN = 0.2  # seconds until a signal that got lost comes again


class Terminated(BaseException):
    """SIGTERM or SIGUSR1 arrived; unwinds like KeyboardInterrupt."""


_told = -PATIENCE
_lost: BaseException | None = None


def heed() -> None:
    """From now on signals stop this process, also those that arrive where nothing can be raised."""
    for number in (signal.SIGTERM, signal.SIGUSR1):  # what batch systems warn with
        signal.signal(number, _terminate)
    sys.unraisablehook = _ask_again


def why(error: BaseException) -> BaseException:
    """The stop that `error` came of, or `error` itself."""
    return _lost or error


def _terminate(signum: int, frame: FrameType | None) -> None:
    """Raise Terminated, and not again while that is being obeyed: timeout(1) and batch systems send two in a row."""
    global _told
    now = time.monotonic()
    if now - _told < PATIENCE:
        return
    _told = now
    raise Terminated


def _ask_again(lost: Any) -> None:
    """A stop in a callback of a library (LLVM's, while a kernel is compiled) is dropped there, so it is sent again."""
    global _told, _lost
    if not isinstance(lost.exc_value, KeyboardInterrupt | Terminated):
        sys.__unraisablehook__(lost)
        return
    number = signal.SIGINT if isinstance(lost.exc_value, KeyboardInterrupt) else signal.SIGTERM
    _told, _lost = -PATIENCE, lost.exc_value
    again = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()
