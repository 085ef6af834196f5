"""How signals stop a command: it unwinds as from an exception, so that what is half written goes, and ends in one line.

Ctrl-C, TERM, and USR1, with which batch systems warn, stop a command. They wait while an output and its index get their
names (`held_back`), and nothing stops a command any more whose last output has its name (`completed`).
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
PATIENCE = 10.0  # seconds during which a second one is ignored
RETRY_DELAY = 0.2  # seconds until a lost signal is sent again
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


class Terminated(BaseException):
    """TERM or USR1 arrived; unwinds like KeyboardInterrupt."""


ENDS: dict[type[BaseException], tuple[int, str]] = {  # exit code, message
    KeyboardInterrupt: (130, "interrupted"),
    Terminated: (143, "terminated"),
}
_ignored_from = -PATIENCE  # when the last stop was raised, or the last output completed
_raised: BaseException | None = None
_to_follow = 0  # blocks of `followed` that are open


def install() -> None:
    """From now on signals stop this process, even those that arrive where nothing can be raised."""
    for number in STOPS:
        if number != signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:  # as for `command &` in a script
            signal.signal(number, _stop)
    sys.unraisablehook = _send_again
    sys.excepthook = _end


def ignore() -> None:
    """From now on no signal stops this process, which is about to end: Python gives up its handlers before it ends."""
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)


def cause_of(error: BaseException) -> BaseException:
    """The stop that led to `error`, perhaps by way of a library that caught it; or `error` itself."""
    return _raised or error


@contextmanager
def held_back() -> Iterator[None]:
    """Stops that arrive in the block are raised at its end."""
    if threading.current_thread() is not threading.main_thread():  # signals arrive in the main thread only
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
    """What is completed in the block is not the last output of the command."""
    global _to_follow
    _to_follow += 1
    try:
        yield
    finally:
        _to_follow -= 1


def completed() -> None:
    """An output has its name. If it is the last one, the command is about to end, and is not stopped any more."""
    global _ignored_from
    if not _to_follow:
        _ignored_from = time.monotonic()


def die_with_parent(parent: int) -> None:
    """End this process when its parent (PID) ends, and not by signals for all processes of a job. Raises SystemExit."""
    import ctypes

    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended meanwhile
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
    """Python drops a stop in a callback of a library (of LLVM, while a kernel is compiled), so it is sent again.

    Names in damaged headers that are no text, which pysam looks up before it raises, are not news either.
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
    """A stop while the command is imported or explains an error: end as the command does."""
    if kind not in ENDS:
        sys.__excepthook__(kind, error, trace)
        return
    ignore()
    code, line = ENDS[kind]
    print(f"readwarp: error: {line}", file=sys.stderr, flush=True)
    atexit._run_exitfuncs()
    os._exit(code)
