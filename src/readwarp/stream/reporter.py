"""What a job tells while it works: its progress, the kernels that it compiles, its metrics.

A job is given a `Reporter` and knows no more of who listens. This one tells nobody, or a function in Python;
`readwarp.cli.reporting` has one for terminals and logs.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from readwarp.metrics import Metrics
from readwarp.version import __version__

logger = logging.getLogger("readwarp")


class Progress(NamedTuple):
    """How far a job has come."""

    what: str  # it is doing: compiling, aligning, sorting, calling, ...
    done: int  # so many units
    unit: str  # reads, bases, ...
    share: float | None  # of all there is to do, 0-1; None while that is not known


@dataclass(frozen=True, slots=True)
class Result:
    """What a job has written and counted."""

    paths: dict[str, Path]  # by what they are: alignments, alignments_index, variants, variants_index, metrics, report
    metrics: Metrics

    @classmethod
    def of(cls, metrics: Metrics, paths: Mapping[str, Path | None]) -> "Result":
        """With those paths that are files: None and - are stdout, which leaves none."""
        return cls({name: path for name, path in paths.items() if path is not None and str(path) != "-"}, metrics)


class Meter:
    """How far one stage of a job has come. `update` shows it; here, to nobody."""

    def __init__(self, what: str, unit: str) -> None:
        self.what, self.unit = what, unit
        self.done = 0
        self.share: float | None = None

    def advance(self, number: int, share: float | None = None) -> None:
        """So many units more are done; `share` of the whole input (0-1) where that is known."""
        self.done += number
        self.share = share if share is None else max(share, self.share or 0.0)
        self.update()

    def reach(self, done: int, total: int) -> None:
        """So many units of all are done."""
        self.advance(done - self.done, done / total if total else None)

    def phase(self, what: str) -> None:
        """All units are done; what is being done with them now."""
        self.what, self.share = what, None
        logger.debug("%s", what)
        self.update()

    def update(self) -> None:
        """Show how far the stage has come."""

    def kernel(self, name: str, number: int) -> None:
        """A kernel is being compiled: the number-th of this process."""


class CallbackMeter(Meter):
    """Tells a function."""

    def __init__(self, what: str, unit: str, tell: Callable[[Progress], object]) -> None:
        super().__init__(what, unit)
        self.tell = tell

    def update(self) -> None:
        self.tell(Progress(self.what, self.done, self.unit, self.share))

    def kernel(self, name: str, number: int) -> None:
        self.tell(Progress("compiling", number, "kernels", None))


class Reporter:
    """Listens to one job. `progress` is called in the thread that runs the job; what it raises ends the job."""

    def __init__(self, command: str, progress: Callable[[Progress], object] | None = None) -> None:
        self.metrics = Metrics()
        self.metrics.note(readwarp=__version__, command=command)
        self._tell = progress

    @contextmanager
    def progress(self, what: str, unit: str) -> Iterator[Meter]:
        """The meter of a stage."""
        yield self._meter(what, unit)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Count the kernels that are compiled while the block runs; those from the cache are none."""
        from readwarp.device.compilation import watch

        started = time.perf_counter()
        with self.kernels() as meter, watch(meter.kernel) as compilation:
            yield
        if compilation.kernels:
            spent = time.perf_counter() - started
            self.metrics.note(compiled_kernels=compilation.kernels, compile_seconds=round(spent, 1))
            logger.info("compiled %d kernels in %.0f s; later runs find them in the cache", compilation.kernels, spent)

    @contextmanager
    def kernels(self) -> Iterator[Meter]:
        """What is told of each kernel that is compiled while the block runs."""
        yield self._meter("compiling", "kernels")

    def _meter(self, what: str, unit: str) -> Meter:
        return CallbackMeter(what, unit, self._tell) if self._tell else Meter(what, unit)

    def write_metrics(self, path: Path) -> None:
        """The metrics, with the versions of the libraries and the peak of memory, as JSON."""
        import platform

        from readwarp.device.machine import library_versions, peak_memory

        versions = {"python": platform.python_version(), **library_versions()}
        self.metrics.note(versions=versions, peak_memory_bytes=peak_memory())
        self.metrics.write(path)
