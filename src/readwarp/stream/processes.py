"""Worker processes: forked from this one, so that they share its imports, open files and compiled kernels.

Each has a Python lock of its own, and works on one item at a time. They are forked before this process has other
threads, whose locks nobody would release in them. They end with this process, however it ends. Their logs and warnings
appear here.
"""

import logging
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from errno import EAGAIN
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from readwarp.errors import StoppedError, WorkerError
from readwarp.stream import runner
from readwarp.stream.messages import pack, receive, send
from readwarp.stream.worker import Answer, Question, Warned, WorkerTask, serve
from readwarp.system.machine import private_memory
from readwarp.system.stopping import held_back

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)  # workers with a state do the work of any wider one
T = TypeVar("T")
U = TypeVar("U")
Reply = Callable[[Any], object]
logger = logging.getLogger("readwarp")


def may_fork() -> bool:
    """Return whether this thread is the only Python thread of the process."""
    return len(sys._current_frames()) == 1


class Processes(Generic[S_co]):
    """Workers with a state: this process's at the time of the fork. `close` ends them."""

    def __init__(self, state: S_co, number: int, reply: Reply | None = None) -> None:
        """Fork the workers. reply: answers what they `ask` while they work, in any thread.

        Raises WorkerError if the system allows fewer processes, OSError if it has no memory for them.
        """
        self.number, self._reply = number, reply
        self.peak_memory = 0  # bytes that the workers used themselves, in total; known once they are closed
        self._heard = Once()
        self._idle: SimpleQueue[Worker | None] = SimpleQueue()  # None: there will be no more
        self._workers: list[Worker] = []
        try:
            with held_back():
                while len(self._workers) < number:
                    self._workers.append(_fork(state, [worker.end for worker in self._workers]))
                    self._idle.put(self._workers[-1])
        except BaseException as error:
            made = len(self._workers)
            self.close()
            if not isinstance(error, OSError) or error.errno != EAGAIN:
                raise
            text = f"only {made} of {number} worker processes could be started ({error.strerror})"
            raise WorkerError(f"{text}: try fewer --threads") from error

    def map_ordered(self, work: Callable[[S_co, T], U], items: Iterable[T], in_flight: int) -> Generator[U, None, None]:
        """Yield work(state, item) of each item, in the order of the items, like `runner.map_ordered`.

        `work`, the items and the results are pickled. An error in a worker is raised here. A generator that ends early
        also ends the workers.
        """
        packed = pack(WorkerTask(work))
        try:
            yield from runner.map_ordered(items, partial(self._ask, packed), self.number, in_flight)
        except BaseException:
            self.close()
            raise

    def _ask(self, work: list[memoryview], item: object) -> Any:
        """Return work(state, item), in any thread."""
        worker = self._idle.get()
        if worker is None:
            self._idle.put(None)
            raise StoppedError
        try:
            answer = worker.ask(work, item, self._reply)
        finally:
            self._idle.put(worker)
        self._heard.say(answer.heard)
        if answer.error is not None:
            answer.error.add_note(f"in a worker process:\n{answer.trace}")
            raise answer.error
        return answer.value

    def close(self) -> None:
        """End the workers, whatever they are doing, and wait until no thread asks one any more."""
        with held_back():
            workers, self._workers = self._workers, []
            self.peak_memory += sum([worker.kill() for worker in workers])
            for _ in workers:
                ended = self._idle.get()
                assert ended is not None
                ended.wait()
                ended.end.close()
            self._idle.put(None)


class Once:
    """Messages of workers, said once even if several workers send the same words."""

    def __init__(self) -> None:
        self._lock, self._said, self._warned = threading.Lock(), set[str](), dict[Any, Any]()

    def say(self, heard: Iterable[logging.LogRecord | Warned]) -> None:
        with self._lock:
            for each in heard:
                if isinstance(each, Warned):
                    warnings.warn_explicit(*each, registry=self._warned)  # type: ignore[arg-type]
                elif each.msg not in self._said:
                    self._said.add(each.msg)
                    logger.handle(each)


class Worker:
    """A worker process, and the socket to it."""

    def __init__(self, pid: int, end: socket.socket) -> None:
        self.pid, self.end = pid, end
        self._work: list[memoryview] = []  # the work it was last given
        self._lock = threading.Lock()
        self._code: int | None = None

    def ask(self, work: list[memoryview], item: object, reply: Reply | None) -> Answer:
        """Return its answer to an item, replying to its questions in between. One thread at a time.

        Raises WorkerError if it has ended.
        """
        try:
            if self._work is not work:
                send(self.end, work)
                self._work = work
            send(self.end, pack(item))
            answer: Answer | Question = receive(self.end)
            while isinstance(answer, Question):
                assert reply is not None
                send(self.end, pack(reply(answer.value)))
                answer = receive(self.end)
            return answer
        except ConnectionError:
            code = self.wait()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        why = ": perhaps the system ran out of memory (try a smaller --memory or fewer --threads)"
        raise WorkerError(f"worker process {self.pid} {how}{why if code == -signal.SIGKILL else ''}")

    def kill(self) -> int:
        """Kill the worker and return the peak of the bytes it used itself; 0 if it has already ended."""
        with self._lock:
            if self._code is not None:  # its process number may be another's by now
                return 0
            memory = private_memory(self.pid)
            os.kill(self.pid, signal.SIGKILL)
            return memory

    def wait(self) -> int:
        """Return its exit code, or minus the signal number, once it has ended."""
        with self._lock:
            if self._code is None:
                self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            return self._code


def _fork(state: object, others: Sequence[socket.socket]) -> Worker:
    """Fork a worker. others: our ends of the sockets to the other workers. Raises OSError."""
    parent, (ours, theirs) = os.getpid(), socket.socketpair()
    with theirs:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # Python also counts threads of libraries
                pid = os.fork()
        except OSError:
            ours.close()
            raise
        if pid == 0:
            try:
                for end in (ours, *others):
                    end.close()
                serve(state, theirs, parent)
            finally:
                os._exit(1)  # nothing up the stack is ours to end
    return Worker(pid, ours)
