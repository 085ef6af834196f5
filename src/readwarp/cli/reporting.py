"""What a run tells its user: log lines, a progress bar on a terminal, compilation, metrics."""

import argparse
import logging
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from readwarp.cli.options import check_output
from readwarp.errors import UsageError
from readwarp.metrics import Metrics
from readwarp.version import __version__

LOG_INTERVAL = 30.0  # seconds between log lines where there is no progress bar
logger = logging.getLogger("readwarp")


def show(*lines: Any) -> None:
    """Rich tables and lines of text on stdout: styled on a terminal, without trailing blanks elsewhere."""
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as captured:
        for line in lines:
            console.print(line, markup=False, soft_wrap=isinstance(line, str))
    text = captured.get()
    sys.stdout.write(text if console.is_terminal else "".join(f"{line.rstrip()}\n" for line in text.splitlines()))


class Progress(Protocol):
    def advance(self, number: int, share: float | None = None) -> None:
        """So many items more are done; `share` of the whole input (0-1) where that is known."""

    def reach(self, done: int, total: int) -> None:
        """So many items of all are done."""

    def phase(self, what: str) -> None:
        """All items are done; what is being done with them now."""

    def kernel(self, name: str, number: int) -> None:
        """A kernel is being compiled meanwhile."""


def consumed(paths: Sequence[Sequence[str]], source: int) -> float | None:
    """The share of the inputs that has been read, in bytes as they lie on disk, while input `source` is being read.

    The position is the kernel's, of any descriptor this process has open on one of the files, so that it holds for
    every reader. None where an input is a pipe, or cannot be seen.
    """
    flat = [Path(path) for files in paths for path in files]
    if not all(path.is_file() for path in flat):
        return None
    whole = sum(path.stat().st_size for path in flat)
    before = sum(Path(path).stat().st_size for files in paths[:source] for path in files)
    return (before + sum(_positions({Path(path).resolve() for path in paths[source]}))) / whole if whole else None


def _positions(wanted: set[Path]) -> Iterator[int]:
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            if descriptor.readlink() in wanted:
                yield int(Path(f"/proc/self/fdinfo/{descriptor.name}").read_text().split()[1])
        except OSError:  # closed meanwhile
            continue


class Reporter:
    """Sets up logging for a command, and makes its progress displays; writes the metrics when the command succeeds."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.metrics = Metrics()
        self.metrics.note(readwarp=__version__, command=options.command_line)
        self.metrics_file = options.metrics
        self.bars = sys.stderr.isatty() and not options.no_progress and not options.quiet
        self._level = logging.WARNING if options.quiet else logging.DEBUG if options.verbose else logging.INFO
        self._log_file = options.log
        self._handlers: list[logging.Handler] = []

    def __enter__(self) -> "Reporter":
        for path in (self._log_file, self.metrics_file):
            check_output(path, force=True)
        logger.setLevel(min(self._level, logging.INFO))
        logger.propagate = False
        self._add(_Stderr(), "readwarp: %(message)s").setLevel(self._level)
        if self._log_file:
            try:
                self._add(logging.FileHandler(self._log_file), "%(asctime)s %(levelname)s %(message)s")
            except OSError as error:
                raise UsageError(f"--log {self._log_file}: {error.strerror}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self.metrics_file:
            self.write_metrics(self.metrics_file)
        if error is not None:
            self._handlers[0].setLevel(logging.CRITICAL)  # on stderr the command line says it
            logger.error("%s", error or type(error).__name__)
        for handler in self._handlers:
            logger.removeHandler(handler)
            handler.close()

    def _add(self, handler: logging.Handler, pattern: str) -> logging.Handler:
        handler.setFormatter(logging.Formatter(pattern))
        logger.addHandler(handler)
        self._handlers.append(handler)
        return handler

    def write_metrics(self, path: Any) -> None:
        from readwarp.device.machine import library_versions, peak_memory

        versions = {"python": platform.python_version(), **library_versions()}
        self.metrics.note(versions=versions, peak_memory_bytes=peak_memory())
        self.metrics.write(path)

    @contextmanager
    def progress(self, what: str, unit: str) -> Iterator[Progress]:
        """A bar on a terminal, else a log line every half minute."""
        from readwarp.device.compilation import watched

        with _bar(what, unit) if self.bars else nullcontext(_LogLines(what, unit)) as shown, watched(shown.kernel):
            yield shown

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Shows which kernel is being compiled while the block runs; shows nothing when all come from the cache."""
        from readwarp.device.compilation import watched

        started, said = time.perf_counter(), _Compiling(self.bars)
        try:
            with watched(said.kernel) as compilation:
                yield
        finally:
            said.stop()
        if compilation.kernels:
            spent = time.perf_counter() - started
            self.metrics.note(compiled_kernels=compilation.kernels, compile_seconds=round(spent, 1))
            logger.info("compiled %d kernels in %.0f s; later runs find them in the cache", compilation.kernels, spent)


