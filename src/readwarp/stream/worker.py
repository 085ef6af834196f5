"""What a worker process does (`processes`): it takes items from a socket, works on them, and answers."""

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

from readwarp.device.compilation import UNFORESEEN, watch
from readwarp.stopping import die_with_parent
from readwarp.stream.messages import pack, receive, send

logger = logging.getLogger("readwarp")


class Work(NamedTuple):
    """What is to be done with the items that follow."""

    function: Callable[[Any, Any], Any]


class Question(NamedTuple):
    """What a worker asks the first process while it works on an item."""

    value: Any


class Warned(NamedTuple):
    """What `warnings.warn_explicit` takes."""

    message: Warning | str
    category: type[Warning]
    filename: str
    lineno: int


class Answer(NamedTuple):
    """What came of an item: a value, or an error and where it was raised."""

    value: Any
    error: Exception | None
    trace: str
    heard: list[logging.LogRecord | Warned]


_ends: list[socket] = []  # of a worker: its own


def ask(value: object) -> Any:
    """In a worker process: what the first process answers to that, see `Processes`."""
    send(_ends[0], pack(Question(value)))
    return receive(_ends[0])


def serve(state: object, end: socket, parent: int) -> None:
    """Answer until the other end is closed. parent: its process. Raises SystemExit if that has ended."""
    die_with_parent(parent)
    _ends[:] = [end]
    gc.freeze()  # what the collector looks at is copied
    heard = listen()
    work: Callable[[Any, Any], Any] = _nothing
    with suppress(ConnectionError), watch(lambda *_: logger.info(UNFORESEEN)):
        while True:
            message = receive(end)
            if isinstance(message, Work):
                work = message.function
                continue
            send(end, answer(work, state, message, heard))
            heard.clear()


def _nothing(state: object, item: object) -> None:
    raise AssertionError("an item came before work")


def listen() -> list[logging.LogRecord | Warned]:
    """From now on, what this process logs and warns of is added to this list only."""
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
    """The error; or where it cannot be pickled, or would say something else then, another one that says the same."""
    with suppress(Exception):
        if str(pickle.loads(pickle.dumps(error))) == str(error):
            return error
    return RuntimeError(f"{type(error).__name__}: {error}")
