"""Signals that stop a command unwind as exceptions, so that half-written files are removed."""

import os
import signal
import sys
import threading
import time
from typing import Any

PATIENCE = 10.0  # seconds during which a second SIGTERM or SIGUSR1 is ignored
RETRY_DELAY = 0.2  # seconds until a lost signal is sent again


class Terminated(BaseException):
    """SIGTERM or SIGUSR1 arrived; unwinds like KeyboardInterrupt."""


_last_stop = -PATIENCE
_lost: BaseException | None = None


def install() -> None:
    """From now on signals stop this process, even those that arrive where nothing can be raised."""
    for number in (signal.SIGTERM, signal.SIGUSR1):  # the warnings of batch systems
        signal.signal(number, _terminate)
    sys.unraisablehook = _send_again


def cause_of(error: BaseException) -> BaseException:
    """The lost stop that led to `error`, or `error` itself."""
    return _lost or error


def _terminate(signum: int, frame: object) -> None:
    """Raise Terminated, but not again while the process unwinds: timeout(1) and batch systems send two in a row."""
    global _last_stop
    now = time.monotonic()
    if now - _last_stop >= PATIENCE:
        _last_stop = now
        raise Terminated


def _send_again(lost: Any) -> None:
    """Python drops a stop in a callback of a library (of LLVM, while a kernel is compiled), so it is sent again."""
    global _last_stop, _lost
    if not isinstance(lost.exc_value, KeyboardInterrupt | Terminated):
        sys.__unraisablehook__(lost)
        return
    number = signal.SIGINT if isinstance(lost.exc_value, KeyboardInterrupt) else signal.SIGTERM
    _last_stop, _lost = -PATIENCE, lost.exc_value
    again = threading.Timer(RETRY_DELAY, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()
