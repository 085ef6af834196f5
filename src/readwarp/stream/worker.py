"""The worker process of `processes`: takes items from a socket, works on them, and answers."""

import gc
import logging
import pickle
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from logging.handlers import QueueHandler
from socket import socket
from typing import Any, NamedTuple

from readwarp.compiler.progress import UNFORESEEN, watch
from readwarp.stream.messages import pack, receive, send
from readwarp.system.stopping import die_with_parent

logger = logging.getLogger("readwarp")


class WorkerTask(NamedTuple):
    """The work to do on the items that follow."""

    function: Callable[[Any, Any], Any]


class Question(NamedTuple):
    """A question to the first process, sent while working on an item."""

    value: Any


class Warned(NamedTuple):
    """Arguments of `warnings.warn_explicit`."""

    message: Warning | str
    category: type[Warning]
    filename: str
    lineno: int


class Answer(NamedTuple):
    """Outcome of an item: a value, or an error and where it was raised."""

    value: Any
    error: Exception | None
    trace: str
    heard: list[logging.LogRecord | Warned]


_ends: list[socket] = []  # in a worker: its own end


def ask(value: object) -> Any:
    """Ask the first process, from within a worker process, and return its reply: see `Processes`."""
    send(_ends[0], pack(Question(value)))
    return receive(_ends[0])


def serve(state: object, end: socket, parent: int) -> None:
    """Answer until the other end is closed. parent: its process. Raises SystemExit if that has ended."""
    die_with_parent(parent)
    _ends[:] = [end]
    gc.freeze()  # memory that the collector touches is copied
    heard = listen()
    with suppress(ConnectionError), watch(lambda *_: logger.info(UNFORESEEN)):
        while True:
            message = receive(end)
            if isinstance(message, WorkerTask):  # the first message is one
                work = message.function
                continue
            send(end, answer(work, state, message, heard))
            heard.clear()


def listen() -> list[logging.LogRecord | Warned]:
    """Collect in this list, from now on, all that this process logs and warns of."""
    heard: list[logging.LogRecord | Warned] = []

    class Listener(QueueHandler):  # makes records that can be pickled
        def enqueue(self, record: logging.LogRecord) -> None:
            heard.append(record)

    def warn(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
        heard.append(Warned(message, category, filename, lineno))

    logger.handlers, logger.propagate = [Listener(None)], False  # type: ignore[arg-type]
    warnings.showwarning = warn  # type: ignore[assignment]
    return heard


def answer(
    work: Callable[[Any, Any], Any], state: object, item: object, heard: list[logging.LogRecord | Warned]
) -> list[memoryview]:
    try:
        return pack(Answer(work(state, item), None, "", heard))
    except Exception as error:
        return pack(Answer(None, _portable(error), traceback.format_exc(), heard))


def _portable(error: Exception) -> Exception:
    """Return the error, or an equal one that can be pickled and keeps its text."""
    with suppress(Exception):
        if str(pickle.loads(pickle.dumps(error))) == str(error):
            return error
    return RuntimeError(f"{type(error).__name__}: {error}")
