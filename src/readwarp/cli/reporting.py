"""What a run tells its user: log lines, a progress bar on a terminal, compilation, metrics."""

import argparse
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from types import TracebackType
from typing import Any

from readwarp.errors import UsageError
from readwarp.formats.common.files import check_output
from readwarp.stream.reporter import Meter, Reporter

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


class CommandReporter(Reporter):
    """Sets up logging for a command, and shows how its job comes along; writes the metrics when it succeeds."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options.command_line)
        self.metrics_file = options.metrics
        self.bars = sys.stderr.isatty() and not options.no_progress and not options.quiet
        self._level = logging.WARNING if options.quiet else logging.DEBUG if options.verbose else logging.INFO
        self._log_file = options.log
        self._handlers: list[logging.Handler] = []

    def __enter__(self) -> "CommandReporter":
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

    @contextmanager
    def progress(self, what: str, unit: str) -> Iterator[Meter]:
        """A bar on a terminal, else a log line every half minute; kernels that are compiled meanwhile show there."""
        from readwarp.device.compilation import watch

        with _bar(what, unit) if self.bars else nullcontext(_LogLines(what, unit)) as meter, watch(meter.kernel):
            yield meter

    @contextmanager
    def kernels(self) -> Iterator[Meter]:
        """On a terminal the name of the kernel at hand, else one log line."""
        shown = _Status() if self.bars else _LogLines("compiling", "kernels")
        try:
            yield shown
        finally:
            if isinstance(shown, _Status):
                shown.stop()


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


class _LogLines(Meter):
    """A log line every half minute."""

    def __init__(self, what: str, unit: str) -> None:
        super().__init__(what, unit)
        self.started = self.said = time.perf_counter()

    def update(self) -> None:
        now = time.perf_counter()
        if now - self.said >= LOG_INTERVAL:
            self.said = now
            of_whole = "" if self.share is None else f", {self.share:.0%} of the input"
            rate = self.done / (now - self.started)
            logger.info("%s: %s %s, %s/s%s", self.what, f"{self.done:,}", self.unit, f"{rate:,.0f}", of_whole)

    def kernel(self, name: str, number: int) -> None:
        _say_compiling_once()


@contextmanager
def _bar(what: str, unit: str) -> Iterator[Meter]:
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
        yield _Bar(bar, what, unit)


class _Bar(Meter):
    def __init__(self, bar: Any, what: str, unit: str) -> None:
        super().__init__(what, unit)
        self.bar, self.started = bar, time.perf_counter()
        self.task = bar.add_task(what, total=None, done=0, rate=0.0)

    def update(self) -> None:
        rate = self.done / max(1e-9, time.perf_counter() - self.started)
        known = {} if self.share is None else {"total": 1.0, "completed": self.share}
        self.bar.update(self.task, description=self.what, done=self.done, rate=rate, **known)

    def kernel(self, name: str, number: int) -> None:
        self.bar.update(self.task, description=f"{self.what} (compiling {name})")


class _Status(Meter):
    """On a terminal the name of the kernel at hand; nothing while none is compiled."""

    def __init__(self) -> None:
        super().__init__("compiling", "kernels")
        self.status: Any = None

    def kernel(self, name: str, number: int) -> None:
        text = f"{COMPILING}: {number} {name}"
        if self.status is None:
            from rich.console import Console

            self.status = Console(stderr=True).status(text)
            self.status.start()
        self.status.update(text)

    def stop(self) -> None:
        if self.status is not None:
            self.status.stop()
