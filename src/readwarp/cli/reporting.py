"""Messages of a run to its user: log lines, a progress bar on a terminal, compilation, metrics."""

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from errno import ELOOP
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from readwarp.cli.ending import conclude, was_made_by
from readwarp.cli.options import pick_keywords
from readwarp.cli.streams import tell
from readwarp.errors import OutputExistsError, ReadwarpError, UsageError
from readwarp.formats.common.files import INDEXES, check_output, is_device, is_same, named_files
from readwarp.formats.common.writing import writing
from readwarp.stream.reporter import Meter, Reporter, Result
from readwarp.wording import counted, printable

RESULTS = (*(f".{ending}" for ending in INDEXES), ".bam", ".cram", ".sam", ".vcf", ".gz", ".bcf", ".html", ".xml")
TEXTS = ("sample", "library", "read_group", "title", "region", "command", "command_line")  # options that are not files
OUTPUTS = ("output", "bam_output", "haplotag", "sv")
WRITTEN = (*OUTPUTS, "log", "metrics", *TEXTS)  # options whose values are not files that a command reads
LOG_INTERVAL = 30.0  # seconds between log lines without a progress bar
logger = logging.getLogger("readwarp")


def show(*lines: Any) -> None:
    """Print Rich tables and lines of text on stdout: styled on a terminal, without trailing blanks elsewhere."""
    from rich.console import Console

    console = Console(highlight=False)
    with writing("stdout"):
        with console.capture() as captured:
            for line in lines:
                text = printable(line) if isinstance(line, str) else line
                console.print(text, markup=False, soft_wrap=isinstance(line, str))
        shown = captured.get()
        plain = "".join(f"{line.rstrip()}\n" for line in shown.splitlines())
        sys.stdout.write(shown if console.is_terminal else plain)


class CommandReporter(Reporter):
    """The reporter of a command: sets up logging, shows the job's progress, and writes the metrics on success."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options.command_line)
        self.options = options
        self.bars = sys.stderr.isatty() and not options.no_progress and not options.quiet
        self._handlers: list[logging.Handler] = []

    def __enter__(self) -> "CommandReporter":
        options = self.options
        for name in ("log", "metrics"):
            check_beside(name, options)
        for name in OUTPUTS:
            check_replaced(name, options)
        log = _open_log(options.log) if options.log else None
        level = logging.WARNING if options.quiet else logging.DEBUG if options.verbose else logging.INFO
        logger.setLevel(min(level, logging.INFO))
        logger.propagate = False
        logger.addFilter(_in_one_line)
        self._add(_Stderr(), "readwarp: %(message)s").setLevel(level)
        if log:
            self._add(log, "%(asctime)s %(levelname)s %(message)s")
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None and self.options.metrics:
            self.write_metrics(self.options.metrics)
        if error is not None:
            self._handlers[0].setLevel(logging.CRITICAL)  # `readwarp.cli.explain` prints the error on stderr
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
        """Yield a bar on a terminal, else a log line every half minute; either also shows kernels being compiled."""
        from readwarp.compiler.progress import watch

        with _show_bar(what, unit) if self.bars else nullcontext(_LogLines(what, unit)) as meter, watch(meter.kernel):
            yield meter

    def kernels(self) -> AbstractContextManager[Meter]:
        """Yield a bar of the kernels being compiled, from the first one on, else a log line every ten seconds."""
        return _show_kernels() if self.bars else nullcontext(_LogLines("compiling", "kernels"))


def check_beside(name: str, options: argparse.Namespace) -> None:
    """Raise UsageError for a file of messages or metrics that the command uses itself or that cannot be written."""
    path = getattr(options, name)
    check_output(path, force=True)
    if path is None or is_device(path):
        return
    others = [value for key, value in vars(options).items() if key not in (name, *TEXTS)]
    for other in files_in(others):
        beside = [Path(f"{other}.{ending}") for ending in INDEXES]
        is_result = path.suffix in RESULTS and is_same(path.parent, other)  # in a folder of results
        if is_result or any(is_same(path, each) for each in (other, *beside)):
            known = f" ({other})" if other != path and not is_result else ""
            raise UsageError(f"--{name} {path}: the command itself reads or writes this file{known}")


def check_replaced(name: str, options: argparse.Namespace) -> None:
    """Raise UsageError for an output that is a list of inputs or of places: jobs know only the files on lists."""
    path = getattr(options, name, None)
    if path is None or not path.is_file():
        return
    others = [value for key, value in vars(options).items() if key not in WRITTEN]
    if other := next((other for other in files_in(others) if is_same(path, other)), None):
        raise UsageError(f"{path}: is an input too" + (f" ({other})" if other != path else ""))


def files_in(value: object) -> Iterator[Path]:
    """Yield the files named by the value of an option, or by a list of them."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from files_in(each)
    elif isinstance(value, Path):
        yield value
    elif isinstance(value, str):
        yield Path(value.removeprefix("@"))
        with suppress(ReadwarpError, OSError):
            yield from named_files(value, "")