class _Stderr(logging.Handler):
    """Log lines on what stderr is at the time: a progress bar puts them above itself."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except OSError:  # nobody reads it any more
            self.handleError(record)


COMPILING = "compiling kernels for this machine (once, about a minute)"


@cache
def _say_compiling_once() -> None:
    logger.info(COMPILING)


class _Reaching:
    """`reach` in terms of `advance`."""

    done = 0

    def advance(self, number: int, share: float | None = None) -> None:
        raise NotImplementedError

    def reach(self, done: int, total: int) -> None:
        self.advance(done - self.done, done / total if total else None)

    def phase(self, what: str) -> None:
        logger.debug("%s", what)


class _LogLines(_Reaching):
    def __init__(self, what: str, unit: str) -> None:
        self.what, self.unit, self.done = what, unit, 0
        self.started = self.said = time.perf_counter()

    def advance(self, number: int, share: float | None = None) -> None:
        self.done += number
        now = time.perf_counter()
        if now - self.said >= LOG_INTERVAL:
            self.said = now
            of_whole = "" if share is None else f", {share:.0%} of the input"
            rate = self.done / (now - self.started)
            logger.info("%s: %s %s, %s/s%s", self.what, f"{self.done:,}", self.unit, f"{rate:,.0f}", of_whole)

    def kernel(self, name: str, number: int) -> None:
        _say_compiling_once()


@contextmanager
def _bar(what: str, unit: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn(f"{{task.fields[done]:,}} {unit}"),
        TextColumn(f"[green]{{task.fields[rate]:,.0f}} {unit}/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5) as bar:
        yield _Bar(bar, what)


class _Bar(_Reaching):
    def __init__(self, bar: Any, what: str) -> None:
        self.bar, self.what, self.done, self.share, self.started = bar, what, 0, 0.0, time.perf_counter()
        self.task = bar.add_task(what, total=None, done=0, rate=0.0)

    def advance(self, number: int, share: float | None = None) -> None:
        self.done += number
        rate = self.done / max(1e-9, time.perf_counter() - self.started)
        self.share = max(self.share, share or 0.0)
        known = {} if share is None else {"total": 1.0, "completed": self.share}
        self.bar.update(self.task, description=self.what, done=self.done, rate=rate, **known)

    def phase(self, what: str) -> None:
        self.bar.update(self.task, description=what)

    def kernel(self, name: str, number: int) -> None:
        self.bar.update(self.task, description=f"{self.what} (compiling {name})")


class _Compiling:
    """One log line, or on a terminal the name of the kernel at hand."""

    def __init__(self, bars: bool) -> None:
        self.bars = bars
        self.status: Any = None

    def kernel(self, name: str, number: int) -> None:
        if not self.bars:
            _say_compiling_once()
            return
        text = f"{COMPILING}: {number} {name}"
        if self.status is None:
            from rich.console import Console

            self.status = Console(stderr=True).status(text)
            self.status.start()
        self.status.update(text)

    def stop(self) -> None:
        if self.status is not None:
            self.status.stop()
