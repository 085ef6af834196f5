"""Reports of a job while it works: its progress, the kernels it compiles, its metrics.

A job gets a `Reporter` and does not know who listens. This one reports to a Python function or to nobody;
`readwarp.cli.reporting` has one for terminals and logs.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from readwarp.formats.common.files import is_device
from readwarp.formats.common.writing import write_whole, writing
from readwarp.metrics import Metrics
from readwarp.version import __version__

if TYPE_CHECKING:  # imported when something has to be compiled
    from readwarp.compiler.prepare import ForCards
    from readwarp.compiler.progress import Compiling, ProgressLines

logger = logging.getLogger("readwarp")
SHOWN = ("reads", "mapped", "duplicates", "variants", "variants_pass")  # counts in the repr of a result


class Progress(NamedTuple):
    """Progress of a job."""

    what: str  # compiling, aligning, sorting, calling, ...
    done: int  # units
    unit: str  # reads, bases, ...
    share: float | None  # of all the work, 0-1; None while unknown


@dataclass(frozen=True, slots=True)
class Result:
    """Files and metrics of a finished job."""

    paths: dict[str, Path]  # by kind: alignments, alignments_index, variants, variants_index, metrics, report
    metrics: Metrics

    def __repr__(self) -> str:
        paths = ", ".join(f"{kind}={str(path)!r}" for kind, path in self.paths.items())
        counts = self.metrics.counts
        shown = ", ".join(f"{name}={counts[name]:,}" for name in SHOWN if name in counts)
        return f"Result({paths}; {shown})" if shown else f"Result({paths})"

    @classmethod
    def of(cls, metrics: Metrics, paths: Mapping[str, Path | None]) -> "Result":
        """Make a result with those paths that are files, neither None nor - (stdout)."""
        return cls({name: path for name, path in paths.items() if path is not None and str(path) != "-"}, metrics)


class Meter:
    """Progress of one stage of a job. `tell` is called with it; subclasses show it."""

    def __init__(self, what: str, unit: str, tell: Callable[[Progress], object] | None = None) -> None:
        self.what, self.unit, self.tell = what, unit, tell
        self.done = 0
        self.share: float | None = None

    def advance(self, number: int, share: float | None = None) -> None:
        """Advance by `number` units; share: of the whole input (0-1), if known."""
        self.done += number
        self.share = share if share is None else max(share, self.share or 0.0)
        self.update()

    def reach(self, done: int, total: int) -> None:
        """Report `done` of `total` units."""
        self.advance(done - self.done, done / total if total else None)

    def phase(self, what: str) -> None:
        """Finish all units, and begin another phase."""
        self.what, self.share = what, None
        logger.debug("%s", what)
        self.update()

    def update(self) -> None:
        """Show the progress of the stage."""
        if self.tell:
            self.tell(Progress(self.what, self.done, self.unit, self.share))

    def kernel(self, name: str, number: int) -> None:
        """Report that kernel number `number` of this process, which nobody foresaw, is being compiled."""
        if self.tell:
            self.tell(Progress("compiling", number, "kernels", None))

    def compiling(self, state: "Compiling") -> None:
        """Show the progress of the compilation before the job."""
        if self.tell:
            self.tell(Progress("compiling", state.done, "kernels", state.share))
        else:
            self.lines(state)

    @cached_property
    def lines(self) -> "ProgressLines":
        from readwarp.compiler.progress import ProgressLines, to_stderr

        return ProgressLines(to_stderr)


class Reporter:
    """Listener to one job. `progress` is called in the thread that runs the job; an exception from it ends the job."""

    def __init__(self, command: str, progress: Callable[[Progress], object] | None = None) -> None:
        self.metrics = Metrics()
        started = datetime.now().astimezone().isoformat(timespec="seconds")
        self.metrics.note(readwarp=__version__, command=command, date=started)
        self._tell, self._compiled, self._compile_seconds = progress, 0, 0.0

    def progress(self, what: str, unit: str) -> AbstractContextManager[Meter]:
        """Yield the meter of a stage."""
        return nullcontext(Meter(what, unit, self._tell))

    def prepare(self, command: str, threads: int, for_cards: "ForCards" = lambda _: {}) -> None:
        """Compile the kernels that a command needs, on cards too, and no folder has."""
        from readwarp.compiler.prepare import prepare

        started = time.perf_counter()
        with self.kernels() as meter:
            number = prepare(command, threads, meter.compiling, for_cards)
        self._note_compiled(number, time.perf_counter() - started)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Count the kernels compiled in the block, such as those for cards."""
        from readwarp.compiler.progress import watch

        started = time.perf_counter()
        with self.kernels() as meter, watch(meter.kernel) as compiled:
            yield
        self._note_compiled(len(compiled), time.perf_counter() - started)

    def _note_compiled(self, kernels: int, seconds: float) -> None:
        if kernels:
            from readwarp.compiler.progress import done

            self._compiled += kernels
            self._compile_seconds += seconds
            self.metrics.note(compiled_kernels=self._compiled, compile_seconds=round(self._compile_seconds, 1))
            logger.info("%s", done(kernels, seconds))

    def kernels(self) -> AbstractContextManager[Meter]:
        """Yield the meter of the kernels compiled in the block."""
        return nullcontext(Meter("compiling", "kernels", self._tell))

    def write_metrics(self, path: Path) -> None:
        """Write the metrics as JSON, with library versions and peak memory, worker processes included."""
        import platform

        from readwarp.system.machine import library_versions, peak_memory

        versions = {"python": platform.python_version(), **library_versions()}
        workers = cast(int, self.metrics.facts.get("worker_memory_bytes", 0))
        self.metrics.note(versions=versions, peak_memory_bytes=peak_memory() + workers)
        with writing(path):
            if is_device(path):
                path.write_bytes(self.metrics.as_json())
            else:
                write_whole(path, self.metrics.as_json())
