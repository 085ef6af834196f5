"""Progress of a job in Python: a bar in a notebook or a terminal, or calls of a function.

The notebook bar is HTML updated in place, so it needs no widgets and works in every front end.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from readwarp.errors import OutputExistsError
from readwarp.formats.common.files import check_output
from readwarp.stream.reporter import Progress, Reporter

Listener = Callable[[Progress], object]
IN_PYTHON = "force=True replaces it"
INTERVAL = 0.2  # seconds between updates of one stage


@contextmanager
def reporting(command: str, progress: Listener | bool | None) -> Iterator[Reporter]:
    """Yield the reporter for a Python function. progress: the listener.

    None: a bar in a notebook, else nothing; True: a bar in a notebook or on stderr; False: nothing; or a function.
    """
    bar = None if progress is False or callable(progress) else open_bar(bool(progress))
    try:
        yield Reporter(command, progress if callable(progress) else bar)
    except OutputExistsError as error:
        raise OutputExistsError(error.path, IN_PYTHON) from None
    except BaseException:
        if bar:
            bar.finish(complete=False)
        raise
    if bar:
        bar.finish(complete=True)


def check_new(path: Path, force: bool, inputs: Iterable[object]) -> None:
    """Check like `check_output`, but suggest Python's remedy."""
    try:
        check_output(path, force, inputs)
    except OutputExistsError:
        raise OutputExistsError(path, IN_PYTHON) from None


class Bar:
    """A progress bar, updated now and then."""

    def __init__(self) -> None:
        self.started, self.shown = time.perf_counter(), 0.0
        self.last = Progress("starting", 0, "steps", None)

    def __call__(self, progress: Progress) -> None:
        now = time.perf_counter()
        is_new = progress.what != self.last.what
        self.last = progress
        if is_new or now - self.shown >= INTERVAL:
            self.shown = now
            self.show(f"{describe(progress)}, {now - self.started:,.0f} s", progress.share)

    def finish(self, complete: bool) -> None:
        state, share = ("done", 1.0) if complete else ("stopped", 0.0)
        text = f"{state} after {time.perf_counter() - self.started:,.1f} s ({describe(self.last)})"
        self.show(text, share, is_last=True)

    def show(self, text: str, share: float | None, is_last: bool = False) -> None:
        """Show the progress. share: of the stage, 0-1; None if unknown."""
        raise NotImplementedError


class NotebookBar(Bar):
    """A bar in the output of a Jupyter cell."""

    _output: Any = None

    def show(self, text: str, share: float | None, is_last: bool = False) -> None:
        from IPython.display import display

        value = "" if share is None else f' value="{share:.3f}"'
        bundle = {"text/html": f'<progress max="1"{value}></progress> {escape(text)}', "text/plain": text}
        if self._output is None:
            self._output = display(bundle, raw=True, display_id=True)
        else:
            self._output.update(bundle, raw=True)


class TerminalBar(Bar):
    """A bar on a line of stderr that is overwritten; if that is no terminal, a line per stage."""

    _stage = ""

    def show(self, text: str, share: float | None, is_last: bool = False) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="\n" if is_last else "", file=sys.stderr, flush=True)
        elif is_last or self.last.what != self._stage:
            self._stage = self.last.what
            print(text, file=sys.stderr, flush=True)


def open_bar(is_wanted: bool) -> Bar | None:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module else None
    if getattr(shell, "kernel", None) is not None:  # a notebook cell: IPython runs, and has a kernel
        return NotebookBar()
    return TerminalBar() if is_wanted else None


def describe(progress: Progress) -> str:
    share = "" if progress.share is None else f" ({progress.share:.0%})"
    return f"{progress.what}: {progress.done:,} {progress.unit}{share}"
