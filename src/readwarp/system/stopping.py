"""Signals that stop a command: it unwinds as from an exception, removes half-written output, and ends in one line.

Ctrl-C, TERM, and USR1, with which batch systems warn, stop a command. They wait while an output and its index get their
names (`held_back`), and nothing stops a command whose last output has its name (`completed`).
"""

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
PATIENCE = 10.0  # seconds in which a second one is ignored
RETRY_DELAY = 0.2  # seconds until a lost signal is sent again
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


class Terminated(BaseException):
    """TERM or USR1 has arrived; unwinds like KeyboardInterrupt."""


ENDS: dict[type[BaseException], tuple[int, str]] = {  # exit code, message
    KeyboardInterrupt: (130, "interrupted"),
    Terminated: (143, "terminated"),
}
_ignored_from = -PATIENCE  # time of the last stop raised, or of the last output completed
_raised: BaseException | None = None
_to_follow = 0  # number of open `followed` blocks


def install() -> None:
    """Let signals stop this process from now on, even those that arrive where nothing can be raised."""
    for number in STOPS:
        if number != signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:  # `command &` in a script
            signal.signal(number, _stop)
    sys.unraisablehook = _send_again
    sys.excepthook = _end


def ignore() -> None:
    """Ignore signals from now on. A process that is about to end does: Python drops its handlers before that."""
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)


def cause_of(error: BaseException) -> BaseException:
    """Return the stop that led to `error`, perhaps through a library that caught it, or `error` itself."""
    return _raised or error


@contextmanager
def held_back() -> Iterator[None]:
    """Raise stops that arrive in the block at its end."""
    if threading.current_thread() is not threading.main_thread():  # signals arrive only in the main thread
        yield
        return
    handlers = {number: handler for number in STOPS if callable(handler := signal.getsignal(number))}
    arrived: list[int] = []
    try:
        for number in handlers:
            signal.signal(number, lambda number, _: arrived.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for late in arrived:
            signal.raise_signal(late)


@contextmanager
def followed() -> Iterator[None]:
    """Mark what is completed in the block as not the last output of the command."""
    global _to_follow
    _to_follow += 1
    try:
        yield
    finally:
        _to_follow -= 1


def completed() -> None:
    """Note that an output has its name. If it is the last one, the command is about to end and is no longer stopped."""
    global _ignored_from
    if not _to_follow:
        _ignored_from = time.monotonic()


def die_with_parent(parent: int) -> None:
    """End this process with its parent (PID), but not by signals to all processes of a job. Raises SystemExit."""
    import ctypes

    ignore()
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended in the meantime
        sys.exit(1)


def _stop(signum: int, frame: object) -> None:
    """Raise, but not again while the process unwinds: users, timeout(1) and batch systems send two in a row."""
    global _ignored_from, _raised
    now = time.monotonic()
    if now - _ignored_from >= PATIENCE:
        _ignored_from = now
        _raised = KeyboardInterrupt() if signum == signal.SIGINT else Terminated()
        raise _raised


def _send_again(lost: Any) -> None:
    """Send a stop again that Python dropped in a library's callback (LLVM's, while it compiles a kernel).

    Undecodable names in damaged headers, which pysam looks up before it raises, are not reported either.
    """
    global _ignored_from
    if isinstance(lost.exc_value, UnicodeDecodeError) and "PyDict_GetItemString" in str(lost.err_msg):
        return
    if not isinstance(lost.exc_value, KeyboardInterrupt | Terminated):
        sys.__unraisablehook__(lost)
        return
    number = signal.SIGINT if isinstance(lost.exc_value, KeyboardInterrupt) else signal.SIGTERM
    _ignored_from = -PATIENCE
    again = threading.Timer(RETRY_DELAY, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def _end(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """End as the command does, for a stop while the command is imported or explains an error."""
    if kind not in ENDS:
        sys.__excepthook__(kind, error, trace)
        return
    ignore()
    code, line = ENDS[kind]
    print(f"readwarp: error: {line}", file=sys.stderr, flush=True)
    atexit._run_exitfuncs()
    os._exit(code)