def run_job(
    options: argparse.Namespace,
    command: type,
    make_job: Callable[..., Any],
    run: Callable[[Any, Reporter], Result],
    *files: Any,
) -> Result | None:
    """Make and run the job of a command (`readwarp.config.commands`) on files.

    Return None if --resume finds everything done: a job that a scheduler repeats succeeds again, and keeps its metrics.
    """
    with CommandReporter(options) as reporter:
        job = make_job(*files, options.output, pick_keywords(options, command), options.command_line)
        try:
            result = run(job, reporter)
        except OutputExistsError as error:
            used = files_in([value for key, value in vars(options).items() if key not in WRITTEN])
            if not getattr(options, "resume", False) or not was_made_by(
                Path(str(error.path)), options.command_line, used
            ):
                raise
            logger.info("%s: is complete, made by the same command (--force replaces it)", error.path)
            options.metrics = None
            return None
        conclude(options, result.paths)
        return result


def _in_one_line(record: logging.LogRecord) -> bool:
    """Sanitise a record in a filter that always passes: no name in a message can end the line or steer the terminal."""
    record.msg, record.args = printable(record.getMessage()), ()
    return True


def _open_log(path: Path) -> logging.Handler:
    """Open the log file. Raises UsageError."""
    try:
        return _LogFile(path)
    except OSError as error:
        reason = "is a link: name the file itself" if error.errno == ELOOP else error.strerror
        raise UsageError(f"--log {path}: {reason}") from None


class _LogFile(logging.FileHandler):
    """A log file that follows links only to devices. If writing fails, it says so once, and the command goes on."""

    _ended = False

    def _open(self) -> Any:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        no_link = 0 if is_device(Path(self.baseFilename)) else os.O_NOFOLLOW
        return open(os.open(self.baseFilename, flags | no_link, 0o666), "a", encoding="utf-8")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        error = sys.exc_info()[1]
        if not self._ended:
            reason = getattr(error, "strerror", None) or error
            tell(f"readwarp: --log {self.baseFilename}: {reason}: the log ends here")
        self._ended = True

    def close(self) -> None:
        with suppress(OSError):
            super().close()


class _Stderr(logging.Handler):
    """A handler that writes to the current sys.stderr: a progress bar replaces it, to print lines above itself."""

    def emit(self, record: logging.LogRecord) -> None:
        tell(self.format(record))


@cache
def _say_compiling_once() -> None:
    from readwarp.compiler.progress import UNFORESEEN

    logger.info(UNFORESEEN)


class _LogLines(Meter):
    """Progress as a log line every half minute."""

    def __init__(self, what: str, unit: str) -> None:
        super().__init__(what, unit)
        self.started = self.said = time.perf_counter()

    def update(self) -> None:
        now = time.perf_counter()
        if now - self.said >= LOG_INTERVAL:
            self.said = now
            of_whole = "" if self.share is None else f", {self.share:.0%} of the input"
            rate = self.done / (now - self.started)
            done = counted(self.done, self.unit.removesuffix("s"))
            logger.info("%s: %s, %s/s%s", self.what, done, f"{rate:,.0f}", of_whole)

    def kernel(self, name: str, number: int) -> None:
        _say_compiling_once()

    @cached_property
    def lines(self) -> Any:
        from readwarp.compiler.progress import ProgressLines

        return ProgressLines(logger.info)


@contextmanager
def _show_bar(what: str, unit: str) -> Iterator[Meter]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn(f"{{task.fields[done]:,}} {unit}"),
        TextColumn(f"[green]{{task.fields[rate]:,.0f}} {unit}/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5) as bar:
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


@contextmanager
def _show_kernels() -> Iterator[Meter]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), BarColumn(bar_width=30), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5)
    try:
        yield _Kernels(bar)
    finally:
        bar.stop()


class _Kernels(Meter):
    """A bar with the fraction of work done and the time left, shown from the first kernel on."""

    def __init__(self, bar: Any) -> None:
        super().__init__("compiling", "kernels")
        self.bar, self.task = bar, bar.add_task("compiling kernels", total=None)

    def kernel(self, name: str, number: int) -> None:
        self.bar.start()  # does nothing once started
        self.bar.update(self.task, description=f"compiling {name}")

    def compiling(self, state: Any) -> None:
        from rich.markup import escape

        self.bar.start()
        total = None if state.holder else 1.0
        self.bar.update(self.task, description=escape(printable(str(state))), total=total, completed=state.share)
